//! docs/cli.md is made of what the program takes: `SNAPSHOTS=overwrite cargo test --test it cli_page` writes it anew.

use std::fmt::Write;

use clap::{Arg, Command, CommandFactory};
use netbird_gitops::commands::cli::Cli;
use snapbox::{assert_data_eq, file};

const HEAD: &str = "\
# The command line

Made of the program's own texts, which `--help` shows too; `SNAPSHOTS=overwrite cargo test --test it cli_page` writes this page again.
A flag goes before its variable, and an empty variable is an unset one. Tokens are never flags: arguments show in `ps`.

On a laptop:

    cargo install --locked --path .      # in a clone of this repository; or a binary of a release
    export NETBIRD_API_URL=https://netbird.example.com
    export NETBIRD_API_TOKEN=nbp_…       # of a service user: role auditor for plan, admin for apply
    export AGE_PUBLIC_KEY=age1…          # who may read new setup keys; several: one a line
    netbird-gitops validate
    netbird-gitops plan
    netbird-gitops apply

An apply stops at the first failure, says what is done, failed, not known and not tried, and continues from there when it is run again.
Afterwards it fetches and plans once more: the plan must be empty.
It shows the plan and asks at a terminal, unless `--yes` is given; in a job, and where there is no terminal, it never asks.

`--format text|markdown|json` chooses what stdout carries; everything else is on stderr, as JSON lines where `CI` is set. At a terminal a
line shows what an apply is at; in a job each operation has a line of its own. `--report FILE` writes the JSON result too, before the
first write and after each step, so that a killed run leaves it.

Requests go through the proxy that `https_proxy`, `HTTPS_PROXY`, `all_proxy` or `ALL_PROXY` names, the first that is set (`http://HOST:PORT`,
also with `USER:PASSWORD@`, or `socks5://HOST:PORT`), but for this machine itself and for what `no_proxy` or `NO_PROXY` lists: a name
with all below it, `HOST:PORT`, an address, a network such as `10.0.0.0/8` for addresses in the URL, `*` for all. An error says which
proxy the request went through. `SSL_CERT_FILE` takes the place of the system's CAs.
";

/// One row of a table: what a cell must not hold is escaped.
fn row(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// How an option is written: `-f, --file PATH`, `NAME…`.
fn spelling(arg: &Arg) -> String {
    let takes = arg.get_action().takes_values();
    let names = arg.get_value_names().unwrap_or_default().iter();
    let value = names.map(|name| format!("<{name}>")).collect::<Vec<_>>();
    let value = value.join(" ");
    let Some(long) = arg.get_long() else {
        return format!("`{value}`");
    };
    let short = arg.get_short().map(|short| format!("-{short}, "));
    let value = if takes {
        format!(" {value}")
    } else {
        String::new()
    };
    format!("`{}--{long}{value}`", short.unwrap_or_default())
}

/// What an option is for, its values, what it is without being said, and its variable.
fn about(arg: &Arg) -> String {
    let text = arg.get_long_help().or(arg.get_help());
    let mut text = text.map(ToString::to_string).unwrap_or_default();
    // a name of another thing, in angle brackets, would be a tag
    text = text
        .replace('<', "`<")
        .replace('>', ">`")
        .replace('\n', " ");
    let values = arg.get_possible_values();
    if arg.get_action().takes_values() && !values.is_empty() {
        let values = values.iter().map(|value| {
            let help = value.get_help().map(|help| format!(" ({help})"));
            format!("`{}`{}", value.get_name(), help.unwrap_or_default())
        });
        let _ = write!(text, ": {}", values.collect::<Vec<_>>().join(", "));
    }
    if let Some(variable) = arg.get_env() {
        let _ = write!(text, " [`{}`]", variable.to_string_lossy());
    }
    let default = arg.get_default_values().first();
    if let Some(default) = default.filter(|_| arg.get_action().takes_values()) {
        let _ = write!(text, " [default: {}]", default.to_string_lossy());
    }
    text
}

fn table(command: &Command, global: bool) -> String {
    let mut text = String::new();
    let args = command
        .get_arguments()
        .filter(|arg| arg.is_global_set() == global && !arg.is_hide_set());
    let args: Vec<&Arg> = args
        .filter(|arg| !["help", "version"].contains(&arg.get_id().as_str()))
        .collect();
    if args.is_empty() {
        return text;
    }
    text.push_str("\n| option | what |\n| --- | --- |\n");
    for arg in args {
        text.push_str(&row(&[spelling(arg), about(arg)]));
    }
    text
}

fn page() -> String {
    let mut root = Cli::command();
    root.build();
    let mut text = HEAD.to_owned();
    let commands = root
        .get_subcommands()
        .filter(|command| command.get_name() != "help" && !command.is_hide_set());
    for command in commands {
        let mut command = command.clone();
        let usage = command.render_usage().to_string();
        let usage = usage
            .trim_start_matches("Usage: ")
            .lines()
            .map(|line| format!("    {}\n", line.trim()));
        let usage: String = usage.collect();
        let about = command.get_long_about().or(command.get_about()).unwrap();
        let _ = write!(
            text,
            "\n## {}\n\n{about}.\n\n{usage}{}",
            command.get_name(),
            table(&command, false)
        );
        if let Some(after) = command.get_after_long_help().or(command.get_after_help()) {
            let lines = after.to_string();
            let lines = lines
                .lines()
                .map(|line| format!("    {line}").trim_end().to_owned());
            let _ = write!(text, "\n{}\n", lines.collect::<Vec<_>>().join("\n"));
        }
    }
    let _ = write!(text, "\n## Every command\n{}", table(&root, true));
    let _ = write!(text, "\n{}\n", root.get_after_help().unwrap());
    text
}

#[test]
fn the_page_is_what_the_program_takes() {
    assert_data_eq!(page(), file!["../../docs/cli.md"].raw());
}
