//! A program at a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::{Bench, Pid, Run};

/// A program at a terminal: stdin and stderr are one, as in a step of an old runner.
pub(crate) struct Terminal {
    child: Child,
    keyboard_and_screen: File,
    seen: String,
}

impl Terminal {
    /// Starts it at a terminal that does not say how wide it is.
    pub(crate) fn start(command: Command) -> Terminal {
        Terminal::sized(command, 0)
    }

    /// Starts it at a terminal of so many columns.
    pub(crate) fn sized(mut command: Command, columns: u16) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize {
            ws_row: columns.min(24),
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = File::options()
            .read(true)
            .write(true)
            .open(name.to_str().unwrap())
            .unwrap();
        command
            .stdin(slave.try_clone().unwrap())
            .stderr(slave)
            .stdout(Stdio::piped());
        Terminal {
            child: command.spawn().unwrap(),
            keyboard_and_screen: File::from(master),
            seen: String::new(),
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        let (send, receive) = channel();
        send.send(self.child.id()).unwrap();
        Pid { receive }
    }

    pub(crate) fn types(&mut self, text: &str) {
        self.keyboard_and_screen.write_all(text.as_bytes()).unwrap();
    }

    /// Types where nobody may be left to read it.
    pub(crate) fn types_in_vain(&mut self, text: &str) {
        let _ = self.keyboard_and_screen.write_all(text.as_bytes());
    }

    pub(crate) fn reads_until(&mut self, text: &str) {
        while !self.seen.contains(text) {
            assert!(self.read(), "not shown: {text:?}\n{}", self.seen);
        }
    }

    /// Reads what is shown next; `false` at the end.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 4096];
        // an error says that nobody has the terminal any more
        let size = self.keyboard_and_screen.read(&mut buffer).unwrap_or(0);
        let text = String::from_utf8_lossy(&buffer[..size]);
        self.seen.push_str(&text);
        size > 0
    }

    pub(crate) fn ends(self, bench: &Bench) -> Run {
        bench.outcome(self.child.wait_with_output().unwrap())
    }

    /// Reads to the end; returns all that was written to the terminal, too.
    pub(crate) fn seen_to_the_end(mut self, bench: &Bench) -> (Run, String) {
        while self.read() {}
        let seen = std::mem::take(&mut self.seen);
        (self.ends(bench), seen)
    }
}
