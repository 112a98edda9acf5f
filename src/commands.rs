//! The commands: each names the stages of its run in order. Files, environment, network, stdout and stderr are touched
//! from here; the stages are pure.

mod access;
mod adopt;
mod agreements;
mod apply;
mod branch;
pub mod cli;
mod doctor;
mod drift;
pub mod exit;
mod export;
mod failure;
mod forge;
mod history;
mod init;
mod inventory;
pub mod logging;
mod mark_enrolled;
mod plan;
mod progress;
mod publish;
mod session;
mod settings;
mod signals;
mod sync_events;
mod validate;
mod versions;
mod workflows;

use std::fs;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::base::{file_error, files, json, listed, masked, visible};
use crate::commands::cli::{Cli, Command, Format};
use crate::forge::ci::{self, Runner};
use crate::plan::Refusal;
use crate::render::{self, Document, Tree, markdown, terminal};

use failure::Failure;
use forge::{Forge, SETTINGS};
use history::History;
use inventory::{FoundInventory, InventoryPlace};
use logging::{Say, use_color};
use progress::Announcer;
use session::Session;
use settings::{Run, connect, gitea_config, halt, inventory_branch, readable, recipients, setting};
use versions::{of_gitea, of_netbird};

pub use exit::Exit;
pub use settings::{environment, unreadable_arguments, unreadable_variables};

/// What a step comes to, or why the run stops.
type Result<T, E = Failure> = std::result::Result<T, E>;

/// Runs the command and returns how it ended.
pub fn run(cli: &Cli, say: Say) -> Exit {
    let run = &Run::new(cli, say);
    // with what the JSON of a run has that stopped before it did anything
    let (made, stopped) = match &cli.command {
        Command::Plan(args) => return plan::run(run, args),
        Command::Apply(args) => (Ok(apply::run(run, args)), json!({})),
        Command::Validate(_) => validate::run(run),
        Command::SyncEvents(args) => (Ok(sync_events::run(run, args)), json!({})),
        Command::MarkEnrolled(args) => {
            let stopped = json!({ "marked": [], "already": [] });
            (mark_enrolled::run(run, args), stopped)
        }
        Command::Export(args) => (Ok(export::run(run, args)), json!({})),
        Command::Adopt(args) => (adopt::run(run, args), json!({ "adopted": [] })),
        Command::Drift(args) => (drift::run(run, args), json!({ "status": "error" })),
        Command::Access(args) => (access::run(run, args), json!({})),
        Command::Doctor(args) => (doctor::run(run, args), json!({})),
        Command::Init(args) => (init::run(run, args), json!({ "files": [] })),
        Command::Completions(args) => {
            let mut command = <Cli as clap::CommandFactory>::command();
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut command, "netbird-gitops", &mut script);
            let script = String::from_utf8_lossy(&script).into_owned();
            (Ok(Ending::done(Body::Text(script))), json!({}))
        }
        Command::Schema => {
            let schema = crate::check::schema::text();
            (Ok(Ending::done(Body::Text(schema))), json!({}))
        }
    };
    let ending = made.unwrap_or_else(|failure| Ending::stopped(failure, stopped));
    end(run, ending)
}

/// What a run says before it knows anything: a refusal stands in the same comment as a result.
fn blank(run: &Run) -> Document {
    Document {
        file: run.file_name(),
        environment: run.environment.clone(),
        ..Document::default()
    }
}

/// What a run says on stdout and in `--report`.
enum Body {
    /// A plan, or with `true` what an apply came to.
    Document(Box<Document>, bool),
    /// An answer for programs, and the same for people.
    Answer(Value, String),
    /// A text that is all that the command is for; no report is made of it.
    Text(String),
}

/// How a run ends.
struct Ending {
    body: Body,
    exit: Exit,
    /// Whether anything was written.
    changed: bool,
    /// Why it stopped.
    failure: Option<Failure>,
    /// What was to be posted and could not be: the error that comes last.
    unposted: Option<Failure>,
}

impl Ending {
    /// A run of a plan or an apply that came to its end, or stopped before it did anything.
    fn of(mut document: Document, came_to: Result<Exit, Failure>, applied: bool) -> Self {
        if let Err(failure) = &came_to {
            document.error = Some(failure.error.clone());
            document.hint.clone_from(&failure.hint);
            document.refused = failure.exit == Exit::Refused;
        }
        let changed = document.did_something();
        let mut ending = Ending::done(Body::Document(Box::new(document), applied));
        ending.changed = changed;
        match came_to {
            Ok(exit) => ending.exit = exit,
            Err(failure) => return ending.failed(failure),
        }
        ending
    }

    /// A command that did all it was to do, and wrote nothing.
    fn done(body: Body) -> Self {
        Ending {
            body,
            exit: Exit::Done,
            changed: false,
            failure: None,
            unposted: None,
        }
    }

    /// The same with an answer.
    fn answer(json: Value, text: String) -> Self {
        Ending::done(Body::Answer(json, text))
    }

    /// The same with a tree.
    fn shown(run: &Run, json: Value, tree: &Tree) -> Self {
        Ending::answer(json, shown(run, tree))
    }

    /// One that stopped before it did anything; `fields` are what its JSON has all the same.
    fn stopped(failure: Failure, mut fields: Value) -> Self {
        fields["format_version"] = json!(1);
        Ending::answer(fields, String::new()).failed(failure)
    }

    fn failed(mut self, failure: Failure) -> Self {
        self.exit = failure.exit;
        self.failure = Some(failure);
        self
    }

    /// A run that was to post something: one that leaves an older text as if it were new is no green run.
    fn posted(mut self, what: &str, posted: Result<(), Failure>) -> Self {
        let Err(failure) = posted else { return self };
        let mut failure = failure.within(what);
        failure.error += "; what it would say is in this log";
        self.exit = unreported(self.exit, self.changed);
        self.unposted = Some(failure);
        self
    }

    fn json(&self) -> String {
        match &self.body {
            Body::Document(document, applied) => {
                let mut document = document.clone();
                // nobody must take a result for one that people can see
                if let Some(Failure { error, hint, .. }) = &self.unposted {
                    let before = document.error.iter().map(|error| format!("{error}\n"));
                    document.error = Some(before.collect::<String>() + error);
                    document.hint = document.hint.take().or_else(|| hint.clone());
                }
                render::json::document(&document, *applied)
            }
            Body::Answer(json, _) => {
                let mut json = json.clone();
                if let Some(failure) = self.failure.as_ref().or(self.unposted.as_ref()) {
                    json["error"] = failure.json();
                }
                json::text(&json)
            }
            Body::Text(text) => text.clone(),
        }
    }

    /// Returns what stdout gets.
    fn text(&self, run: &Run) -> String {
        match &self.body {
            _ if run.cli.global.format == Format::Json => self.json(),
            Body::Document(document, applied) => shown(run, &render::tree(document, *applied)),
            Body::Answer(_, text) | Body::Text(text) => text.clone(),
        }
    }
}

/// Ends a run: writes to stdout and to `--report` what it came to, and says on stderr why it stopped.
fn end(run: &Run, ending: Ending) -> Exit {
    let say = run.say;
    let mut exit = ending.exit;
    let mut unwritten = Vec::new();
    if let Some(path) = run.cli.global.report.as_ref()
        && !matches!(ending.body, Body::Text(_))
    {
        unwritten.extend(write_report(path, &ending.json()).err());
    }
    unwritten.extend(print(say, &ending.text(run)).err());
    for failure in unwritten {
        exit = unreported(exit, ending.changed);
        say.error("error", &failure.error, None);
    }
    if let Some(failure) = &ending.failure {
        annotate(run, &failure.problems);
        say.error(exit.label(), &failure.error, failure.hint.as_deref());
    }
    if let Body::Document(document, applied) = &ending.body {
        // lines in lines; what is one line was just read
        if let Some(error) = document.error.as_ref().filter(|error| error.contains('\n'))
            && document.refused
            && *applied
        {
            say.refusal(error, document.hint.as_deref());
        }
        // beside JSON nothing else says them
        if run.cli.global.format == Format::Json && exit == Exit::Refused {
            say.text(&terminal::blocks(&render::ways_out(document)));
        }
    }
    // once the run has said the rest: where that is an error of its own, it is very likely the cause
    if let Some(Failure { error, hint, .. }) = &ending.unposted {
        say.error("error", error, hint.as_deref());
    }
    // the process ends now: to give back its memory piece by piece would take a tenth of a large plan's time
    std::mem::forget(ending);
    exit
}

/// Returns a tree as stdout gets it.
fn shown(run: &Run, tree: &Tree) -> String {
    if run.cli.global.format == Format::Markdown {
        return markdown::comment(tree, markdown::BUDGET);
    }
    let is_terminal = std::io::stdout().is_terminal();
    let color = use_color(run.cli.global.color, is_terminal, environment);
    terminal::text(tree, terminal::Color(color))
}

/// What is refused, with the numbers and the way out; `None` where nothing is.
fn refused(refusals: &[Refusal]) -> Option<Failure> {
    if refusals.is_empty() {
        return None;
    }
    let mut text = Vec::new();
    for refusal in refusals {
        text.push(refusal.text.clone());
        if !refusal.names.is_empty() {
            text.push(format!("  {}", visible(&listed(&refusal.names))));
        }
    }
    let mut hints: Vec<&str> = refusals.iter().map(|it| it.hint.as_str()).collect();
    hints.dedup();
    Some(Failure::refused(text.join("\n")).hint(hints.join("\n")))
}

/// How a run ends whose report or comment could not be written: 1 says that nothing changed, so it must be true.
fn unreported(exit: Exit, changed: bool) -> Exit {
    match exit {
        Exit::Refused | Exit::Partial => exit,
        Exit::Done | Exit::Error | Exit::Pending if changed => Exit::Partial,
        Exit::Done | Exit::Error | Exit::Pending => Exit::Error,
    }
}

/// Tells a runner where the file is wrong: one line each, which it may show at the file.
fn annotate(run: &Run, problems: &[(usize, usize, String)]) {
    if run.context.runner == Runner::None {
        return;
    }
    let file = run.file_name();
    let mut stderr = std::io::stderr().lock();
    for (line, column, message) in problems {
        let line = ci::annotation(&file, *line, *column, message);
        let _ = writeln!(stderr, "{}", masked(&line));
    }
}

/// Writes to stdout. A reader that is gone, such as `head`, is no error.
fn print(say: Say, text: &str) -> Result<(), Failure> {
    let text = say.harmless(text);
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes());
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let why = file_error(&error);
            Err(Failure::error(format!("cannot write to stdout: {why}")))
        }
        _ => Ok(()),
    }
}

fn write_report(path: &Path, text: &str) -> Result<(), Failure> {
    let is_file = fs::metadata(path).map_or(Ok(()), |found| files::is_file(&found));
    let file = is_file.and_then(|()| tempfile::NamedTempFile::new_in(files::folder_of(path)));
    let written = file.and_then(|mut file| {
        file.write_all(masked(text).as_bytes())?;
        file.persist(path).map(drop).map_err(|error| error.error)
    });
    written.map_err(|error| Failure::of_file("write the report", path, &error))
}
