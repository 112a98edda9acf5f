//! One run of `plan` or `apply` up to the plan: the file, the settings, the live account.

mod gating;
pub(super) mod notices;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::failure::Failure;
use super::history::History;
use super::settings::{
    connect, environment, file, protected, readable, recipients, replaced, setting,
};
use super::versions::of_netbird;
use crate::actual::Actual;
use crate::address::Address;
use crate::api::Api;
use crate::api::objects::SetupKey;
use crate::ci::Context;
use crate::cli::{AccessLevel, Cli, Scope, Sealing, Server};
use crate::config::{self, Place, Source};
use crate::fetch::{self, Ahead, More, Needs};
use crate::held::{Held, Why};
use crate::json;
use crate::kind::{KeyType, Kind, Refers};
use crate::memberships::Memberships;
use crate::options::{Options, Prune};
use crate::plan::{self, Plan, Renames, Row};
use crate::problem::Problem;
use crate::render::{Document, words};
use crate::secret::{Recipients, present};
use crate::snapshot::Snapshot;
use crate::validate::{Valid, validate};

/// Validates; all problems are one error.
pub(super) fn check(source: &Source) -> Result<Valid, Failure> {
    validate(source).map_err(|problems| Failure::from(&problems))
}

/// An answer of the server that is not of the form that we read.
pub(super) fn unreadable(error: crate::actual::Unreadable) -> Failure {
    Failure::error(error.to_string())
}

/// What was asked for, and what was found so far.
pub(super) struct Session {
    pub(super) source: Source,
    pub(super) valid: Valid,
    pub(super) options: Options,
    pub(super) needs: Needs,
    pub(super) api: Option<Api>,
    pub(super) snapshot: Snapshot,
    pub(super) renames: Renames,
    pub(super) actual: Actual,
    pub(super) recipients: Recipients,
    pub(super) history: History,
    pub(super) context: Context,
    /// What of the plan somebody agreed to.
    agreed: BTreeSet<Row>,
    access: AccessLevel,
    /// What `--protect` names.
    protected: BTreeSet<Address>,
    /// The digest of the plan that somebody looked at.
    pub(super) expected: Option<String>,
    started: Instant,
}

/// Where the live account comes from.
pub(super) enum Origin<'a> {
    /// A server.
    Server(&'a Server),
    /// A recorded account.
    File(&'a Path),
}

/// The settings of a plan.
pub(super) struct Request<'a> {
    pub(super) cli: &'a Cli,
    pub(super) origin: Origin<'a>,
    pub(super) scope: &'a Scope,
    pub(super) sealing: &'a Sealing,
    /// Where sealed keys are kept.
    pub(super) keys_dir: PathBuf,
    /// The committed file is meant, not the one on disk.
    pub(super) committed: bool,
    /// How finely it is said who reaches whom: that takes lists which a plan may not need else.
    pub(super) access: AccessLevel,
}

impl Session {
    /// Reads the file, the settings and the live account. `document` tells of it as far as it goes, after an error too.
    pub(super) fn open(request: &Request, document: &mut Document) -> Result<Session, Failure> {
        let started = Instant::now();
        readable()?;
        let global = &request.cli.global;
        let path = file(global);
        document.commit = environment("GITHUB_SHA").map(|sha| sha.chars().take(12).collect());
        let context = Context::of_process();
        document.actor.clone_from(&context.actor);
        document.run.clone_from(&context.run_url);
        let (api, account) = match request.origin {
            Origin::Server(server) => (
                Some(connect(server, context.is_pull_request_event())),
                setting(server.account.as_ref()),
            ),
            Origin::File(_) => (None, None),
        };
        let ahead = match (&api, request.access) {
            (Some(Ok(api)), AccessLevel::Groups | AccessLevel::Peers) => Ahead::begin(api),
            _ => Ahead::default(),
        };
        // git takes its time, and what it has to say of another file than the one on disk is seldom
        let (on_disk, history) = std::thread::scope(|scope| {
            let Scope { history, prune, .. } = request.scope;
            let history = scope.spawn(|| History::read(&path, history, *prune, &context));
            let on_disk = config::load(&path).map(|file| (validate(&file), file));
            (
                on_disk,
                history.join().expect("a reading thread does not panic"),
            )
        });
        let mut history = history?;
        document.commit = document.commit.take().or(history.commit.clone());
        if history.ledger.is_known() {
            document.notices.append(&mut history.notices);
        }
        let committed = match request.committed {
            true => history.committed(&path)?,
            false => None,
        };
        let (valid, source) = match committed.or(history.merged.take()) {
            Some(source) => (validate(&source), source),
            None => on_disk?,
        };
        document.file_digest = short_digest(source.text().as_bytes());
        let valid = valid.map_err(|problems| Failure::from(&problems))?;
        history.follow(&valid.desired);
        document.notices.extend(notices::of_planned_file(&valid));
        if history.ledger.is_known() {
            // a base without a valid file grants nothing
            let base = history.base(&path).unwrap_or_default();
            document.memberships = Memberships::between(&valid.desired, &base);
        }
        let recipients = recipients(request.sealing)?;
        document
            .notices
            .extend(notices::new_recipients(request.sealing, &history));
        document.recipients = recipients
            .describe()
            .iter()
            .map(ToString::to_string)
            .collect();
        let replace = request
            .scope
            .replace
            .iter()
            .map(|text| replaced(text))
            .collect::<Result<_, _>>()?;
        let protected = protected(&request.scope.protect)?;
        let options = Options {
            prune: request.scope.prune,
            replace,
            now: Timestamp::now(),
            ledger: history.ledger.clone(),
            listings: history.listings.clone(),
            release: BTreeSet::new(),
            keys_files: present(&request.keys_dir),
        };
        let api = api.transpose()?;
        let needs = Needs::of(&valid.desired, account.is_some());
        let needs = needs.and_gone(&valid.desired, &options.ledger);
        let snapshot = match (&api, &request.origin) {
            (Some(api), _) => {
                document.server = Some(server_name(api));
                let lists = match request.access {
                    AccessLevel::None => needs.clone(),
                    _ => needs.clone().and_reach(),
                };
                let snapshot = fetch::fetch_rest(ahead, api, &lists, &valid.desired);
                document.requests = api.requests();
                snapshot.map_err(|error| of_netbird(api, error))?
            }
            (None, Origin::File(path)) => {
                document.server = Some(path.display().to_string());
                recorded(path)?
            }
            (None, Origin::Server(_)) => Snapshot::default(),
        };
        let mut session = Session {
            source,
            valid,
            options,
            needs,
            api,
            snapshot,
            renames: Renames::default(),
            actual: Actual::default(),
            recipients,
            history,
            context,
            agreed: BTreeSet::new(),
            access: request.access,
            protected,
            expected: None,
            started,
        };
        session.read()?;
        Ok(session)
    }

    /// Reads the snapshot into actual state.
    fn read(&mut self) -> Result<(), Failure> {
        self.renames = plan::renames(&self.valid.desired, &self.snapshot, &self.options);
        let actual = Actual::read_renamed(&self.snapshot, self.renames.names());
        self.actual = actual.map_err(unreadable)?;
        Ok(())
    }

    /// Makes the plan; where it deletes, what could refer to that is fetched and the plan is made again, so that all
    /// referrers are named at once.
    pub(super) fn plan_whole(&mut self) -> Result<Plan, Failure> {
        loop {
            let planned = plan::plan(
                &self.valid.desired,
                &self.actual,
                &self.renames,
                &self.options,
            );
            let more = match &planned {
                Ok(plan) => self.more(plan),
                Err(problems) => More {
                    referrers: problems.iter().any(|problem| problem.is_of_deletion()),
                    events: false,
                },
            };
            if !self.complete(more)? {
                return planned.map_err(|problems| self.stop(&problems));
            }
            self.read()?;
        }
    }

    /// Fetches what a plan needs beside the lists of every plan. Returns whether anything was missing.
    fn complete(&mut self, more: More) -> Result<bool, Failure> {
        match self.api.clone() {
            Some(api) => Ok(fetch::complete(&api, more, &mut self.snapshot)?),
            None => Ok(false),
        }
    }

    /// Whether a used one-off key lives whose entry was removed: with it may go a peer.
    fn offboards(&self) -> bool {
        let desired = &self.valid.desired;
        let removed = |key: &SetupKey| {
            key.key_type == KeyType::OneOff
                && key.used_times > 0
                && desired.setup_key(&key.name).is_none()
                && self
                    .options
                    .ledger
                    .was_declared(&Address::new(Kind::SetupKey, &key.name))
        };
        self.options.prune != Prune::None
            && desired.manages(Kind::SetupKey)
            && self.actual.keys.values().any(removed)
    }

    fn more(&self, plan: &Plan) -> More {
        let loses = || {
            plan.changes
                .iter()
                .any(|change| !change.removed_members().is_empty())
        };
        // what is held back since something needs it names all that does
        let is_needed = |held: &Held| {
            matches!(
                held.why,
                Why::Needed(_) | Why::NeededByGone(_) | Why::PeerNeeded { .. }
            )
        };
        More {
            referrers: plan.deletes_referred() || plan.held.iter().any(is_needed),
            events: self.options.prune == Prune::All
                && (loses() || !plan.unmanaged_members.is_empty()),
        }
    }

    /// Puts the numbers of the run into the document.
    pub(super) fn measure(&self, document: &mut Document) {
        document.requests = self.api.as_ref().map_or(0, Api::requests);
        document.duration_ms =
            u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
    }

    /// All problems of a plan as one error, with their places in the file.
    fn stop(&self, problems: &[Problem]) -> Failure {
        let place = |problem: &Problem| {
            let member = problem.member();
            let places = &self.valid.places;
            let member = member.and_then(|name| places.name(&problem.address, "peers", name));
            let reference = problem.reference().and_then(|(what, name)| match what {
                Refers::Group => {
                    let mut all = self.valid.references.iter();
                    let it = all.find(|it| it.owner == problem.address && it.group == name)?;
                    Some(&it.place)
                }
                Refers::Resource => places.name(&problem.address, "destination_resource", name),
                Refers::Check => places.name(&problem.address, "source_posture_checks", name),
            });
            reference
                .or(member)
                .or_else(|| self.valid.position_of(&problem.address))
        };
        let mut text = match problems.len() {
            1 => "this cannot be planned\n".to_owned(),
            number => format!("this cannot be planned: {number} problems\n"),
        };
        for told in words::problems(problems) {
            let problem = told.problem;
            let at = place(problem).map(|Place { path, line, column }| {
                format!("{}:{line}:{column}  {path}\n    ", self.valid.file)
            });
            let what = format!("{} {}", problem.address.quoted(), told.text);
            text.push_str(&format!(
                "\n{}{}",
                at.unwrap_or_default(),
                crate::text::visible(&what)
            ));
            text.extend(
                told.hint
                    .iter()
                    .map(|hint| format!("\n    {}", crate::text::visible(hint))),
            );
        }
        Failure::error(text)
    }
}

/// Returns the first 12 hexadecimal digits of the SHA-256 of a file.
fn short_digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn server_name(api: &Api) -> String {
    let base = api.base().to_string();
    base.strip_suffix("/api").unwrap_or(&base).to_owned()
}

pub(super) fn recorded(path: &Path) -> Result<Snapshot, Failure> {
    let shown = path.display();
    let text = crate::files::read(path, crate::files::LARGE)
        .map_err(|error| Failure::of_file("read", path, &error))?;
    // as a map first: serde takes a list, an empty one too, for a struct
    let lists = serde_json::from_slice::<serde_json::Map<_, _>>(&text);
    let snapshot = lists.and_then(|lists| serde_json::from_value(lists.into()));
    snapshot.map_err(|error| {
        Failure::error(format!(
            "{shown} is no recorded account: {}",
            json::why(&error)
        ))
        .hint(
            "it holds the answers of the server's lists: {\"groups\": […], \"setup_keys\": […], …}",
        )
    })
}
