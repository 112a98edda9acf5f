//! Parses arguments, starts the log, runs, exits.

use std::io;
use std::process::ExitCode;

use clap::error::ErrorKind;
use netbird_gitops::commands;
use netbird_gitops::commands::cli::Cli;
use netbird_gitops::commands::exit::Exit;
use netbird_gitops::commands::logging;

fn main() -> ExitCode {
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(error) => {
            // clap's own code for wrong usage is 2, which means "changes are pending" here
            let wrong = error.use_stderr();
            // clap does not say which argument or variable it is
            let unreadable =
                commands::unreadable_variables().or_else(commands::unreadable_arguments);
            let printed = match unreadable {
                Some(text) if error.kind() == ErrorKind::InvalidUtf8 => {
                    eprintln!("error: {text}");
                    Ok(())
                }
                _ => error.print(),
            };
            if error.kind() == ErrorKind::ArgumentConflict && error.to_string().contains("'--file")
            {
                eprintln!(
                    "hint: a run is about one file; two networks are two runs, each with its --environment"
                );
            }
            let is_lost = printed.is_err_and(|error| error.kind() != io::ErrorKind::BrokenPipe);
            return if wrong || is_lost {
                Exit::Error
            } else {
                Exit::Done
            }
            .into();
        }
    };
    let lookup = commands::environment;
    let say = logging::say(&cli.global, lookup);
    logging::start(say, &cli.global, lookup);
    commands::run(&cli, say).into()
}
