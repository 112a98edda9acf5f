//! What to do after `init`: numbered, with commands to copy.

use super::{Became, Checkout, Document, Network};
use crate::base::text::shell;
use crate::commands::setup::init::setup::Standing;
use crate::render::tree::Block;

/// One thing to do: a sentence, and commands.
struct Step {
    what: String,
    commands: Vec<String>,
}

fn step(what: impl Into<String>, commands: &[&str]) -> Step {
    Step {
        what: what.into(),
        commands: commands.iter().map(|&line| line.to_owned()).collect(),
    }
}

/// Returns the steps, numbered; that there are none is said, too.
pub(super) fn blocks(document: &Document) -> Vec<Block> {
    let steps = steps(document);
    if steps.is_empty() {
        return vec![Block::Paragraph("Nothing to do.".into())];
    }
    let steps = steps.into_iter().enumerate();
    let block = |(at, Step { what, commands }): (usize, Step)| {
        let what = Block::Paragraph(format!("{}. {what}", at + 1).into());
        let commands = (!commands.is_empty()).then(|| Block::Copy(commands.join("\n")));
        [what].into_iter().chain(commands)
    };
    steps.flat_map(block).collect()
}

fn steps(document: &Document) -> Vec<Step> {
    let mut steps = Vec::new();
    if document.dry_run {
        if document.writes() || document.has(Standing::Make) {
            steps.push(step("Do it: the same command without --dry-run.", &[]));
        }
        steps.extend(differing(document));
        return steps;
    }
    steps.extend(differing(document));
    let changed = document.writes();
    let begins = document.network != Network::Theirs || has_new_workflows(document);
    let is_new = changed && begins;
    let waits = document.has(Standing::Later);
    if is_new {
        steps.extend(beginning(document));
    }
    steps.extend(settings(document, is_new));
    match is_new || waits {
        true => steps.push(first_push(document)),
        false if changed => steps.push(update(document)),
        false => {}
    }
    if waits || is_new && document.repository.is_none() {
        steps.push(step(
            "Once that is pushed, protect the branch: the bot alone may push to it.",
            &[&init(document, " --setup")],
        ));
    }
    if let Some(first) = steps.first_mut()
        && !document.directory.is_empty()
    {
        first
            .commands
            .insert(0, format!("cd {}", shell(&document.directory)));
    }
    steps
}

/// Are all the workflows new? Then nothing was set up yet, though the network may be there.
fn has_new_workflows(document: &Document) -> bool {
    let mut files = document.files.iter();
    files.all(|file| file.became == Became::Written || !file.path.ends_with(".yml"))
}

fn differing(document: &Document) -> Option<Step> {
    let paths: Vec<&str> = document.paths(Became::Differs).collect();
    let what = match paths[..] {
        [] => return None,
        [path] if path == crate::commands::setup::init::IGNORE => {
            ".gitignore lacks lines of ours. To add them, and leave yours as they are:"
        }
        _ => {
            "What differs was left alone. To add each line with a + and drop each with a -, and keep all others:"
        }
    };
    Some(step(what, &[&init(document, " --force")]))
}

/// This command again, for the same network.
fn init(document: &Document, more: &str) -> String {
    format!("netbird-gitops init{more}{}", document.options)
}

/// From a directory to a file that may be pushed.
fn beginning(document: &Document) -> Vec<Step> {
    let mut steps = Vec::new();
    let remote = "git remote add origin https://git.example.com/OWNER/NAME.git";
    match document.checkout {
        Checkout::Pushed => {}
        Checkout::Alone => steps.push(step(
            "Make an empty, private repository, and say where it is:",
            &[remote],
        )),
        Checkout::None => steps.push(step(
            "Make an empty, private repository, and make this directory its checkout:",
            &["git init -b main", remote],
        )),
    }
    if document.network == Network::Minimal {
        steps.push(step(
            format!(
                "{} is an example. Write your own, or begin with the account as it is (the token of a service user, role auditor):",
                document.file
            ),
            &[
                &format!("rm {}", shell(&document.file)),
                "export NETBIRD_API_URL=https://netbird.example.com NETBIRD_API_TOKEN=nbp_…",
                &init(document, ""),
            ],
        ));
    }
    let token = match &document.network {
        Network::Exported {
            token: Some(variable),
            ..
        } => format!("{}=\"${variable}\" ", variable.replace("PLAN", "API")),
        _ => String::new(),
    };
    let options = &document.options;
    steps.push(step(
        "See that it is valid, and that a plan is what you expect:",
        &[
            &format!("netbird-gitops validate{options}"),
            &format!("{token}netbird-gitops plan{options}"),
        ],
    ));
    steps
}

/// Secrets and variables: all of them, or what a set-up left open.
fn settings(document: &Document, is_new: bool) -> Option<Step> {
    if document.lacks_settings() {
        return Some(step(
            "Give what is missing above, and set the rest up:",
            &[&init(document, " --setup")],
        ));
    }
    if document.repository.is_some() || !is_new {
        return None;
    }
    let place = match &document.remote {
        Some(remote) if remote.server.is_some() => "export GITEA_TOKEN=…",
        Some(_) => "export GITEA_URL=https://git.example.com GITEA_TOKEN=…",
        None => "export GITEA_URL=https://git.example.com GITEA_REPO=OWNER/NAME GITEA_TOKEN=…",
    };
    Some(step(
        "Make the tokens (docs/gitea.md, steps 1 to 4), and store them in the repository. NAME_FILE=PATH in the place of NAME \
         keeps a token out of the shell's history. GITEA_TOKEN is yours, as the repository's owner, with the scope \
         write:repository; revoke it afterwards:",
        &[
            "export NETBIRD_API_URL=https://netbird.example.com AGE_PUBLIC_KEY=age1…",
            "export NETBIRD_PLAN_TOKEN=nbp_… NETBIRD_APPLY_TOKEN=nbp_… BOT_TOKEN=…",
            "export NETBIRD_GITOPS_BINARY=https://… NETBIRD_GITOPS_SHA256=…",
            place,
            &init(document, " --setup"),
        ],
    ))
}

fn first_push(document: &Document) -> Step {
    // the branch of the first network is protected by now
    let is_first = document.options.is_empty();
    let (push, branch) = match is_first {
        true => ("Push. The", None),
        false => (
            "Push a branch, and merge it. The",
            Some("git switch -c another-network"),
        ),
    };
    let add = add(document.files.iter().map(|file| file.path.as_str()));
    let commands = [
        &*add,
        "git commit -m \"The network as it is\"",
        if is_first {
            "git push origin HEAD:main"
        } else {
            "git push -u origin HEAD"
        },
    ];
    step(
        format!(
            "{push} first apply starts at once; where the file is the account as it is, it adopts all of it and changes \
             nothing in NetBird:"
        ),
        &branch.into_iter().chain(commands).collect::<Vec<_>>(),
    )
}

/// The branch is protected by now.
fn update(document: &Document) -> Step {
    let version = env!("CARGO_PKG_VERSION");
    let commit = format!("git commit -m \"Workflows of netbird-gitops {version}\"");
    let written = document.paths(Became::Written);
    step(
        "Look at what changed, and open a pull request:",
        &[
            "git diff",
            "git switch -c netbird-gitops-update",
            &add(written.chain(document.paths(Became::Overwritten))),
            &commit,
            "git push -u origin HEAD",
        ],
    )
}

/// The command that adds these files, each directory once.
fn add<'a>(files: impl Iterator<Item = &'a str>) -> String {
    let mut paths: Vec<&str> = Vec::new();
    for path in files {
        let path = path
            .rsplit_once('/')
            .map_or(path, |(directory, _)| directory);
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    format!("git add {}", paths.join(" "))
}
