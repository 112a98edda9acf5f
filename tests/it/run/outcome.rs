//! A run and what came of it.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output};
use std::sync::mpsc::Receiver;

use serde_json::Value;

use super::Server;

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Run {
    /// The exit code; 128 and more is a signal.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A run that goes on.
pub(crate) struct Running {
    pub(super) child: Child,
    pub(super) dir: PathBuf,
}

impl Run {
    /// Reads what a process put out; names lose the prefix of a real server.
    pub(super) fn of(output: Output, server: &Server) -> Run {
        let text = |bytes: Vec<u8>| server.unprefixed(&String::from_utf8(bytes).unwrap());
        let signal = || 128 + output.status.signal().unwrap_or_default();
        Run {
            code: output.status.code().unwrap_or_else(signal),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Ends the test unless the run ended so.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Run {
        assert_eq!(
            self.code, code,
            "stdout:\n{}\nstderr:\n{}",
            self.stdout, self.stderr
        );
        self
    }

    /// Ends the test unless stderr says this.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Run {
        assert!(
            self.stderr.contains(text),
            "stderr does not say {text:?}:\n{}",
            self.stderr
        );
        self
    }

    /// Ends the test unless stdout shows this.
    #[track_caller]
    pub(crate) fn shows(self, text: &str) -> Run {
        assert!(
            self.stdout.contains(text),
            "stdout does not show {text:?}:\n{}",
            self.stdout
        );
        self
    }

    /// Ends the test if stdout shows this.
    #[track_caller]
    pub(crate) fn hides(self, text: &str) -> Run {
        assert!(
            !self.stdout.contains(text),
            "stdout shows {text:?}:\n{}",
            self.stdout
        );
        self
    }

    /// Stdout as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!(
                "stdout is no JSON: {error}\n{}\nstderr:\n{}",
                self.stdout, self.stderr
            )
        })
    }

    /// The operations of the JSON, as `create_group pilots success`.
    #[track_caller]
    pub(crate) fn operations(&self) -> Vec<String> {
        let json = self.json();
        let operations = json["operations"].as_array().unwrap().iter();
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        operations
            .map(|op| {
                let parts = [&op["type"], &op["name"], &op["status"]].map(word);
                parts.join(" ")
            })
            .collect()
    }
}

impl Running {
    /// Waits for the end.
    pub(crate) fn wait(mut self) -> Run {
        let status = self.child.wait().unwrap();
        let text = |name: &str| fs::read_to_string(self.dir.join(name)).unwrap();
        Run {
            code: status
                .code()
                .unwrap_or_else(|| 128 + status.signal().unwrap_or_default()),
            stdout: text("stdout"),
            stderr: text("stderr"),
        }
    }
}

/// The process id of a run that a hook wants to signal.
pub(crate) struct Pid {
    pub(super) receive: Receiver<u32>,
}

impl Pid {
    /// Sends a signal such as `KILL`; when this returns it is delivered.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.receive.recv().expect("the run started");
        let command = format!("kill -{signal} {pid}");
        let status = Command::new("sh").args(["-c", &command]).status().unwrap();
        assert!(status.success(), "{command}");
    }
}
