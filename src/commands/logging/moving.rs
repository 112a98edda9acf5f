//! The line at the bottom of a terminal that a run writes over while it works: how far it is, with what, and since when.
//! Everything else that is written to stderr takes it away first and puts it back after.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::base::masked;

/// What stands there; none without a terminal, and while nothing moves.
static SHOWN: Mutex<Option<Shown>> = Mutex::new(None);

/// Goes to the first column and clears what is right of it.
const ERASE: &str = "\r\x1b[K";
/// How often the time is written again.
const TICK: Duration = Duration::from_millis(250);
/// Columns of a terminal that does not say how many it has.
const USUAL_COLUMNS: usize = 80;

struct Shown {
    text: String,
    since: Instant,
}

impl Shown {
    fn draw(&self, stderr: &mut dyn Write) -> io::Result<()> {
        let size = terminal_size::terminal_size_of(io::stderr());
        let columns = size.map_or(USUAL_COLUMNS, |(width, _)| usize::from(width.0));
        let seconds = self.since.elapsed().as_secs();
        let line = cut(&format!("{seconds} s  {}", self.text), columns);
        // in one piece: it would flicker
        stderr.write_all(format!("{ERASE}{line}").as_bytes())?;
        stderr.flush()
    }
}

/// A line that moves, until this is dropped: nothing of it is left then.
pub struct Moving(Option<JoinHandle<()>>);

impl Moving {
    /// Begins with an empty line. Once `stop` is set, it stands still: a line that stays says what a signal does.
    pub(super) fn start(stop: Arc<AtomicBool>) -> Moving {
        *shown() = Some(Shown {
            text: String::new(),
            since: Instant::now(),
        });
        Moving(Some(thread::spawn(move || tick(&stop))))
    }

    /// Shows this text instead of the one before, with the time since the start.
    pub fn show(&self, text: String) {
        if let Some(line) = &mut *shown() {
            line.text = text;
            let _ = line.draw(&mut io::stderr().lock());
        }
    }
}

impl Drop for Moving {
    fn drop(&mut self) {
        take_away();
        if let Some(ticker) = self.0.take() {
            ticker.thread().unpark();
            let _ = ticker.join();
        }
    }
}

/// Keeps the time current, until the line is taken away.
fn tick(stop: &AtomicBool) {
    loop {
        if stop.load(Ordering::Relaxed) {
            if let Some(line) = take_away() {
                let how = "a second Ctrl-C ends it at once";
                around(&format!("stopping after {line}; {how}\n"));
            }
            return;
        }
        match &*shown() {
            None => return,
            Some(line) if line.text.is_empty() => {}
            Some(line) => drop(line.draw(&mut io::stderr().lock())),
        }
        thread::park_timeout(TICK);
    }
}

/// Ends the line, and returns its text if it had one.
fn take_away() -> Option<String> {
    let line = shown().take().filter(|line| !line.text.is_empty())?;
    let _ = io::stderr().lock().write_all(ERASE.as_bytes());
    Some(line.text)
}

/// Writes a text to stderr as if no line moved there. A closed stderr is no error.
pub(super) fn around(text: &str) {
    let shown = shown();
    let line = shown.as_ref().filter(|line| !line.text.is_empty());
    let before = if line.is_some() { ERASE } else { "" };
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(format!("{before}{text}").as_bytes());
    if let Some(line) = line {
        let _ = line.draw(&mut stderr);
    }
}

/// Where the log writes.
pub(super) struct AroundLine;

impl Write for AroundLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        around(&masked(&text));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn shown() -> std::sync::MutexGuard<'static, Option<Shown>> {
    // a text and a time are whole whoever panicked
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a text in one line of a terminal: one that is too long would wrap and could not be taken away. The last column stays
/// free, since some terminals wrap there.
fn cut(text: &str, columns: usize) -> String {
    let columns = columns.saturating_sub(1);
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut width = 1; // of what is left out
    let fits = |char: &char| {
        width += char.width().unwrap_or(0);
        width <= columns
    };
    let short: String = text.chars().take_while(fits).collect();
    if columns == 0 { short } else { short + "…" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_never_as_wide_as_the_terminal() {
        let texts = [
            "",
            "[1/2] group a",
            "[10/12] policy 機器-機器-機器-機器",
            "[3/4] peer e\u{301}e\u{301}🦉🦉🦉🦉🦉🦉🦉🦉🦉🦉",
        ];
        for text in texts {
            for columns in 0..60 {
                let line = cut(text, columns);
                assert!(line.width() < columns.max(1), "{columns}: {line:?}");
            }
        }
    }

    #[test]
    fn a_text_that_is_too_long_is_cut() {
        let line = |columns| cut("4 s  [3/12] policy pilots-to-ground-stations", columns);
        assert_eq!(line(80), "4 s  [3/12] policy pilots-to-ground-stations");
        assert_eq!(line(30), "4 s  [3/12] policy pilots-to…");
        assert_eq!(line(2), "…");
        assert_eq!(line(1), "");
    }
}
