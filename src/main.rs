//! Parses arguments, starts the log, runs, exits.

use std::io;
use std::process::ExitCode;

use clap::error::ErrorKind;
use netbird_gitops::commands::cli::Cli;
use netbird_gitops::commands::{self, Exit, logging};

fn main() -> ExitCode {
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(error) => return no_command(&error).into(),
    };
    let lookup = commands::environment;
    let say = logging::say(&cli.global, lookup);
    logging::start(say, &cli.global, lookup);
    commands::run(&cli, say).into()
}

/// Prints help, or what is wrong with the arguments.
fn no_command(error: &clap::Error) -> Exit {
    // clap does not say which argument or variable it is
    let unreadable = commands::unreadable_variables().or_else(commands::unreadable_arguments);
    if let Some(text) = unreadable.filter(|_| error.kind() == ErrorKind::InvalidUtf8) {
        eprintln!("error: {text}");
        return Exit::Error;
    }
    let printed = error.print();
    if error.kind() == ErrorKind::ArgumentConflict && error.to_string().contains("'--file") {
        let hint =
            "a run is about one file; two networks are two runs, each with its --environment";
        eprintln!("hint: {hint}");
    }
    let is_lost = printed.is_err_and(|error| error.kind() != io::ErrorKind::BrokenPipe);
    // clap's own code for wrong usage is 2, which means "changes are pending" here
    match error.use_stderr() || is_lost {
        true => Exit::Error,
        false => Exit::Done,
    }
}
