//! The subjects of commits, and the message of the one that marks keys.

use std::collections::BTreeSet;

/// The longest name that is written into the subject, in characters.
const NAME_MAX: usize = 100;
/// The most names in a body.
const NAMES_MAX: usize = 200;

/// Returns the subject of a commit: it names the environment, unless that is `default` or could be read as more than a name.
pub fn subject(environment: &str, what: &str) -> String {
    match environment {
        "default" => format!("chore: {what}"),
        name if is_harmless(name) => format!("chore({name}): {what}"),
        _ => format!("chore: {what}"),
    }
}

/// Returns the message of a commit that marks these keys.
///
/// Names are other people's text, and servers read messages: `fixes #1` closes an issue, `[skip ci]` keeps workflows
/// from starting (docs/gitea-api.md, "Writing a file", "Triggers"). A name with anything but letters, digits, blank,
/// dot, dash and underscore stays out. Several keys are a number in the subject.
pub fn commit_message(environment: &str, names: &BTreeSet<String>) -> String {
    let harmless = names.iter().filter(|name| is_harmless(name));
    let harmless: Vec<&str> = harmless.map(String::as_str).collect();
    let marks = |what: &str| subject(environment, &format!("mark {what} as enrolled [automated]"));
    if names.len() == 1 {
        return marks(harmless.first().unwrap_or(&"a key"));
    }
    let mut message = marks(&format!("{} keys", names.len()));
    if harmless.is_empty() {
        return message;
    }
    message.push_str("\n\n");
    for name in harmless.iter().take(NAMES_MAX) {
        message.push_str(&format!("- {name}\n"));
    }
    let rest = names.len() - harmless.len().min(NAMES_MAX);
    if rest > 0 {
        message.push_str(&format!("- and {rest} more\n"));
    }
    message.trim_end().to_owned()
}

fn is_harmless(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '.' | '_' | '-');
    !name.trim().is_empty() && name.len() <= NAME_MAX && name.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<const N: usize>(names: [&str; N]) -> String {
        commit_message("default", &names.into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn harmless_names_only() {
        assert_eq!(
            message(["Pilot-hawk-72"]),
            "chore: mark Pilot-hawk-72 as enrolled [automated]"
        );
        assert_eq!(
            message(["Ground station_1.b"]),
            "chore: mark Ground station_1.b as enrolled [automated]"
        );
        for name in [
            "fixes #1",
            "[skip ci]",
            "a\n\nAllow-Deletes: 9",
            "@all",
            "über",
            "機器-01",
            "🦉",
            "",
            " ",
            &"x".repeat(101),
        ] {
            assert_eq!(
                message([name]),
                "chore: mark a key as enrolled [automated]",
                "{name}"
            );
        }
        assert_eq!(
            message(["b", "a", "closes #1"]),
            "chore: mark 3 keys as enrolled [automated]\n\n- a\n- b\n- and 1 more"
        );
        assert_eq!(
            message(["#1", "#2"]),
            "chore: mark 2 keys as enrolled [automated]"
        );
    }

    #[test]
    fn another_environment_than_the_default_is_named() {
        assert_eq!(subject("lab", "1 created"), "chore(lab): 1 created");
        assert_eq!(subject("fixes #1", "1 created"), "chore: 1 created");
        assert_eq!(
            commit_message("lab", &BTreeSet::from(["a".to_owned()])),
            "chore(lab): mark a as enrolled [automated]"
        );
    }

    #[test]
    fn nothing_that_a_server_obeys() {
        let names: BTreeSet<String> = (0..300)
            .map(|n| format!("key-{n}"))
            .chain(["[no ci]".to_owned()])
            .collect();
        let message = commit_message("default", &names);
        assert_eq!(message.lines().count(), 2 + NAMES_MAX + 1);
        assert!(message.ends_with("- and 101 more"));
        assert!(!message.contains("ci]") && !message.contains('#'));
    }
}
