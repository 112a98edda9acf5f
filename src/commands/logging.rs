//! What stderr gets: log lines, and what a run says of itself, as text or as one JSON object a line.

mod moving;

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use env_logger::{Builder, Target, WriteStyle};
use log::LevelFilter;
use log::kv::{Error, Key, Value, VisitSource};
use serde_json::{Map, json};

use super::cli::{Global, LogFormat, When};
use crate::base::{json, masked, obedient_to_us, visible};
use crate::render::terminal::Color;

pub use moving::Moving;
use moving::{AroundLine, around};

/// Where a run says what it does.
#[derive(Debug, Clone, Copy)]
pub struct Say {
    json: bool,
    quiet: bool,
    color: bool,
    in_job: bool,
    /// Whether a line that moves can be shown.
    moves: bool,
}

/// Returns how to speak on stderr. `lookup` reads the environment; an empty variable is unset.
pub fn say(global: &Global, lookup: impl Fn(&str) -> Option<String>) -> Say {
    let json = match global.log_format {
        LogFormat::Auto => lookup("CI").is_some_and(|ci| ci != "false" && ci != "0"),
        LogFormat::Text => false,
        LogFormat::Json => true,
    };
    let (in_job, is_terminal) = (lookup("CI").is_some(), std::io::stderr().is_terminal());
    let can_erase = lookup("TERM").is_some_and(|term| term != "dumb");
    Say {
        json,
        in_job,
        moves: is_terminal && can_erase && !in_job && !json && !global.quiet,
        quiet: global.quiet,
        color: use_color(global.color, is_terminal, &lookup),
    }
}

/// Starts the log of this process, which `say` speaks beside.
pub fn start(say: Say, global: &Global, lookup: impl Fn(&str) -> Option<String>) {
    let level = match (global.quiet, global.verbose) {
        (true, _) => LevelFilter::Error,
        (false, 0) => LevelFilter::Warn,
        (false, 1) => LevelFilter::Info,
        (false, _) => LevelFilter::Debug,
    };
    let mut builder = Builder::new();
    builder.target(Target::Pipe(Box::new(AroundLine)));
    match lookup("RUST_LOG") {
        Some(filters) => builder.parse_filters(&filters),
        // other crates' lines are of use only to somebody who asks for them by RUST_LOG
        None => builder
            .filter_level(LevelFilter::Warn)
            .filter_module("netbird_gitops", level),
    };
    builder.write_style(match say.color {
        true => WriteStyle::Always,
        false => WriteStyle::Never,
    });
    if say.json {
        builder.format(|buffer, record| {
            let mut fields = Fields(Map::new());
            let _ = record.key_values().visit(&mut fields);
            fields.0.insert("target".into(), json!(record.target()));
            let level = record.level().as_str().to_lowercase();
            let line = json_line(&level, &record.args().to_string(), fields.0);
            buffer.write_all(line.as_bytes())
        });
    }
    builder.init();
}

/// Returns a line of the log for programs.
fn json_line(level: &str, message: &str, mut fields: Map<String, serde_json::Value>) -> String {
    let time = jiff::Timestamp::now().to_string();
    for (name, value) in [("time", &*time), ("level", level), ("message", message)] {
        fields.insert(name.to_owned(), json!(value));
    }
    let line = serde_json::Value::Object(fields).to_string();
    format!("{}\n", json::escape(&line))
}

/// Returns whether to colour a stream.
pub fn use_color(when: When, is_terminal: bool, lookup: impl Fn(&str) -> Option<String>) -> bool {
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto => is_terminal && lookup("NO_COLOR").is_none(),
    }
}

struct Fields(Map<String, serde_json::Value>);

impl<'kvs> VisitSource<'kvs> for Fields {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), Error> {
        let value = match value.to_u64() {
            Some(number) => json!(number),
            None => json!(value.to_string()),
        };
        self.0.insert(key.to_string(), value);
        Ok(())
    }
}

impl Say {
    /// Whether the log is for programs.
    pub(super) fn is_json(self) -> bool {
        self.json
    }

    /// Begins a line that moves, for somebody at a terminal who wants to see it. Once `stop` is set it stands still.
    pub fn moving(self, stop: &Arc<AtomicBool>) -> Option<Moving> {
        self.moves.then(|| Moving::start(stop.clone()))
    }

    /// Says what happens; not with `--quiet`.
    pub fn progress(self, text: &str) {
        if !self.quiet {
            self.line("info", text, &[]);
        }
    }

    /// Says what somebody should know; not with `--quiet`.
    pub fn note(self, text: &str) {
        let label = match self.json {
            true => String::new(),
            false => self.label("36", "note") + " ",
        };
        if !self.quiet {
            self.line("notice", &(label + text), &[]);
        }
    }

    /// Says why a run ends, and what to do.
    pub fn error(self, label: &str, text: &str, hint: Option<&str>) {
        if self.json {
            let hint = hint.map(|hint| ("hint", hint));
            return self.line("error", &format!("{label}: {text}"), hint.as_slice());
        }
        let label = self.label("31", label);
        self.line("error", &format!("{label} {text}"), &[]);
        if let Some(hint) = hint {
            // further lines stand under the first word
            let (label, hint) = (self.label("36", "hint"), hint.replace('\n', "\n      "));
            self.line("error", &format!("{label} {hint}"), &[]);
        }
    }

    fn label(self, colour: &str, word: &str) -> String {
        Color(self.color).paint(colour, &format!("{word}:"))
    }

    /// Says a refusal as lines where the log is JSON: people read it in the job.
    pub fn refusal(self, text: &str, hint: Option<&str>) {
        if self.json {
            let hint = hint.map(|hint| format!("\nhint: {}", hint.replace('\n', "\n      ")));
            self.lines(&format!("refused: {text}{}", hint.unwrap_or_default()));
        }
    }

    /// Shows a sealed key: in a job's log it outlives disk and artifact. A block at column 0 that can be copied and opened as
    /// it is, also where the log is JSON.
    pub fn sealed(self, name: &str, armored: &str) {
        let text = format!("sealed setup key {}:", visible(name));
        self.line("info", &text, &[("name", name)]);
        self.lines(armored);
    }

    /// Shows a text of several lines, such as a plan: as lines, also where the log is JSON, since people read them.
    pub fn text(self, text: &str) {
        if !self.quiet {
            self.lines(text);
        }
    }

    /// Writes a line by which a job's page begins or ends a part that it folds; not with `--quiet`.
    pub fn fold(self, line: &str) {
        if !self.quiet {
            around(&format!("{line}\n"));
        }
    }

    fn lines(self, text: &str) {
        around(&format!("{}\n", self.harmless(text.trim_end())));
    }

    /// Returns a text without secrets, and without what others could order a terminal to do. A runner takes lines that begin with
    /// `::` or `##[` as commands, so in a job no line does.
    pub(super) fn harmless(self, text: &str) -> String {
        let text = masked(text);
        let text = obedient_to_us(&text);
        match self.in_job {
            true => crate::forge::ci::safe_line(&text).into_owned(),
            false => text.into_owned(),
        }
    }

    /// Asks a question on a terminal; returns whether the answer is yes.
    pub fn ask(self, question: &str) -> bool {
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush());
        let mut answer = String::new();
        let read = std::io::stdin().read_line(&mut answer);
        read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
    }

    fn line(self, level: &str, text: &str, fields: &[(&str, &str)]) {
        if self.json {
            let fields = fields.iter();
            let fields = fields.map(|(name, value)| ((*name).to_owned(), json!(masked(value))));
            around(&json_line(level, &masked(text), fields.collect()));
        } else {
            self.lines(text);
        }
    }
}
