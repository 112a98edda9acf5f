//! All that is logged while the tests of this process run, to search for what must not be there.

use std::sync::{Mutex, Once};

use log::kv::{Error, Key, Value, VisitSource};
use log::{Level, LevelFilter, Log, Metadata, Record};

struct Capture {
    lines: Mutex<Vec<String>>,
}

static CAPTURE: Capture = Capture {
    lines: Mutex::new(Vec::new()),
};

/// Starts to keep every line of the log. The tests of all threads share it: search for what only one of them says.
pub(crate) fn start() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&CAPTURE).expect("tests have no other logger");
        log::set_max_level(LevelFilter::Trace);
    });
}

/// Returns the lines so far that contain `part`, with level, target and key-values.
pub(crate) fn lines_with(part: &str) -> Vec<String> {
    let lines = CAPTURE.lines.lock().expect("no test panics while it logs");
    lines
        .iter()
        .filter(|line| line.contains(part))
        .cloned()
        .collect()
}

impl Log for Capture {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let mut pairs = Pairs(String::new());
        record
            .key_values()
            .visit(&mut pairs)
            .expect("pairs take every value");
        let level: Level = record.level();
        let line = format!("{level} {} {}{}", record.target(), record.args(), pairs.0);
        self.lines
            .lock()
            .expect("no test panics while it logs")
            .push(line);
    }

    fn flush(&self) {}
}

struct Pairs(String);

impl<'kvs> VisitSource<'kvs> for Pairs {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), Error> {
        self.0.push_str(&format!(" {key}={value}"));
        Ok(())
    }
}
