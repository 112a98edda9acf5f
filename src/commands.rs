//! The commands: each names the stages of its run in order. Files, environment, network, stdout and stderr are touched
//! from here; the stages are pure.

mod apply;
mod plan;
mod session;
mod validate;

use std::io::{IsTerminal, Write};
use std::path::Path;

use crate::cli::{Cli, Command, Format};
use crate::exit::Exit;
use crate::logging::{Say, use_color};
use crate::render::{Document, Status, json, markdown, terminal};

pub use session::environment;

/// Runs the command and returns how it ended.
pub fn run(cli: &Cli, say: Say) -> Exit {
    match &cli.command {
        Command::Validate => validate::run(cli, say),
        Command::Plan(args) => plan::run(cli, args, say),
        Command::Apply(args) => apply::run(cli, args, say),
    }
}

/// How a run ends: the document that stdout gets, and the exit code.
struct Ending {
    document: Document,
    exit: Exit,
    applied: bool,
}

/// Writes the document to stdout and to `--report`, and says the error on stderr.
fn end(cli: &Cli, say: Say, ending: Ending) -> Exit {
    let Ending {
        document,
        mut exit,
        applied,
    } = ending;
    if report(cli, &json::document(&document, applied), say) != Exit::Done {
        exit = unreported(exit, &document);
    }
    let color = use_color(
        cli.global.color,
        std::io::stdout().is_terminal(),
        environment,
    );
    let text = match cli.global.format {
        Format::Json => json::document(&document, applied),
        Format::Markdown => markdown::document(&document, applied, markdown::BUDGET),
        Format::Text if applied => terminal::applied(&document, terminal::Color(color)),
        Format::Text => terminal::plan(&document, terminal::Color(color)),
    };
    print(&text);
    if let Some(error) = &document.error {
        let label = if exit == Exit::Refused {
            "refused"
        } else {
            "error"
        };
        say.error(label, error, document.hint.as_deref());
    }
    exit
}

/// Writes the JSON to `--report`, if that was asked for; says why it cannot be written.
fn report(cli: &Cli, json: &str, say: Say) -> Exit {
    let Some(path) = &cli.global.report else {
        return Exit::Done;
    };
    match write_report(path, json) {
        Ok(()) => Exit::Done,
        Err(error) => {
            let text = format!("cannot write the report {}: {error}", path.display());
            say.error("error", &text, None);
            Exit::Error
        }
    }
}

/// How a run ends whose report could not be written: 1 says that nothing changed, so it must be true.
fn unreported(exit: Exit, document: &Document) -> Exit {
    let changed = document
        .statuses
        .iter()
        .any(|status| matches!(status, Status::Success | Status::Failed(_)));
    match exit {
        Exit::Refused | Exit::Partial => exit,
        Exit::Done | Exit::Error | Exit::Pending if changed => Exit::Partial,
        Exit::Done | Exit::Error | Exit::Pending => Exit::Error,
    }
}

/// Writes to stdout. A reader that has gone away, such as `head`, is no error.
fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
}

fn write_report(path: &Path, text: &str) -> std::io::Result<()> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(parent.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map(drop).map_err(|error| error.error)
}
