//! Parses arguments, starts the log, runs, exits.

use std::process::ExitCode;

use clap::error::ErrorKind;
use netbird_gitops::cli::Cli;
use netbird_gitops::exit::Exit;
use netbird_gitops::{commands, logging};

fn main() -> ExitCode {
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(error) => {
            // clap's own code for wrong usage is 2, which means "changes are pending" here
            let wrong = error.use_stderr();
            match commands::unreadable_variables() {
                // clap does not say which argument or variable it is
                Some(text) if error.kind() == ErrorKind::InvalidUtf8 => eprintln!("error: {text}"),
                _ => drop(error.print()),
            }
            return if wrong { Exit::Error } else { Exit::Done }.into();
        }
    };
    let lookup = commands::environment;
    let say = logging::start(&cli.global, lookup);
    commands::run(&cli, say).into()
}
