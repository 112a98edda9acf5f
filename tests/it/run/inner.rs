//! The program without its process: the stages as `commands` call them, for tests that run them by the hundred.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use netbird_gitops::actual::Actual;
use netbird_gitops::api::{self, Api, Token};
use netbird_gitops::apply::{
    Applied, Conduct, Custody, Observer, StepOutcome, Verified, apply, verify,
};
use netbird_gitops::change::Change;
use netbird_gitops::config::Source;
use netbird_gitops::fetch::{More, Needs, complete, fetch};
use netbird_gitops::git::{Git, Opened};
use netbird_gitops::ledger::{Ledger, Listings};
use netbird_gitops::options::{Options, Prune};
use netbird_gitops::plan::{Plan, Renames, plan, renames};
use netbird_gitops::problem::Problem;
use netbird_gitops::secret::{KeysDir, Sources};
use netbird_gitops::validate::{Valid, validate};
use serde_json::Value;

use super::{Bench, RECIPIENT, Server};

/// A file and a server, up to its plan.
pub(crate) struct Inner {
    api: Api,
    valid: Valid,
    options: Options,
    needs: Needs,
    renames: Renames,
    actual: Actual,
}

impl Inner {
    /// Validates and fetches. Errors with the file's problems.
    pub(crate) fn read(bench: &Bench, file: &Value, prune: Prune) -> Result<Inner, String> {
        let listings = Listings {
            known: true,
            ..Listings::default()
        };
        Inner::read_with(bench, file, prune, Ledger::default(), listings)
    }

    /// The same with what the git history of the bench's directory says.
    pub(crate) fn read_in_git(bench: &Bench, file: &Value, prune: Prune) -> Result<Inner, String> {
        let Ok(Opened::Checkout(git)) = Git::open(&bench.path("")) else {
            panic!("the bench's directory is a checkout");
        };
        let path = git.locate(&bench.path("netbird.json")).expect("a path");
        let tip = git.head().expect("a checkout").expect("a commit");
        let now = jiff::Timestamp::now().as_second();
        let ledger = Ledger::read(&git, &tip, &[path], now).expect("a history");
        let listings = ledger.listings();
        Inner::read_with(bench, file, prune, ledger, listings)
    }

    fn read_with(
        bench: &Bench,
        file: &Value,
        prune: Prune,
        ledger: Ledger,
        listings: Listings,
    ) -> Result<Inner, String> {
        let text = bench.server().prefixed(file.clone()).to_string();
        let source = Source::from_text("netbird.json", text).expect("a text");
        let valid = validate(&source).map_err(|problems| problems.to_string())?;
        let options = Options {
            prune,
            replace: Default::default(),
            now: jiff::Timestamp::now(),
            ledger: Arc::new(ledger),
            listings,
            release: Default::default(),
            keys_files: Default::default(),
        };
        let token = Token::parse(&bench.server().token()).expect("a token");
        let config = api::config(&bench.server().url()).expect("a loopback URL");
        let api = Api::new(config, &token).expect("a client");
        let needs = Needs::of(&valid.desired, false);
        let mut snapshot = fetch(&api, &needs, &valid.desired).expect("the lists");
        // what a plan with deletions looks up
        let more = More {
            referrers: prune != Prune::None,
            events: prune == Prune::All,
        };
        complete(&api, more, &mut snapshot).expect("the lists");
        let renames = renames(&valid.desired, &snapshot, &options);
        let actual =
            Actual::read_renamed(&snapshot, renames.names()).expect("lists that can be read");
        Ok(Inner {
            api,
            valid,
            options,
            needs,
            renames,
            actual,
        })
    }

    pub(crate) fn plan(&self) -> Result<Plan, Vec<Problem>> {
        plan(
            &self.valid.desired,
            &self.actual,
            &self.renames,
            &self.options,
        )
    }

    /// Carries the plan out and verifies it. On a fake nothing has to be waited for.
    pub(crate) fn apply(
        &self,
        bench: &Bench,
        plan: &Plan,
        observer: &mut dyn Observer,
    ) -> (Applied, Option<Verified>) {
        let wait = match bench.server() {
            Server::Fake(_) => |_| (),
            Server::Real(_) => std::thread::sleep,
        };
        self.apply_with(bench, plan, observer, Box::new(wait))
    }

    /// The same, with how to wait for the age of keys.
    pub(crate) fn apply_with(
        &self,
        bench: &Bench,
        plan: &Plan,
        observer: &mut dyn Observer,
        wait: Box<dyn Fn(Duration)>,
    ) -> (Applied, Option<Verified>) {
        let recipients = Sources {
            keys: vec![RECIPIENT.into()],
            ..Sources::default()
        };
        let custody = Custody {
            recipients: recipients.read().expect("a recipient"),
            dir: KeysDir::probe(&bench.path("sealed-keys")).expect("a directory"),
            copies: None,
            wait,
        };
        let stop = AtomicBool::new(false);
        let conduct = Conduct {
            custody: Some(&custody),
            keep_going: false,
            stop: &stop,
            fresh: &|| Ok(()),
            puts_back: true,
        };
        let mut applied = apply(&self.api, plan, &self.actual, conduct, observer);
        if !applied.is_complete() {
            return (applied, None);
        }
        let verified = verify(
            &self.api,
            &self.valid.desired,
            &self.needs,
            &self.options,
            &self.actual,
            &mut applied,
            observer,
        );
        (applied, Some(verified.expect("lists to verify by")))
    }
}

/// Hears what happens and keeps it.
#[derive(Default)]
pub(crate) struct Heard(pub(crate) Vec<String>);

impl Observer for Heard {
    fn step(&mut self, number: usize, total: usize, change: &Change, outcome: &StepOutcome) {
        let (address, text) = (&change.address, &outcome.text);
        self.0.push(format!("[{number}/{total}] {address}: {text}"));
    }

    fn sealed(&mut self, name: &str, _: &str) {
        self.0.push(format!("sealed {name}"));
    }

    fn say(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
}
