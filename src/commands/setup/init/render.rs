//! What `init` says: what became of each file and each setting, and what to do next.

mod next;

use serde_json::{Value, json};

use crate::base::sentence::Sentence;
use crate::base::text::count;
use crate::commands::setup::init::remote::Remote;
use crate::commands::setup::init::setup::{Deed, Standing};
use crate::render::tree::{Block, Mark, Rank, Row, Rows, Tree};

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Became {
    /// It is new.
    Written,
    /// It was otherwise, and its text is gone.
    Overwritten,
    /// It was as it should be.
    Unchanged,
    /// It is otherwise, and was left alone.
    Differs,
    /// It is there, and the people's own.
    Theirs,
}

/// A file.
#[derive(Debug, Clone)]
pub struct File {
    /// Its path from the root.
    pub path: String,
    /// What became of it.
    pub became: Became,
    /// The change, where it was or is otherwise.
    pub diff: Option<String>,
    /// What is written.
    pub text: Option<Vec<u8>>,
}

/// Where the text of netbird.json comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// The account at this server, of so many objects.
    Exported {
        /// The server.
        server: String,
        /// How many objects it declares.
        objects: usize,
        /// The variable that the token came from, where `plan` does not read it.
        token: Option<&'static str>,
    },
    /// The example.
    Minimal,
    /// It was there.
    Theirs,
}

/// What is worth a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// The account has nothing that a file can declare.
    EmptyAccount,
    /// Workflows stand in a directory that is not read beside the other one.
    NotRead {
        /// Where they are.
        there: &'static str,
        /// What is read in its place.
        read: &'static str,
    },
    /// The workflows start on main, and this is another branch.
    OtherBranch(String),
    /// A workflow of somebody else has the name of ours.
    Beside {
        /// Theirs.
        theirs: String,
        /// Ours.
        ours: String,
    },
    /// Actions are switched off in the repository.
    NoActions,
}

/// The repository's settings.
#[derive(Debug, Clone)]
pub struct Repository {
    /// As in `owner/name`.
    pub name: String,
    /// The server.
    pub server: String,
    /// What was decided.
    pub deeds: Vec<Deed>,
    /// How many of them were looked at before something failed.
    pub done: usize,
}

impl Repository {
    /// Returns whether anything was set.
    pub fn changed(&self) -> bool {
        let mut deeds = self.deeds.iter().take(self.done);
        deeds.any(|deed| deed.standing == Standing::Make)
    }
}

/// A run of `init`.
#[derive(Debug, Clone)]
pub struct Document {
    /// The root of the repository, as it was given; empty where it is the current directory.
    pub directory: String,
    /// Nothing was written.
    pub dry_run: bool,
    /// Something failed: what to do next is to mend that.
    pub failed: bool,
    /// The files.
    pub files: Vec<File>,
    /// Where the network comes from.
    pub network: Network,
    /// What is worth a word.
    pub notes: Vec<Note>,
    /// The settings, with `--setup`.
    pub repository: Option<Repository>,
    /// Whether the directory is a git checkout, and has a remote.
    pub checkout: Checkout,
    /// The repository that the remote names.
    pub remote: Option<Remote>,
    /// The network's file.
    pub file: String,
    /// The options that name the network, where it is not the only one.
    pub options: String,
}

/// What git knows of the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checkout {
    /// Nothing: it is in no checkout.
    None,
    /// It is one that is pushed nowhere.
    Alone,
    /// It has the remote origin.
    Pushed,
}

impl Document {
    /// Returns the paths of the files that became that.
    pub fn paths(&self, became: Became) -> impl Iterator<Item = &str> {
        let files = self.files.iter().filter(move |file| file.became == became);
        files.map(|file| file.path.as_str())
    }

    /// Returns whether a file was written, or would be.
    pub fn writes(&self) -> bool {
        let is_new = |file: &File| matches!(file.became, Became::Written | Became::Overwritten);
        self.files.iter().any(is_new)
    }

    /// Returns whether a setting is missing that the workflows do not run without.
    pub fn lacks_settings(&self) -> bool {
        self.has(Standing::Missing)
    }

    fn has(&self, standing: Standing) -> bool {
        let mut deeds = self.repository.iter().flat_map(|found| &found.deeds);
        deeds.any(|deed| deed.standing == standing)
    }
}

/// Returns the run for people.
pub fn tree(document: &Document) -> Tree {
    let row = |word: &str, name: &str, about: &str| {
        let about = match about {
            "" => String::new(),
            about => format!("  ({about})"),
        };
        let text = Sentence::from(format!("{word:<12} ")).code(name).say(about);
        Row::of(Mark::NONE, text, Rank::Must)
    };
    let files = document.files.iter();
    let rows = files.clone().map(|file| {
        let word = word(file.became, document.dry_run);
        row(word, &file.path, &about(file, document))
    });
    let mut body = vec![Block::Rows(Rows {
        rows: rows.collect(),
        ..Rows::default()
    })];
    body.extend(files.filter_map(|file| file.diff.clone()).map(Block::Copy));
    if let Some(repository) = &document.repository {
        let deeds = repository.deeds.iter().enumerate();
        let rows = deeds.map(|(at, deed)| {
            let (word, about) = of_deed(deed, at < repository.done, document.dry_run);
            row(word, &deed.name, about)
        });
        body.push(Block::Rows(Rows {
            title: format!("{} at {}", repository.name, repository.server).into(),
            rows: rows.collect(),
            ..Rows::default()
        }));
    }
    let notes = document.notes.iter().map(said);
    body.extend(notes.map(|note| Block::Paragraph(note.into())));
    Tree {
        heading: heading(document).into(),
        body,
        act: match document.failed {
            true => Vec::new(),
            false => next::blocks(document),
        },
        ..Tree::default()
    }
}

/// The first line: how many files became what.
fn heading(document: &Document) -> String {
    let all = [
        Became::Written,
        Became::Overwritten,
        Became::Unchanged,
        Became::Differs,
        Became::Theirs,
    ];
    let number = |became: Became| match document.paths(became).count() {
        0 => None,
        number => Some(format!("{number} {}", word(became, document.dry_run))),
    };
    let numbers: Vec<String> = all.into_iter().filter_map(number).collect();
    format!("NetBird set-up, files: {}", numbers.join(", "))
}

fn word(became: Became, dry_run: bool) -> &'static str {
    match (became, dry_run) {
        (Became::Written, false) => "written",
        (Became::Written, true) => "to write",
        (Became::Overwritten, false) => "overwritten",
        (Became::Overwritten, true) => "to overwrite",
        (Became::Unchanged, _) => "unchanged",
        (Became::Differs, _) => "differs",
        (Became::Theirs, _) => "yours",
    }
}

fn about(file: &File, document: &Document) -> String {
    if file.became == Became::Theirs {
        return "never overwritten".into();
    }
    match &document.network {
        _ if file.path != document.file => String::new(),
        Network::Exported {
            server, objects, ..
        } => {
            let objects = count(*objects, "object", "objects");
            format!("the account at {server} as it is: {objects}")
        }
        Network::Minimal => "an example: what it says is made once it is pushed".into(),
        Network::Theirs => String::new(),
    }
}

/// Returns the word for a setting, and what is to be said of it.
fn of_deed(deed: &Deed, is_done: bool, dry_run: bool) -> (&'static str, &str) {
    let word = match deed.standing {
        Standing::Make if dry_run => "to set",
        Standing::Make if is_done => "set",
        Standing::Make => return ("not set", ""),
        Standing::There => "there",
        Standing::Missing => "missing",
        Standing::Later => "later",
    };
    (word, &deed.text)
}

fn said(note: &Note) -> String {
    match note {
        Note::EmptyAccount => "The account has nothing that a file can declare, so netbird.json is the example.".into(),
        Note::NotRead { there, read } => format!(
            "Workflows in {there} are not read where there is a {read}: move those that you need."
        ),
        Note::OtherBranch(branch) => format!(
            "The branch is {branch}, and the workflows start on main: rename it, or change `branches:` in plan.yml and apply.yml."
        ),
        Note::Beside { theirs, ours } => format!(
            "{theirs} is not a workflow of netbird-gitops and stays as it is: ours is {ours}."
        ),
        Note::NoActions => {
            "Actions are switched off in this repository: Settings → Advanced Settings → Enable Repository Actions.".into()
        }
    }
}

/// Returns the run for programs.
pub fn json(document: &Document) -> Value {
    let files = document.files.iter().map(
        |file| json!({ "path": file.path, "status": word(file.became, false), "diff": file.diff }),
    );
    let settings = document.repository.iter().flat_map(|repository| {
        let deeds = repository.deeds.iter().enumerate();
        deeds.map(|(at, deed)| {
            let (word, about) = of_deed(deed, at < repository.done, document.dry_run);
            let about = Some(about).filter(|about| !about.is_empty());
            json!({ "name": deed.name, "status": word.replace(' ', "_"), "text": about })
        })
    });
    json!({
        "format_version": 1,
        "dry_run": document.dry_run,
        "files": files.collect::<Vec<_>>(),
        "repository": document.repository.as_ref().map(|found| &found.name),
        "settings": settings.collect::<Vec<_>>(),
        "notes": document.notes.iter().map(said).collect::<Vec<_>>(),
    })
}
