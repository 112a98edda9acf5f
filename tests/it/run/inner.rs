//! The program without its process: the stages as `commands` call them, for tests that run them by the hundred.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use netbird_gitops::account::actual::Actual;
use netbird_gitops::account::fetch::{More, Needs, complete, fetch};
use netbird_gitops::apply::{
    Applied, Conduct, Custody, KeyCopy, NotRecorded, Observer, Recorded, Recorder, Records,
    StepOutcome, Verified, Writer,
};
use netbird_gitops::check::validate::{Valid, validate};
use netbird_gitops::file::Source;
use netbird_gitops::inventory::{Delta, Inventory};
use netbird_gitops::model::change::Change;
use netbird_gitops::model::problem::Problem;
use netbird_gitops::plan::options::{Options, Prune};
use netbird_gitops::plan::ours::{Ours, Standing};
use netbird_gitops::plan::{self, Bound, Plan, plan};
use netbird_gitops::secret::{KeysDir, Sources};
use netbird_gitops::wire::api::{self, Api, Token};
use serde_json::Value;

use super::{Bench, RECIPIENT};

/// A file and a server, up to its plan.
pub(crate) struct Inner {
    api: Api,
    valid: Valid,
    options: Options,
    needs: Needs,
    binding: Bound,
    actual: Actual,
}

/// The inventory of a test, in a file of its bench.
struct InFile<'a> {
    bench: &'a Bench,
    newest: RefCell<Option<Inventory>>,
}

impl InFile<'_> {
    const FILE: &'static str = "inner-inventory.json";

    fn of(bench: &Bench) -> InFile<'_> {
        let text = std::fs::read(bench.path(Self::FILE)).ok();
        let newest = text.map(|text| Inventory::parse(&text).expect("an inventory"));
        let newest = RefCell::new(newest);
        InFile { bench, newest }
    }
}

impl Recorder for InFile<'_> {
    fn newest(&self) -> anyhow::Result<Option<Inventory>> {
        Ok(self.newest.borrow().clone())
    }

    fn log_proves(&self) -> anyhow::Result<bool> {
        Ok(true)
    }

    fn record(&self, deltas: &[Delta], copies: &[KeyCopy]) -> Result<Recorded, NotRecorded> {
        let newest = self.newest.borrow().clone();
        let newest = newest.unwrap_or_else(|| Inventory::new("account", "netbird.json"));
        let inventory = Delta::all_onto(deltas, &newest);
        self.newest.replace(Some(inventory.clone()));
        let path = self.bench.path(Self::FILE);
        std::fs::write(path, inventory.text()).expect("a file");
        Ok(Recorded {
            inventory,
            places: vec![None; copies.len()],
        })
    }
}

impl Inner {
    /// Validates and fetches. Errors with the file's problems.
    pub(crate) fn read(bench: &Bench, file: &Value, prune: Prune) -> Result<Inner, String> {
        let text = bench.server().prefixed(file.clone()).to_string();
        let source = Source::from_text("netbird.json", text).expect("a text");
        let valid = validate(&source).map_err(|problems| problems.to_string())?;
        let newest = InFile::of(bench).newest.into_inner();
        let ours = Ours {
            standing: match newest {
                Some(_) => Standing::Read,
                None => Standing::First,
            },
            inventory: Arc::new(newest.unwrap_or_default()),
            ..Ours::default()
        };
        let options = Options {
            prune,
            replace: Default::default(),
            now: jiff::Timestamp::now(),
            ours: Arc::new(ours),
            release: Default::default(),
        };
        let token = Token::parse(&bench.server().token()).expect("a token");
        let config = api::config(&bench.server().url()).expect("a loopback URL");
        let api = Api::new(config, &token).expect("a client");
        let needs = Needs::of(&valid.desired, false).and_recorded(&options.ours.inventory);
        let mut snapshot = fetch(&api, &needs, &valid.desired).expect("the lists");
        // what a plan with deletions looks up
        let more = More {
            referrers: prune != Prune::None,
            events: prune == Prune::All,
        };
        complete(&api, more, &mut snapshot).expect("the lists");
        let (actual, binding) =
            plan::read(&valid.desired, &snapshot, None, &options).expect("lists that can be read");
        Ok(Inner {
            api,
            valid,
            options,
            needs,
            binding,
            actual,
        })
    }

    pub(crate) fn plan(&self) -> Result<Plan, Vec<Problem>> {
        plan(
            &self.valid.desired,
            &self.actual,
            &self.binding,
            &self.options,
        )
    }

    /// Carries the plan out, writes down what it did, and verifies it.
    pub(crate) fn apply(
        &self,
        bench: &Bench,
        plan: &Plan,
        observer: &mut dyn Observer,
    ) -> (Applied, Option<Verified>) {
        let recipients = Sources {
            keys: vec![RECIPIENT.into()],
            ..Sources::default()
        };
        let custody = Custody {
            recipients: recipients.read().expect("a recipient"),
            dir: KeysDir::probe(&bench.path("sealed-keys")).expect("a directory"),
            copies: false,
        };
        let recorder = InFile::of(bench);
        let record = |delta: &Delta| {
            let recorded = recorder.record(std::slice::from_ref(delta), &[]);
            recorded.unwrap_or_else(|error| panic!("{error}")).inventory
        };
        let is_first = self.options.ours.standing != Standing::Read;
        plan.first_record(is_first).map(|delta| record(&delta));
        let stop = AtomicBool::new(false);
        let conduct = Conduct {
            custody: Some(&custody),
            records: Some(Records {
                recorder: &recorder,
                ours: &self.options.ours,
            }),
            keep_going: false,
            stop: &stop,
            fresh: &|| Ok(()),
            puts_back: true,
        };
        let mut writer = Writer::new(&self.api, &self.actual, observer);
        let mut applied = writer.apply(plan, conduct);
        let planned = &self.options.ours.inventory;
        let inventory = record(&applied.delta(plan, planned, &|_| None));
        if !applied.is_complete() {
            return (applied, None);
        }
        let ours = Ours {
            inventory: Arc::new(inventory),
            standing: Standing::Read,
            ..Ours::clone(&self.options.ours)
        };
        let options = Options {
            ours: Arc::new(ours),
            ..self.options.clone()
        };
        let desired = &self.valid.desired;
        let verified = writer.verify(desired, &self.needs, &options, &mut applied);
        let verified = verified.expect("lists to verify by");
        record(&verified.record);
        (applied, Some(verified))
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
