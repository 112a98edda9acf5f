//! Whether the command line is what its help says.

use clap::CommandFactory;

use super::Cli;

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn each_command_has_examples_that_parse_and_are_its_own() {
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        let help = command.clone().render_help().to_string();
        let (_, examples) = help
            .split_once("\nExample")
            .unwrap_or_else(|| panic!("{name}"));
        // a pipe or a redirection is the shell's
        let lines = examples
            .lines()
            .filter_map(|line| line.split_once("netbird-gitops "));
        let lines: Vec<&str> = lines.map(|(_, rest)| rest).collect();
        assert!(!lines.is_empty(), "{name}");
        for line in lines {
            let words = line.split_whitespace();
            let ours = words.take_while(|word| !["|", ">", "#"].contains(word));
            let words = std::iter::once("netbird-gitops").chain(ours);
            let words: Vec<String> = words.map(|word| word.replace('"', "")).collect();
            let parsed = Cli::command().try_get_matches_from(&words);
            let parsed = parsed.unwrap_or_else(|error| panic!("{line}: {error}"));
            assert_eq!(parsed.subcommand_name(), Some(name), "{line}");
        }
    }
}
