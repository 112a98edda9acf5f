//! `init`: what a repository needs, written into its checkout, and with `--setup` into its settings.
//!
//! All that can refuse the run is looked at before the first write: what is in the way, the account, the forge.

mod files;
mod ignore;
mod next;
mod remote;
mod root;
mod settings;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use super::cli::{ForgeName, InitArgs};
use super::settings::{connect_as, find_token};
use super::workflows::{OF_FORGEJO, OF_GITEA, OF_GITHUB};
use super::{Ending, Exit, Failure, Result, Run, Say, environment, export, readable, setting};
use crate::base::json::escape;
use crate::base::{Sentence, count, joined};
use crate::check::validate::validate;
use crate::file::Source;
use crate::git::{Git, Opened};
use crate::render::tree::{Block, Row, Rows, Tree};
use files::{COMMENTED, File, NETWORK, Network, Variant};
use remote::Remote;
use root::Root;
use settings::{Become, Settings};

/// The branch that the workflows start on.
const BRANCH: &str = "main";

/// What was found, and what is done about it.
struct Init<'a> {
    args: &'a InitArgs,
    root: Root,
    network: Network,
    /// The files, the network's first.
    files: Vec<File>,
    /// Which account the network's file declares, where it is new and no example.
    account: Option<String>,
    /// The variable of NetBird's token, where it is not the one that every command reads.
    token: Option<&'static str>,
    /// The branch that is pushed to.
    branch: String,
    /// What is worth a word.
    notes: Vec<String>,
    /// The repository's settings, with `--setup`.
    settings: Option<Settings>,
    is_checkout: bool,
    /// The address that the checkout is pushed to.
    origin: Option<String>,
    /// The repository that this address names.
    remote: Option<Remote>,
}

pub(super) fn run(run: &Run, args: &InitArgs) -> Result<Ending> {
    let mut init = Init::prepare(run, args)?;
    let failure = match args.dry_run {
        true => None,
        false => init.carry_out(run.say).err(),
    };
    let has_set = init.settings.as_ref().is_some_and(Settings::changed);
    let changed = !args.dry_run && (init.writes() || has_set);
    let mut left = init.paths("differs").chain(init.paths("not merged"));
    let is_left = left.next().is_some() || init.has(Become::Missing);
    let exit = match &failure {
        Some(_) if changed => Exit::Partial,
        Some(failure) => failure.exit,
        None if is_left => Exit::Pending,
        None => Exit::Done,
    };
    let tree = init.tree(failure.is_some());
    let mut ending = Ending::shown(run, init.json(), &tree);
    (ending.exit, ending.changed, ending.failure) = (exit, changed, failure);
    Ok(ending)
}

impl<'a> Init<'a> {
    /// Decides what is to be done, and does nothing yet.
    fn prepare(run: &Run, args: &'a InitArgs) -> Result<Init<'a>> {
        readable()?;
        let network = network(run)?;
        let (root, git) = checkout(args)?;
        one_file(&root, &network.file)?;
        let origin = git.as_ref().and_then(Git::origin);
        let asked = asked(args, &root);
        let read = |name: &str| {
            let text = root.read(&format!("{}/{name}", asked.directory)).ok()??;
            Some(String::from_utf8_lossy(&text).into_owned())
        };
        let choice = Variant::of(asked, &network, &read);
        let files = look(&root, files::files(choice, &network, &read), args.force)?;
        let remote = origin.as_deref().and_then(remote::read);
        let settings = args
            .setup
            .then(|| Settings::prepare(run, args, &network, remote.as_ref()));
        let settings = settings.transpose()?;
        let mut init = Init {
            args,
            root,
            network,
            files,
            account: None,
            token: token_of_plans(args),
            branch: BRANCH.to_owned(),
            notes: Vec::new(),
            settings,
            is_checkout: git.is_some(),
            origin,
            remote,
        };
        init.note(choice.directory, git.as_ref());
        if !init.files[0].is_theirs {
            init.export(run)?;
        }
        Ok(init)
    }

    /// Notes what is worth a word before anything is done; workflows are in the directory `read`.
    fn note(&mut self, read: &'static str, git: Option<&Git>) {
        let others = [OF_GITEA, OF_GITHUB].into_iter();
        let others = others.filter(|there| *there != read);
        let others = others.map(|there| (there, read, there));
        // Forgejo looks there first
        let first = (read == OF_GITEA).then_some((OF_GITEA, OF_FORGEJO, OF_FORGEJO));
        for (unread, read, seen) in others.chain(first) {
            if self.root.has_directory(seen) {
                self.notes.push(format!(
                    "A server that reads {read} does not read {unread}. Move the workflows that you need."
                ));
            }
        }
        for ours in self.files.iter().map(|file| &file.path) {
            let name = ours.rsplit('/').next().unwrap_or_default();
            if let Some(name) = name.strip_prefix("netbird-") {
                self.notes.push(format!(
                    "{read}/{name} is not a workflow of netbird-gitops, so init does not change it. The one of netbird-gitops is {ours}."
                ));
            }
        }
        let branch = match (&self.settings, git) {
            (Some(settings), _) => Some(settings.wanted.branch.clone()),
            // on a branch of a change nothing is wrong: only before a first commit it is this branch that is pushed
            (None, Some(git)) if git.head().is_ok_and(|head| head.is_none()) => git.branch(),
            _ => None,
        };
        if let Some(branch) = branch.filter(|branch| branch != BRANCH) {
            self.notes.push(format!(
                "The workflows start on the branch main, but the branch is named {branch}. Rename it, or change \"branches\" in plan.yml \
                 and apply.yml."
            ));
            self.branch = branch;
        }
        if self.settings.as_ref().is_some_and(|it| it.has_no_actions) {
            let text = "Actions are switched off in this repository. Switch them on: Settings → Advanced Settings → Enable Repository Actions.";
            self.notes.push(text.into());
        }
    }

    /// Puts the live account into the network's file, where a server is named and something is there.
    fn export(&mut self, run: &Run) -> Result<()> {
        let server = &self.args.server;
        let Some(url) = setting(server.netbird_url.as_ref()) else {
            return Ok(());
        };
        let flag = server.netbird_token_file.as_ref();
        let token = match self.token {
            Some(_) => find_token(PLAN_TOKENS[0], None)?,
            None => find_token("NETBIRD_API_TOKEN", flag)?,
        };
        let Some(token) = token else {
            let text =
                format!("the account at {url} cannot be exported: there is no NetBird token");
            return Err(Failure::error(text).hint(
                "set NETBIRD_API_TOKEN to the token of a service user with the role auditor; without NETBIRD_API_URL init writes \
                 an example",
            ));
        };
        let export = export::of_account(&connect_as(run, &token)?, run.say)?;
        if export.entries.is_empty() {
            let text = "The account has nothing to declare, so init writes the example.";
            self.notes.push(text.to_owned());
            return Ok(());
        }
        let text = self.network.with_schema(&escape(&export.text()));
        // what is written has to pass what every file passes
        validate(&Source::from_text(NETWORK, text.clone())?)?;
        self.files[0].text = Some(text.into_bytes());
        let number = count(export.entries.len(), "object", "objects");
        self.account = Some(format!("the account at {url} as it is: {number}"));
        Ok(())
    }

    /// Writes; `files` and `settings` have how far it got, also where it stops.
    fn carry_out(&mut self, say: Say) -> Result<()> {
        for (at, file) in self.files.iter().enumerate() {
            if let Err(failure) = self.root.write(file) {
                self.files.truncate(at);
                return Err(failure);
            }
        }
        let again = "then run init --setup again: what is set is left alone";
        let settings = self.settings.as_mut();
        let made = settings.map_or(Ok(()), |settings| settings.carry_out(say));
        made.map_err(|failure| failure.aside(Some(again.to_owned())))
    }

    /// Returns the paths of the files that became that.
    fn paths(&self, word: &str) -> impl Iterator<Item = &str> {
        let files = self.files.iter().filter(move |file| file.word() == word);
        files.map(|file| file.path.as_str())
    }

    /// Returns whether a file was written, or would be.
    fn writes(&self) -> bool {
        self.files.iter().any(|file| file.text.is_some())
    }

    /// Returns whether a setting becomes that.
    fn has(&self, becomes: Become) -> bool {
        let settings = self.settings.iter();
        let mut deeds = settings.flat_map(|settings| &settings.deeds);
        deeds.any(|deed| deed.becomes == becomes)
    }

    /// Returns the run for people.
    fn tree(&self, failed: bool) -> Tree {
        let row = |[word, name, about]: [&str; 3]| {
            let about = match about {
                "" => String::new(),
                about => format!("  ({about})"),
            };
            let text = Sentence::from(format!("{word:<12} ")).code(name);
            Row::plain(text.say(about))
        };
        let about = match &self.account {
            _ if self.files.first().is_none_or(|file| file.is_theirs) => "never overwritten",
            Some(about) => about,
            None => "an example: an apply creates what it declares",
        };
        let by_hand = "its YAML has another form: add the lines with + by hand";
        let files = self.files.iter().map(|file| {
            let about = match file.word() {
                _ if file.path == self.network.file => about,
                "not merged" => by_hand,
                _ => "",
            };
            row([self.shown(file.word()), &file.path, about])
        });
        let mut body = vec![Block::Rows(Rows::titled("", files))];
        let diffs = self.files.iter().filter_map(|file| file.diff.clone());
        body.extend(diffs.map(Block::Copy));
        if let Some(settings) = &self.settings {
            let title = format!("{} at {}", settings.name(), settings.server);
            body.push(Block::Rows(Rows::titled(title, self.deeds().map(row))));
        }
        let notes = self.notes.iter();
        body.extend(notes.map(|note| Block::Paragraph(note.clone().into())));
        let mut numbers = BTreeMap::new();
        for file in &self.files {
            *numbers.entry(self.shown(file.word())).or_insert(0) += 1;
        }
        let numbers = numbers.iter();
        let numbers = numbers.map(|(word, number)| format!("{number} {word}"));
        let numbers = joined(numbers, ", ");
        Tree {
            heading: format!("NetBird set-up, files: {numbers}").into(),
            body,
            act: if failed { Vec::new() } else { self.next() },
            ..Tree::default()
        }
    }

    /// The word for what became of a file, or what would.
    fn shown(&self, word: &'static str) -> &'static str {
        match word {
            "written" if self.args.dry_run => "to write",
            "overwritten" if self.args.dry_run => "to overwrite",
            word => word,
        }
    }

    /// Returns what became of each setting, its name, and what is to be said of it.
    fn deeds(&self) -> impl Iterator<Item = [&str; 3]> {
        let settings = self.settings.iter();
        settings.flat_map(|Settings { deeds, done, .. }| {
            deeds.iter().enumerate().map(|(at, deed)| {
                let word = match deed.becomes {
                    Become::Made if self.args.dry_run => "to set",
                    Become::Made if at < *done => "set",
                    Become::Made => return ["not set", &deed.name, ""],
                    Become::There => "exists",
                    Become::Missing => "missing",
                    Become::Later => "later",
                };
                [word, &deed.name, &deed.text]
            })
        })
    }

    /// Returns the run for programs.
    fn json(&self) -> Value {
        let file =
            |file: &File| json!({ "path": file.path, "status": file.word(), "diff": file.diff });
        let files = self.files.iter().map(file);
        let settings = self.deeds().map(|[word, name, text]| {
            let text = Some(text).filter(|text| !text.is_empty());
            json!({ "name": name, "status": word.replace(' ', "_"), "text": text })
        });
        json!({
            "format_version": 1,
            "dry_run": self.args.dry_run,
            "files": files.collect::<Vec<_>>(),
            "repository": self.settings.as_ref().map(Settings::name),
            "settings": settings.collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }
}

/// Returns the root of the repository, canonical as far as it is there, and its checkout. The rest of the path is made with the
/// first file. A directory below a root is refused, since workflows are read at the root alone.
fn checkout(args: &InitArgs) -> Result<(Root, Option<Git>)> {
    let dir = args.dir.as_deref().unwrap_or(Path::new("."));
    let unopened = |error| Failure::of_file("open the directory", dir, &error);
    let absolute = std::path::absolute(dir).map_err(unopened)?;
    let mut there = absolute.ancestors();
    let there = there.find(|part| part.symlink_metadata().is_ok());
    let there = there.unwrap_or(Path::new("/"));
    let found = fs::canonicalize(there).map_err(unopened)?;
    if !found.is_dir() {
        let text = format!("{} is not a directory", there.display());
        let hint = "name the root of a checkout, or leave DIR out";
        return Err(Failure::error(text).hint(hint));
    }
    // without an empty part at its end
    let rest = absolute.strip_prefix(there).unwrap_or(Path::new(""));
    let root: PathBuf = found.components().chain(rest.components()).collect();
    let git = match Git::open(&found)? {
        Opened::Checkout(git) if git.top() != root => git,
        Opened::Checkout(git) => return Ok((Root(root), Some(git))),
        Opened::NotACheckout | Opened::NoGit => return Ok((Root(root), None)),
    };
    let (dir, top) = (dir.display(), git.top().display());
    let text =
        format!("{dir} is inside the checkout {top}, and servers read workflows only at its root");
    Err(Failure::error(text).hint(format!("run it there: netbird-gitops init {top}")))
}

/// Returns the network that is set up. Where a repository has several, each has an environment and a file of its own.
fn network(run: &Run) -> Result<Network> {
    let (environment, path) = (&run.environment, &run.file);
    let is_default = environment == "default";
    let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    let file = path.to_str().filter(|_| path.components().all(is_inside));
    let file = file.map(|file| file.trim_start_matches("./"));
    if let Some(file) = file.filter(|file| is_default == [NETWORK, COMMENTED].contains(file)) {
        return Ok(Network::new(environment, file));
    }
    if is_default {
        let text = "init writes netbird.json, or netbird.jsonc, at the root of the repository";
        return Err(Failure::error(text).hint(
            "omit --file and unset NETBIRD_GITOPS_FILE, or write -f netbird.jsonc; for a second network in the repository name \
             both, as in --environment lab -f lab/netbird.json",
        ));
    }
    let text = format!(
        "the network {environment} needs a file of its own, below the root of the repository"
    );
    Err(Failure::error(text).hint(format!("name it, as in -f {environment}/netbird.json")))
}

/// Checks that the file is not a second one beside that of the same network.
fn one_file(root: &Root, file: &str) -> Result<()> {
    let other = match file {
        NETWORK => COMMENTED,
        COMMENTED => NETWORK,
        _ => return Ok(()),
    };
    if root.read(other)?.is_none() {
        return Ok(());
    }
    let text = format!("the network has only one file, and that is {other}");
    Err(Failure::error(text).hint(format!("write -f {other}, or rename it to {file} first")))
}

/// Returns which workflows the flags ask for, in the directory that the forge reads.
fn asked(args: &InitArgs, root: &Root) -> Variant {
    let of_forgejo = args.forge == Some(ForgeName::Forgejo)
        || args.forge.is_none() && root.has_directory(OF_FORGEJO);
    Variant {
        directory: if of_forgejo { OF_FORGEJO } else { OF_GITEA },
        actions: !args.no_actions,
        forks: args.forks,
    }
}

/// Looks at each path; all that are in the way are one error.
fn look(root: &Root, files: Vec<File>, force: bool) -> Result<Vec<File>> {
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    for file in files {
        match root.read(&file.path) {
            Ok(Some(there)) if file.is_taken(&there) => {
                let text = format!("{} is not a workflow of netbird-gitops", file.path);
                failed.push(Failure::error(text).hint("rename it: init does not change it"));
            }
            Ok(there) => found.push(file.decide(there.as_deref(), force)),
            Err(failure) => failed.push(failure),
        }
    }
    failed.dedup_by(|one, other| one.error == other.error);
    match failed.into_iter().reduce(Failure::and) {
        Some(failure) => Err(failure.and(Failure::error("nothing was written"))),
        None => Ok(found),
    }
}

/// The variables that hold the token of plans for a set-up.
const PLAN_TOKENS: [&str; 2] = ["NETBIRD_PLAN_TOKEN", "NETBIRD_PLAN_TOKEN_FILE"];

/// Returns the variable of the token of plans, where there is no other token.
fn token_of_plans(args: &InitArgs) -> Option<&'static str> {
    let has = |name: &&str| environment(name).is_some();
    let is_given = setting(args.server.netbird_token_file.as_ref()).is_some()
        || ["NETBIRD_API_TOKEN", "NETBIRD_API_TOKEN_FILE"]
            .iter()
            .any(has);
    PLAN_TOKENS.into_iter().find(|name| !is_given && has(name))
}
