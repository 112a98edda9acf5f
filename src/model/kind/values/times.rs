//! Life times and instants of setup keys.

use jiff::Timestamp;

use super::whole;
use crate::base::code::Code;
use crate::base::text::count;
use crate::file::{Cursor, Log, quote};

/// Longest life in seconds; beyond it the server's clock overflows (docs/netbird-api.md, "Setup keys").
const MAX_EXPIRES_IN_SECS: i64 = 9_223_372_036;
const HOUR_SECS: i64 = 3600;
const DAY_SECS: i64 = 86_400;

/// Reads a life time in seconds; one that is too short to be meant is a notice.
pub(crate) fn expires_in(value: &Cursor<'_>, log: &mut Log) -> Option<i64> {
    const WANTED: &str = "a whole number of seconds";
    if let Some(secs) = value.text().and_then(seconds) {
        return value.wrong(log, WANTED, Some(format!("write {secs}")));
    }
    let secs = (whole::<0, MAX_EXPIRES_IN_SECS>().1)(value, log)?;
    if (1..HOUR_SECS).contains(&secs) {
        let message = format!(
            "this key lives for {} only: expires_in counts seconds",
            count(secs as usize, "second", "seconds")
        );
        let meant = |days: &str| format!("did you mean {days}: {}?", secs * DAY_SECS);
        log.notice(Code::ShortLife, value.place(), message)
            .suggest(match secs {
                1 => Some(meant("1 day")),
                ..=366 => Some(meant(&format!("{secs} days"))),
                _ => None,
            });
    }
    Some(secs)
}

/// Returns the seconds of a length of time as other tools write it: `7d`, `12 hours`. A bare `m` may be a month.
fn seconds(text: &str) -> Option<i64> {
    let text = text.trim().to_lowercase();
    let unit_at = text.find(|char: char| !char.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit_at);
    let unit_secs = match unit.trim_start() {
        "s" | "sec" | "secs" | "second" | "seconds" => 1,
        "min" | "mins" | "minute" | "minutes" => 60,
        "h" | "hour" | "hours" => HOUR_SECS,
        "d" | "day" | "days" => DAY_SECS,
        "w" | "week" | "weeks" => 7 * DAY_SECS,
        "y" | "year" | "years" => 365 * DAY_SECS,
        _ => return None,
    };
    let secs = number.parse::<i64>().ok()?.checked_mul(unit_secs)?;
    (1..=MAX_EXPIRES_IN_SECS).contains(&secs).then_some(secs)
}

/// Reads an instant: RFC 3339 with its offset.
pub(crate) fn reissue_after(value: &Cursor<'_>, log: &mut Log) -> Option<Timestamp> {
    let text = value.string(log, "a time such as \"2026-12-01T12:00:00Z\"")?;
    // jiff takes more than RFC 3339: blanks for the T, times without seconds, [zones]
    let shape = text
        .bytes()
        .map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    let full = shape.take(19).eq(*b"0000-00-00T00:00:00") && !text.ends_with(']');
    let time: Option<Timestamp> = text.parse().ok().filter(|_| full);
    if time.is_none() {
        let hint = match full && format!("{text}Z").parse::<Timestamp>().is_ok() {
            true => format!("did you mean {}?", quote(&format!("{text}Z"))),
            false => {
                "write it like \"2026-12-01T12:00:00Z\" or \"2026-12-01T13:00:00+01:00\"".to_owned()
            }
        };
        let message = format!("{} is not a time with an offset from UTC", quote(text));
        log.error(value.place(), message).suggest(hint);
    }
    time
}

#[cfg(test)]
mod tests {
    use snapbox::str;

    use crate::check::validate::testing::assert_table;

    #[test]
    fn reissue_after_is_a_time_with_its_offset() {
        let rows = [
            r#""2026-12-01T12:00:00Z""#,
            r#""2026-12-01T13:00:00.5+01:00""#,
            r#""2026-12-01T12:00:00""#,
            r#""2026-12-01""#,
            r#""2026-12-01 12:00:00Z""#,
            r#""2026-12-01T12:00Z""#,
            r#""2026-12-01T13:00:00+01:00[Europe/Berlin]""#,
            r#""2026-13-01T12:00:00Z""#,
            r#""2026-02-30T12:00:00Z""#,
            r#""tomorrow""#,
            r#""""#,
            "1796126400",
        ];
        let file = r#"{"setup_keys": {"k": {"type": "one-off", "expires_in": 604800, "reissue_after": ROW}}}"#;
        assert_table(
            file,
            &rows,
            str![[r#"
"2026-12-01T12:00:00Z"
"2026-12-01T13:00:00.5+01:00"
"2026-12-01T12:00:00"
    setup_keys.k.reissue_after: "2026-12-01T12:00:00" is not a time with an offset from UTC | did you mean "2026-12-01T12:00:00Z"?
"2026-12-01"
    setup_keys.k.reissue_after: "2026-12-01" is not a time with an offset from UTC | write it like "2026-12-01T12:00:00Z" or "2026-12-01T13:00:00+01:00"
"2026-12-01 12:00:00Z"
    setup_keys.k.reissue_after: "2026-12-01 12:00:00Z" is not a time with an offset from UTC | write it like "2026-12-01T12:00:00Z" or "2026-12-01T13:00:00+01:00"
"2026-12-01T12:00Z"
    setup_keys.k.reissue_after: "2026-12-01T12:00Z" is not a time with an offset from UTC | write it like "2026-12-01T12:00:00Z" or "2026-12-01T13:00:00+01:00"
"2026-12-01T13:00:00+01:00[Europe/Berlin]"
    setup_keys.k.reissue_after: "2026-12-01T13:00:00+01:00[Europe/Berlin]" is not a time with an offset from UTC | write it like "2026-12-01T12:00:00Z" or "2026-12-01T13:00:00+01:00"
"2026-13-01T12:00:00Z"
    setup_keys.k.reissue_after: "2026-13-01T12:00:00Z" is not a time with an offset from UTC | write it like "2026-12-01T12:00:00Z" or "2026-12-01T13:00:00+01:00"
"2026-02-30T12:00:00Z"
    setup_keys.k.reissue_after: "2026-02-30T12:00:00Z" is not a time with an offset from UTC | write it like "2026-12-01T12:00:00Z" or "2026-12-01T13:00:00+01:00"
"tomorrow"
    setup_keys.k.reissue_after: "tomorrow" is not a time with an offset from UTC | write it like "2026-12-01T12:00:00Z" or "2026-12-01T13:00:00+01:00"
""
    setup_keys.k.reissue_after: "" is not a time with an offset from UTC | write it like "2026-12-01T12:00:00Z" or "2026-12-01T13:00:00+01:00"
1796126400
    setup_keys.k.reissue_after: expected a time such as "2026-12-01T12:00:00Z", found the number 1796126400

"#]],
        );
    }
}
