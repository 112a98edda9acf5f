//! `init`: what a repository needs, written into its checkout, and with `--setup` into its settings.
//!
//! All that can refuse the run is looked at before the first write: what is in the way, the account, the forge.

mod setup;
mod tree;

use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::json;

use super::failure::Failure;
use super::session::check;
use super::settings::{Run, connect_as, environment, find_token, readable, setting};
use super::{Ending, end, export};
use crate::commands::cli::{ForgeName, InitArgs};
use crate::commands::exit::Exit;
use crate::commands::logging::Say;
use crate::commands::setup::init::remote;
use crate::commands::setup::init::render::{
    self as render, Became, Checkout, Document, File, Network as Origin, Note, Repository,
};
use crate::commands::setup::init::{
    BRANCH, NETWORK, Network, OF_FORGEJO, OF_GITEA, OF_GITHUB, Variant, WantedFile, files,
};
use crate::file::Source;
use crate::git::{Git, Opened};
use setup::Setup;
use tree::{InTheWay, Tree};

pub(super) fn run(run: &Run, args: &InitArgs) -> Exit {
    let say = run.say;
    let (mut document, tree, setup) = match prepare(run, args, say) {
        Ok(prepared) => prepared,
        Err(failure) => {
            let ending = Ending::stopped(failure, json!({ "files": [] }));
            return end(run, ending);
        }
    };
    let failure = match args.dry_run {
        true => None,
        false => carry_out(&mut document, &tree, setup.as_ref(), say).err(),
    };
    document.failed = failure.is_some();
    let settings = document.repository.as_ref();
    let changed =
        !document.dry_run && (document.writes() || settings.is_some_and(Repository::changed));
    let exit = match &failure {
        Some(_) if changed => Exit::Partial,
        Some(failure) => failure.exit,
        None if document.paths(Became::Differs).next().is_some() || document.lacks_settings() => {
            Exit::Pending
        }
        None => Exit::Done,
    };
    let ending = Ending {
        exit,
        changed,
        failure,
        ..Ending::shown(render::json(&document), render::tree(&document))
    };
    end(run, ending)
}

/// Decides what is to be done, and does nothing yet.
fn prepare(
    run: &Run,
    args: &InitArgs,
    say: Say,
) -> Result<(Document, Tree, Option<Setup>), Failure> {
    readable()?;
    let network = network(run)?;
    let (root, there) = root(args)?;
    let git = checkout(&root, &there, args)?;
    let origin = git.as_ref().and_then(Git::origin);
    let tree = Tree::new(root);
    let (choice, read) = choice(args, &network, &tree);
    let mut found = look(&tree, &files(choice, &network, None, &read), args.force)?;
    let remote = origin.as_deref().and_then(remote::read);
    let setup = match args.setup {
        true => Some(Setup::prepare(args, &network, remote.as_ref())?),
        false => None,
    };
    let mut notes = notes(choice, &found, &tree, git.as_ref(), setup.as_ref());
    let is_new = found[0].became == Became::Written;
    let origin_of_network = match is_new {
        true => match exported(args, say)? {
            None => Origin::Minimal,
            Some(ExportedAccount { objects: 0, .. }) => {
                notes.push(Note::EmptyAccount);
                Origin::Minimal
            }
            Some(account) => {
                let files = files(choice, &network, Some(&account.text), &read);
                found[0] = look(&tree, &files[..1], false)?.swap_remove(0);
                Origin::Exported {
                    server: account.server,
                    objects: account.objects,
                    token: account.token,
                }
            }
        },
        false => Origin::Theirs,
    };
    if let Some(text) = &found[0].text {
        valid(text)?;
    }
    let document = Document {
        directory: args
            .dir
            .as_ref()
            .map_or(String::new(), |dir| dir.display().to_string()),
        dry_run: args.dry_run,
        failed: false,
        files: found,
        network: origin_of_network,
        notes,
        repository: setup.as_ref().map(|setup| Repository {
            name: setup.name(),
            server: setup.server.clone(),
            deeds: setup.deeds.clone(),
            done: 0,
        }),
        checkout: match (&git, origin) {
            (None, _) => Checkout::None,
            (Some(_), None) => Checkout::Alone,
            (Some(_), Some(_)) => Checkout::Pushed,
        },
        remote,
        options: network.options(),
        file: network.file,
    };
    drop(read);
    Ok((document, tree, setup))
}

/// Writes; `document` tells what became of it, also where it stops.
fn carry_out(
    document: &mut Document,
    tree: &Tree,
    setup: Option<&Setup>,
    say: Say,
) -> Result<(), Failure> {
    for (at, file) in document.files.iter().enumerate() {
        let written = match &file.text {
            None => Ok(()),
            Some(text) if file.became == Became::Written => tree.create(&file.path, text),
            Some(text) => tree.overwrite(&file.path, text),
        };
        if let Err(error) = written {
            let failure = Failure::of_file("write", &tree.root().join(&file.path), &error);
            document.files.truncate(at);
            return Err(
                failure.hint("run init again: what is written stays, and counts as unchanged")
            );
        }
    }
    if let (Some(setup), Some(repository)) = (setup, &mut document.repository) {
        let result;
        (repository.done, result) = setup.carry_out(say);
        let again = "then run init --setup again: what is set is left alone";
        result.map_err(|failure| failure.aside(Some(again.to_owned())))?;
    }
    Ok(())
}

/// Returns the repository's root, canonical as far as it is there, and how far that is: the rest is made with the first file.
fn root(args: &InitArgs) -> Result<(PathBuf, PathBuf), Failure> {
    let dir = args.dir.as_deref().unwrap_or(Path::new("."));
    let unopened = |error| Failure::of_file("open the directory", dir, &error);
    let absolute = std::path::absolute(dir).map_err(unopened)?;
    let mut there = absolute.ancestors();
    let there = there.find(|part| part.symlink_metadata().is_ok());
    let there = there.unwrap_or(Path::new("/"));
    let found = fs::canonicalize(there).map_err(unopened)?;
    if !found.is_dir() {
        return Err(
            Failure::error(format!("{} is not a directory", there.display()))
                .hint("name the root of a checkout, or leave DIR out"),
        );
    }
    let rest = absolute.strip_prefix(there).unwrap_or(Path::new(""));
    let root = match rest.as_os_str().is_empty() {
        true => found.clone(),
        false => found.join(rest),
    };
    Ok((root, found))
}

/// Opens the checkout whose root it is; a directory below a root is refused, since workflows are read at the root alone.
fn checkout(root: &Path, there: &Path, args: &InitArgs) -> Result<Option<Git>, Failure> {
    let git = match Git::open(there)? {
        Opened::Checkout(git) => git,
        Opened::NotACheckout | Opened::NoGit => return Ok(None),
    };
    if git.top() == root {
        return Ok(Some(git));
    }
    let (dir, top) = (args.dir.as_deref().unwrap_or(Path::new(".")), git.top());
    Err(Failure::error(format!(
        "{} is in the checkout {}, and workflows are read at its root alone",
        dir.display(),
        top.display()
    ))
    .hint(format!(
        "run it there: netbird-gitops init {}",
        top.display()
    )))
}

/// Returns the network that is set up. Where a repository has several, each has an environment and a file of its own.
fn network(run: &Run) -> Result<Network, Failure> {
    let (environment, path) = (&run.environment, &run.file);
    if environment == "default" && path != Path::new(NETWORK) {
        return Err(Failure::error(
            "init writes netbird.json at the root of the repository, where the workflows read it",
        )
        .hint("leave --file out (NETBIRD_GITOPS_FILE unset); for a second network of the repository name it, as in --environment lab -f lab/netbird.json"));
    }
    let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    let file = path.to_str().filter(|_| path.components().all(is_inside));
    let file = file.map(|file| file.trim_start_matches("./"));
    match file.filter(|file| environment == "default" || *file != NETWORK) {
        Some(file) => Ok(Network::new(environment, file)),
        None => Err(Failure::error(format!(
            "the network {environment} needs a file of its own, below the root of the repository"
        ))
        .hint(format!("name it, as in -f {environment}/netbird.json"))),
    }
}

/// Returns which workflows are wanted: as asked, else as they are; and what reads those that are there.
fn choice<'t>(
    args: &InitArgs,
    network: &Network,
    tree: &'t Tree,
) -> (Variant, impl Fn(&str) -> Option<String> + 't) {
    let directory = match args.forge {
        Some(ForgeName::Forgejo) => OF_FORGEJO,
        Some(ForgeName::Gitea) => OF_GITEA,
        None if tree.has_directory(OF_FORGEJO) => OF_FORGEJO,
        None => OF_GITEA,
    };
    let asked = Variant {
        directory,
        actions: !args.no_actions,
        forks: args.forks,
    };
    let read = move |name: &str| {
        let text = tree.read(&format!("{directory}/{name}")).ok()??;
        Some(String::from_utf8_lossy(&text).into_owned())
    };
    (Variant::of(asked, network, &read), read)
}

/// Looks at each path; all that are in the way are one error.
fn look(tree: &Tree, files: &[WantedFile], force: bool) -> Result<Vec<File>, Failure> {
    let (mut found, mut problems) = (Vec::new(), Vec::<InTheWay>::new());
    for file in files {
        match tree.read(&file.path) {
            Ok(Some(there)) if file.is_taken(&there) => problems.push(InTheWay {
                what: format!("{} is not a workflow of netbird-gitops", file.path),
                way_out: "rename it: it stays as it is".into(),
            }),
            Ok(there) => found.push(file.decide(there.as_deref(), force)),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() {
        return Ok(found);
    }
    let list = |of: fn(&InTheWay) -> &String| {
        let mut texts: Vec<&str> = problems.iter().map(|it| of(it).as_str()).collect();
        texts.dedup();
        texts.join("\n")
    };
    let text = format!("{}\nnothing was written", list(|problem| &problem.what));
    Err(Failure::error(text).hint(list(|problem| &problem.way_out)))
}

/// Returns what is worth a word before anything is done.
fn notes(
    choice: Variant,
    files: &[File],
    tree: &Tree,
    git: Option<&Git>,
    setup: Option<&Setup>,
) -> Vec<Note> {
    let read = choice.directory;
    let others: &[&'static str] = match read {
        OF_FORGEJO => &[OF_GITEA, OF_GITHUB],
        _ => &[OF_GITHUB],
    };
    let others = others.iter().filter(|path| tree.has_directory(path));
    let mut notes: Vec<Note> = others.map(|&there| Note::NotRead { there, read }).collect();
    if read == OF_GITEA && tree.has_directory(OF_FORGEJO) {
        // Forgejo looks there first
        notes.push(Note::NotRead {
            there: OF_GITEA,
            read: OF_FORGEJO,
        });
    }
    notes.extend(files.iter().filter_map(|file| {
        let ours = file.path.clone();
        let name = ours.rsplit('/').next()?.strip_prefix("netbird-")?;
        let theirs = format!("{read}/{name}");
        Some(Note::Beside { theirs, ours })
    }));
    let branch = match setup {
        Some(setup) => setup.other_branch(),
        // on a branch of a change nothing is wrong: only a first commit tells which branch it will be
        None => git
            .filter(|git| git.head().is_ok_and(|head| head.is_none()))
            .and_then(Git::branch)
            .filter(|branch| branch != BRANCH),
    };
    notes.extend(branch.map(Note::OtherBranch));
    if setup.is_some_and(|setup| setup.has_no_actions) {
        notes.push(Note::NoActions);
    }
    notes
}

/// The live account as a file.
struct ExportedAccount {
    text: String,
    objects: usize,
    server: String,
    /// The variable of the token, where it is not the one that every command reads.
    token: Option<&'static str>,
}

/// Returns the live account; `None` where no server is named.
fn exported(args: &InitArgs, say: Say) -> Result<Option<ExportedAccount>, Failure> {
    let Some(server) = setting(args.server.netbird_url.as_ref()) else {
        return Ok(None);
    };
    let flag = args.server.netbird_token_file.as_ref();
    let (token, variable) = match find_token("NETBIRD_API_TOKEN", flag)? {
        Some(token) => (Some(token), None),
        None => (find_token("NETBIRD_PLAN_TOKEN", None)?, Some(PLAN_TOKENS)),
    };
    let token = token.ok_or_else(|| {
        let text = format!("the account at {server} cannot be exported: there is no NetBird token");
        Failure::error(text).hint(
            "set NETBIRD_API_TOKEN to the token of a service user with the role auditor; without NETBIRD_API_URL netbird.json \
             is an example",
        )
    })?;
    let api = connect_as(&args.server, &token)?;
    let export = export::of_account(&api, say)?;
    let is_set = |name: &&str| environment(name).is_some();
    Ok(Some(ExportedAccount {
        text: crate::base::json::escape(&export.text()),
        objects: export.entries.len(),
        server,
        token: variable.and_then(|names| names.into_iter().find(is_set)),
    }))
}

/// Where the token of plans comes from for a set-up.
const PLAN_TOKENS: [&str; 2] = ["NETBIRD_PLAN_TOKEN", "NETBIRD_PLAN_TOKEN_FILE"];

/// What is written has to pass what every file passes.
fn valid(text: &[u8]) -> Result<(), Failure> {
    check(&Source::from_bytes(NETWORK, text.to_vec())?).map(drop)
}
