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
pub(crate) mod setup;
mod signals;
mod sync_events;
mod validate;
mod versions;

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::base::files;
use crate::base::json;
use crate::base::mask::masked;
use crate::base::text::{file_error, obedient_to_us, visible};
use crate::commands::cli::{Cli, Command, Format};
use crate::commands::exit::Exit;
use crate::commands::logging::{Say, use_color};
use crate::forge::ci::{self, Context, Runner};
use crate::plan::gates::Refusal;
use crate::render::{self, Document, markdown, terminal};

pub use settings::{environment, unreadable_arguments, unreadable_variables};

/// Runs the command and returns how it ended.
pub fn run(cli: &Cli, say: Say) -> Exit {
    match &cli.command {
        Command::Validate(_) => validate::run(cli, say),
        Command::Plan(args) => plan::run(cli, args, say),
        Command::Apply(args) => apply::run(cli, args, say),
        Command::SyncEvents(args) => sync_events::run(cli, args, say),
        Command::MarkEnrolled(args) => mark_enrolled::run(cli, args, say),
        Command::Export(args) => export::run(cli, args, say),
        Command::Adopt(args) => adopt::run(cli, args, say),
        Command::Drift(args) => drift::run(cli, args, say),
        Command::Access(args) => access::run(cli, args, say),
        Command::Doctor(args) => doctor::run(cli, args, say),
        Command::Init(args) => init::run(cli, args, say),
        Command::Completions(args) => {
            let mut command = <Cli as clap::CommandFactory>::command();
            let name = command.get_name().to_owned();
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut command, name, &mut script);
            printed(&String::from_utf8_lossy(&script), say)
        }
        Command::Schema => printed(&crate::check::schema::text(), say),
    }
}

/// What a run says before it knows anything: a refusal stands in the same comment as a result.
fn blank(cli: &Cli) -> Document {
    Document {
        file: settings::file(&cli.global).display().to_string(),
        environment: settings::environment_name(&cli.global),
        ..Document::default()
    }
}

/// How a run ends: the document that stdout gets, and the exit code.
struct Ending {
    document: Document,
    exit: Exit,
    applied: bool,
}

impl Ending {
    /// A run that came to its end, or stopped before it did anything.
    fn of(mut document: Document, came_to: Result<Exit, failure::Failure>, applied: bool) -> Self {
        let exit = came_to.unwrap_or_else(|failure| {
            document.error = Some(failure.error);
            document.hint = failure.hint;
            document.refused = failure.exit == Exit::Refused;
            document.problems = failure.problems;
            failure.exit
        });
        Ending {
            document,
            exit,
            applied,
        }
    }
}

/// Writes the document to stdout and to `--report`, and says the error on stderr.
fn end(cli: &Cli, say: Say, ending: Ending) -> Exit {
    let Ending {
        document,
        mut exit,
        applied,
    } = ending;
    if !report(cli, || render::json::document(&document, applied), say) {
        exit = unreported(exit, document.did_something());
    }
    let text = match cli.global.format {
        Format::Json => render::json::document(&document, applied),
        Format::Markdown => markdown::document(&document, applied, markdown::BUDGET),
        Format::Text if applied => terminal::applied(&document, color(cli)),
        Format::Text => terminal::plan(&document, color(cli)),
    };
    if let Err(failure) = print(&text) {
        exit = unreported(exit, document.did_something());
        report_failure(say, failure);
    }
    annotate(&document.file, &document.problems);
    if let Some(error) = &document.error {
        say.error(exit.label(), error, document.hint.as_deref());
        // lines in lines; what is one line was just read
        if document.refused && applied && error.contains('\n') {
            say.refusal(error, document.hint.as_deref());
        }
    }
    // beside JSON nothing else says them
    if cli.global.format == Format::Json && exit == Exit::Refused {
        say.text(&terminal::ways_out(&document));
    }
    exit
}

/// Whether stdout gets colour.
fn color(cli: &Cli) -> terminal::Color {
    let is_terminal = std::io::stdout().is_terminal();
    terminal::Color(use_color(cli.global.color, is_terminal, environment))
}

/// What is refused, with the numbers and the way out; `None` where nothing is.
fn refused(refusals: &[Refusal]) -> Option<failure::Failure> {
    if refusals.is_empty() {
        return None;
    }
    let mut text = Vec::new();
    for refusal in refusals {
        text.push(refusal.text.clone());
        if !refusal.names.is_empty() {
            let shown: Vec<&str> = refusal.names.iter().take(10).map(String::as_str).collect();
            let more = match refusal.names.len().saturating_sub(10) {
                0 => String::new(),
                _ => format!(", … (all {} with --format json)", refusal.names.len()),
            };
            text.push(format!("  {}{more}", visible(&shown.join(", "))));
        }
    }
    let mut hints: Vec<String> = refusals
        .iter()
        .map(|refusal| refusal.hint.clone())
        .collect();
    hints.dedup();
    Some(failure::Failure::refused(text.join("\n")).hint(hints.join("\n")))
}

/// Writes the JSON to `--report`, if that was asked for; says why it cannot be written, and returns whether all is well.
fn report(cli: &Cli, json: impl FnOnce() -> String, say: Say) -> bool {
    let Some(path) = &cli.global.report else {
        return true;
    };
    let written = write_report(path, &json());
    if let Err(failure) = &written {
        say.error("error", &failure.error, None);
    }
    written.is_ok()
}

/// What a command came to that makes no plan.
struct Said {
    /// For programs.
    json: Value,
    /// For people.
    text: String,
    exit: Exit,
    /// Whether anything was written.
    changed: bool,
    /// Why it stopped.
    failure: Option<failure::Failure>,
}

impl Said {
    /// A command that did all it was to do, and wrote nothing.
    fn done(json: Value, text: String) -> Said {
        Said {
            json,
            text,
            exit: Exit::Done,
            changed: false,
            failure: None,
        }
    }

    /// One that stopped before it did anything; `fields` are what its JSON has all the same.
    fn failed(failure: failure::Failure, mut fields: Value) -> Said {
        fields["format_version"] = json!(1);
        Said {
            exit: failure.exit,
            failure: Some(failure),
            ..Said::done(fields, String::new())
        }
    }
}

/// Writes to stdout and to `--report` what a command came to, and says the error on stderr.
fn finish(cli: &Cli, say: Say, said: Said) -> Exit {
    let mut json = said.json;
    if let Some(failure) = &said.failure {
        json["error"] = failure.json();
    }
    let json = json::text(&json);
    let is_reported = report(cli, || json.clone(), say);
    let printed = match cli.global.format {
        Format::Json => print(&json),
        Format::Text | Format::Markdown => print(&said.text),
    };
    let is_printed = printed
        .map_err(|failure| report_failure(say, failure))
        .is_ok();
    let exit = match is_reported && is_printed {
        true => said.exit,
        false => unreported(said.exit, said.changed),
    };
    if let Some(failure) = said.failure {
        let file = settings::file(&cli.global);
        annotate(&file.display().to_string(), &failure.problems);
        report_failure(say, failure);
    }
    exit
}

/// Ends a run that was to post a comment: one that leaves an older comment as if it were new is no green run.
fn end_posted(
    cli: &Cli,
    say: Say,
    mut ending: Ending,
    posted: Result<(), failure::Failure>,
) -> Exit {
    if posted.is_err() {
        ending.exit = unreported(ending.exit, ending.document.did_something());
    }
    let exit = end(cli, say, ending);
    // once the run has said the rest: where that is an error of its own, it is very likely the cause
    if let Err(failure::Failure { error, hint, .. }) = posted {
        let text = format!("cannot comment: {error}; what it would say is in this log");
        say.error("error", &text, hint.as_deref());
    }
    exit
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
fn annotate(file: &str, problems: &[(usize, usize, String)]) {
    if Context::of_process().runner == Runner::None {
        return;
    }
    let mut stderr = std::io::stderr().lock();
    for (line, column, message) in problems {
        let line = ci::annotation(file, *line, *column, message);
        let _ = writeln!(stderr, "{}", masked(&line));
    }
}

/// Writes to stdout, without secrets, and without what others could order a terminal to do. A reader that has gone away, such
/// as `head`, is no error. A runner takes lines that begin with `::` or `##[` as commands, so in a job no line of ours does.
fn print(text: &str) -> Result<(), failure::Failure> {
    let text = masked(text);
    let text = obedient_to_us(&text);
    let in_job = environment("CI").is_some();
    let text = match in_job {
        true => ci::safe_line(&text),
        false => text,
    };
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes());
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let why = file_error(&error);
            Err(failure::Failure::error(format!(
                "cannot write to stdout: {why}"
            )))
        }
        _ => Ok(()),
    }
}

/// Writes to stdout what a command is for; its exit code.
fn printed(text: &str, say: Say) -> Exit {
    match print(text) {
        Ok(()) => Exit::Done,
        Err(failure) => report_failure(say, failure),
    }
}

fn write_report(path: &Path, text: &str) -> Result<(), failure::Failure> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let is_file = match std::fs::metadata(path) {
        Ok(found) => files::is_file(&found),
        Err(_) => Ok(()), // not there yet
    };
    let file =
        is_file.and_then(|()| tempfile::NamedTempFile::new_in(parent.unwrap_or(Path::new("."))));
    let written = file.and_then(|mut file| {
        file.write_all(masked(text).as_bytes())?;
        file.persist(path).map(drop).map_err(|error| error.error)
    });
    written.map_err(|error| failure::Failure::of_file("write the report", path, &error))
}

/// Says why a command without a document stopped.
fn report_failure(say: Say, failure: failure::Failure) -> Exit {
    say.error(
        failure.exit.label(),
        &failure.error,
        failure.hint.as_deref(),
    );
    failure.exit
}
