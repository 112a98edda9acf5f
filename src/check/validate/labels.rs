//! DNS labels that the names of pending keys make: those that are cut, and those that two names share.

use rustc_hash::FxHashMap;

use crate::base::code::Code;
use crate::file::{Log, quote};
use crate::model::desired::Desired;
use crate::model::kind::{InFile, Kind, SetupKey};
use crate::model::label::plain_label;

/// Notes names of keys whose peer's DNS label is not what a reader expects (docs/netbird-api.md, "DNS labels of
/// peers").
pub(super) fn check(entries: &[InFile<'_>], desired: &Desired, log: &mut Log) {
    let mut first: FxHashMap<String, &InFile<'_>> = FxHashMap::default();
    for entry in entries {
        let name = entry.address.name.as_str();
        let names_a_peer = || {
            let key = desired.setup_key(name);
            key.is_some_and(SetupKey::is_for_one_peer)
        };
        if entry.address.kind != Kind::SetupKey || !names_a_peer() {
            continue;
        }
        let Some(label) = plain_label(name) else {
            continue;
        };
        let is_pending = desired.awaits_enrollment(name);
        let other = *first.entry(label.clone()).or_insert(entry);
        let place = || entry.cursor.key_place();
        if other.address != entry.address {
            // of two that are done the server has decided
            if is_pending || desired.awaits_enrollment(&other.address.name) {
                let message = format!(
                    "{} and {} in line {} both make the DNS label {}: the peer that is named second gets a suffix from its IP",
                    quote(name),
                    quote(&other.address.name),
                    other.cursor.key_place().line,
                    quote(&label)
                );
                let taken = quote(&other.address.name);
                log.notice(Code::DnsLabel, place(), message)
                    .brief(format!("{} → {}, as {taken}", quote(name), quote(&label)))
                    .suggest("give them different names: case, spaces, other signs and what follows the first dot make no difference");
            }
        } else if is_pending && is_cut(name, &label) {
            let message = format!("the DNS label of this key's peer will be {}", quote(&label));
            let why = match name.contains('.') {
                true => "a label is the part before the first dot",
                false => "a label has at most 59 characters",
            };
            log.notice(Code::DnsLabel, place(), message)
                .brief(format!("{} → {}", quote(name), quote(&label)))
                .suggest(why.to_owned());
        }
    }
}

/// Whether letters or digits of the name are not in the label.
fn is_cut(name: &str, label: &str) -> bool {
    let count = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).count();
    count(name) > count(label) || name.contains('.')
}

#[cfg(test)]
mod tests {
    use snapbox::str;

    use crate::check::validate::testing::assert_table;

    #[test]
    fn labels_that_are_cut_or_shared() {
        let long = format!(r#""{}": KEY"#, "x".repeat(60));
        let rows = [
            r#""Pilot-hawk-72": KEY"#,
            r#""pump3.hall4": KEY"#,
            r#""pump3.hall4": KEY, "pump3.hall5": KEY"#,
            r#""F2-Cam": KEY, "f2-cam": KEY"#,
            r#""a b": KEY, "a-b": DONE"#,
            r#""a b": DONE, "a-b": DONE"#,
            r#""a b": MANY, "a-b": KEY"#,
            &long,
        ];
        let rows: Vec<String> = rows
            .iter()
            .map(|row| {
                let key = r#"{"type": "one-off", "expires_in": 3600"#;
                row.replace("KEY", &format!("{key}}}"))
                    .replace("DONE", &format!(r#"{key}, "enrolled": true}}"#))
                    .replace(
                        "MANY",
                        r#"{"type": "reusable", "expires_in": 0, "usage_limit": 2}"#,
                    )
            })
            .collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        assert_table(
            r#"{"setup_keys": {ROW}}"#,
            &rows,
            str![[r#"
"Pilot-hawk-72": {"type": "one-off", "expires_in": 3600}
"pump3.hall4": {"type": "one-off", "expires_in": 3600}
    note: setup_keys["pump3.hall4"]: the DNS label of this key's peer will be "pump3" | a label is the part before the first dot
"pump3.hall4": {"type": "one-off", "expires_in": 3600}, "pump3.hall5": {"type": "one-off", "expires_in": 3600}
    note: setup_keys["pump3.hall4"]: the DNS label of this key's peer will be "pump3" | a label is the part before the first dot
    note: setup_keys["pump3.hall5"]: "pump3.hall5" and "pump3.hall4" in line 1 both make the DNS label "pump3": the peer that is named second gets a suffix from its IP | give them different names: case, spaces, other signs and what follows the first dot make no difference
"F2-Cam": {"type": "one-off", "expires_in": 3600}, "f2-cam": {"type": "one-off", "expires_in": 3600}
    note: setup_keys.f2-cam: the name "f2-cam" differs only by case from "F2-Cam" in line 1
    note: setup_keys.f2-cam: "f2-cam" and "F2-Cam" in line 1 both make the DNS label "f2-cam": the peer that is named second gets a suffix from its IP | give them different names: case, spaces, other signs and what follows the first dot make no difference
"a b": {"type": "one-off", "expires_in": 3600}, "a-b": {"type": "one-off", "expires_in": 3600, "enrolled": true}
    note: setup_keys.a-b: "a-b" and "a b" in line 1 both make the DNS label "a-b": the peer that is named second gets a suffix from its IP | give them different names: case, spaces, other signs and what follows the first dot make no difference
"a b": {"type": "one-off", "expires_in": 3600, "enrolled": true}, "a-b": {"type": "one-off", "expires_in": 3600, "enrolled": true}
"a b": {"type": "reusable", "expires_in": 0, "usage_limit": 2}, "a-b": {"type": "one-off", "expires_in": 3600}
"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": {"type": "one-off", "expires_in": 3600}
    note: setup_keys.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: the DNS label of this key's peer will be "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" | a label has at most 59 characters

"#]],
        );
    }
}
