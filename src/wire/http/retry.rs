//! Which requests are made again, when, and how often: a policy without I/O.
//!
//! The server knows no idempotency keys (docs/netbird-api.md, "Requests and answers"), so a POST that may have arrived
//! is never made again. A
//! 429 says that nothing was done (docs/netbird-api.md, "Rate limit"), whatever the method.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use super::Method;

/// The bounds of making requests again.
#[derive(Debug, Clone)]
pub struct Retry {
    /// How often a read is made at most, 429 not counted.
    pub tries: u32,
    /// The wait before the second try; it doubles each time. Up to half of it is left out at random, so that jobs that
    /// failed together do not come back together.
    pub base: Duration,
    /// The wait after a 429 that names no time. At NetBird's default limit one request is free every 10 s.
    pub throttle_wait: Duration,
    /// How often a 429 is waited for.
    pub throttle_waits: u32,
    /// The longest that `Retry-After` is followed.
    pub retry_after_max: Duration,
    /// How to wait: [`std::thread::sleep`], or something that a signal can end.
    pub sleep: fn(Duration),
}

impl Default for Retry {
    fn default() -> Retry {
        Retry {
            tries: 4,
            base: Duration::from_millis(500),
            throttle_wait: Duration::from_secs(10),
            throttle_waits: 12,
            retry_after_max: Duration::from_secs(60),
            sleep: std::thread::sleep,
        }
    }
}

/// How one try ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TryEnd {
    /// The server answered with this status, and the whole body came.
    Answered(u16),
    /// The connection ended before any answer: what a connection kept open for too long does.
    Disconnected,
    /// Another failure that may pass by itself.
    Passing,
    /// A failure that the next try would meet as well, or that took its time already.
    Lasting,
}

/// A wait before the next try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) delay: Duration,
    /// The first, the second … of `of` waits of its kind.
    pub(super) number: u32,
    pub(super) of: u32,
    pub(super) is_throttled: bool,
}

/// What one request has used up of its bounds.
#[derive(Debug, Default)]
pub(super) struct Tries {
    again: u32,
    is_after_500: bool,
    throttled: u32,
}

impl Tries {
    /// Returns how long to wait before making the request again; `None` means that the end stands.
    pub(super) fn next(
        &mut self,
        retry: &Retry,
        method: &Method,
        end: TryEnd,
        retry_after: Option<Duration>,
    ) -> Option<Wait> {
        let is_throttled = end == TryEnd::Answered(429);
        let (number, of) = match is_throttled {
            true => (&mut self.throttled, retry.throttle_waits),
            false => {
                let of = self.bound(retry, method, end);
                (&mut self.again, of)
            }
        };
        if *number >= of {
            return None;
        }
        *number += 1;
        let asked = retry_after.map(|wait| wait.min(retry.retry_after_max));
        let delay = match is_throttled {
            // "Retry-After: 0" and dates gone by would use up all waits at once
            true => asked.map_or(retry.throttle_wait, |wait| wait.max(Duration::from_secs(1))),
            false => asked.unwrap_or_else(|| backoff(retry.base, *number - 1, random())),
        };
        let number = *number;
        self.is_after_500 |= end == TryEnd::Answered(500);
        Some(Wait {
            delay,
            number,
            of,
            is_throttled,
        })
    }

    /// How often `method` is made again after such an end, counted over all of them.
    fn bound(&self, retry: &Retry, method: &Method, end: TryEnd) -> u32 {
        use TryEnd::{Answered, Disconnected, Passing};
        let reads = retry.tries.saturating_sub(1);
        match (method, end) {
            (&Method::GET, Answered(502..=504) | Disconnected | Passing) => reads,
            // Several plain mistakes are 500s on this server (docs/netbird-api.md, "Errors"): one more try, no more.
            (&Method::GET, Answered(500)) if !self.is_after_500 => reads,
            // Replacing or deleting the same object twice ends the same.
            (&Method::PUT | &Method::DELETE, Disconnected) => reads.min(1),
            _ => 0,
        }
    }
}

/// Returns the wait before try `n + 2`: between a half and the whole of `base` · 2ⁿ, by `random`.
pub(super) fn backoff(base: Duration, n: u32, random: u64) -> Duration {
    jittered(base.saturating_mul(2_u32.saturating_pow(n)), random)
}

/// Returns between a half and the whole of a wait, by `random`.
pub(crate) fn jittered(whole: Duration, random: u64) -> Duration {
    let share = (random % 1024) as f64 / 1024.0;
    whole.mul_f64(0.5 + share / 2.0)
}

/// Returns a number that differs from call to call; the standard library seeds its hashers from the system.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(())
}

/// Reads a `Retry-After` header: seconds, or an HTTP date compared with `now`. `None` when it is neither.
pub(super) fn retry_after(value: &str, now: jiff::Timestamp) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let at = http_date(value)?;
    Some(Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO))
}

/// Reads an HTTP date, as in `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(super) fn http_date(value: &str) -> Option<jiff::Timestamp> {
    static PARSER: jiff::fmt::rfc2822::DateTimeParser = jiff::fmt::rfc2822::DateTimeParser::new();
    PARSER.parse_timestamp(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how often the same outcome is repeated.
    fn repeats(method: &Method, outcome: TryEnd) -> usize {
        let (mut tries, retry) = (Tries::default(), Retry::default());
        std::iter::from_fn(|| tries.next(&retry, method, outcome, None)).count()
    }

    #[test]
    fn repeats_by_method_and_outcome() {
        use TryEnd::*;
        for (outcome, get, put_delete, post_patch) in [
            (Answered(200), 0, 0, 0),
            (Answered(400), 0, 0, 0),
            (Answered(404), 0, 0, 0),
            (Answered(408), 0, 0, 0),
            (Answered(429), 12, 12, 12),
            (Answered(500), 1, 0, 0),
            (Answered(501), 0, 0, 0),
            (Answered(502), 3, 0, 0),
            (Answered(503), 3, 0, 0),
            (Answered(504), 3, 0, 0),
            (Disconnected, 3, 1, 0),
            (Passing, 3, 0, 0),
            (Lasting, 0, 0, 0),
        ] {
            assert_eq!(repeats(&Method::GET, outcome), get, "GET {outcome:?}");
            for method in [&Method::PUT, &Method::DELETE] {
                assert_eq!(repeats(method, outcome), put_delete, "{method} {outcome:?}");
            }
            for method in [&Method::POST, &Method::PATCH] {
                assert_eq!(repeats(method, outcome), post_patch, "{method} {outcome:?}");
            }
        }
    }

    #[test]
    fn bounds_hold_over_mixed_outcomes() {
        let (mut tries, retry) = (Tries::default(), Retry::default());
        let mut next = |outcome| {
            tries
                .next(&retry, &Method::GET, outcome, None)
                .map(|wait| (wait.number, wait.of))
        };
        assert_eq!(next(TryEnd::Answered(500)), Some((1, 3)));
        assert_eq!(next(TryEnd::Answered(429)), Some((1, 12)));
        assert_eq!(next(TryEnd::Answered(502)), Some((2, 3)));
        assert_eq!(next(TryEnd::Answered(500)), None);
        assert_eq!(next(TryEnd::Disconnected), Some((3, 3)));
        assert_eq!(next(TryEnd::Passing), None);
        assert_eq!(next(TryEnd::Answered(429)), Some((2, 12)));
    }

    #[test]
    fn waits() {
        let retry = Retry::default();
        let wait = |outcome, after: Option<u64>| {
            Tries::default()
                .next(
                    &retry,
                    &Method::GET,
                    outcome,
                    after.map(Duration::from_secs),
                )
                .unwrap()
                .delay
        };
        let secs = Duration::from_secs;
        assert_eq!(wait(TryEnd::Answered(429), None), secs(10));
        assert_eq!(wait(TryEnd::Answered(429), Some(3)), secs(3));
        assert_eq!(wait(TryEnd::Answered(429), Some(0)), secs(1));
        assert_eq!(wait(TryEnd::Answered(429), Some(3600)), secs(60));
        assert_eq!(wait(TryEnd::Answered(503), Some(7)), secs(7));
        assert_eq!(wait(TryEnd::Answered(503), Some(3600)), secs(60));
        assert!(wait(TryEnd::Answered(503), None) <= Duration::from_millis(500));
    }

    #[test]
    fn backoff_doubles_within_its_jitter() {
        let base = Duration::from_millis(500);
        assert_eq!(backoff(base, 0, 0), Duration::from_millis(250));
        assert_eq!(backoff(base, 2, 0), Duration::from_millis(1000));
        for random in [0, 1, 1023, u64::MAX, random()] {
            let wait = backoff(base, 1, random);
            assert!(
                wait >= Duration::from_millis(500) && wait <= Duration::from_millis(1000),
                "{wait:?}"
            );
        }
        assert_eq!(backoff(Duration::ZERO, 3, 7), Duration::ZERO);
    }

    #[test]
    fn retry_after_forms() {
        let now = http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (value, wanted) in [
            ("5", Some(5)),
            (" 0 ", Some(0)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(
                retry_after(value, now),
                wanted.map(Duration::from_secs),
                "{value:?}"
            );
        }
    }
}
