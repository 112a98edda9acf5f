//! The server's clock: the system's, or one that a test sets. No two readings are equal, so events
//! have an order.

use jiff::Timestamp;

/// Go's zero time, which stands for "never".
pub(crate) const NEVER: &str = "0001-01-01T00:00:00Z";

/// Nanoseconds since 1970 throughout.
#[derive(Clone, Default)]
pub(crate) struct Clock {
    /// Where it stands, once it was set.
    set: Option<i128>,
    /// How far it was advanced beyond the system's.
    ahead: i128,
    last: i128,
}

impl Clock {
    pub(crate) fn now(&mut self) -> Timestamp {
        let time = self
            .set
            .unwrap_or_else(|| Timestamp::now().as_nanosecond() + self.ahead);
        self.last = time.max(self.last + 1);
        timestamp(self.last)
    }

    /// Stops it at a second since 1970.
    pub(crate) fn set(&mut self, seconds: i64) {
        self.set = Some(nanoseconds(seconds));
        self.last = 0;
    }

    pub(crate) fn advance(&mut self, seconds: i64) {
        match &mut self.set {
            Some(time) => *time += nanoseconds(seconds),
            None => self.ahead += nanoseconds(seconds),
        }
    }
}

fn nanoseconds(seconds: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000
}

/// Returns the time, or the end of time where that is beyond it.
pub(crate) fn timestamp(nanoseconds: i128) -> Timestamp {
    Timestamp::from_nanosecond(nanoseconds).unwrap_or(Timestamp::MAX)
}

/// RFC 3339 with nine digits.
pub(crate) fn show(time: Timestamp) -> String {
    format!("{time:.9}")
}

pub(crate) fn show_or_never(time: Option<Timestamp>) -> String {
    time.map_or_else(|| NEVER.to_owned(), show)
}

#[cfg(test)]
mod tests {
    use super::{Clock, show};

    #[test]
    fn set_clock_stands_but_for_nanoseconds() {
        let mut clock = Clock::default();
        clock.set(1_795_820_567);
        assert_eq!(show(clock.now()), "2026-11-27T23:02:47.000000000Z");
        assert_eq!(show(clock.now()), "2026-11-27T23:02:47.000000001Z");
        clock.advance(60);
        assert_eq!(show(clock.now()), "2026-11-27T23:03:47.000000000Z");
    }
}
