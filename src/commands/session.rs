//! What commands share: the file, the settings, the server, and the plan that comes of them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::actual::Actual;
use crate::api::{self, Api, ApiError, Token};
use crate::change::Notice;
use crate::cli::{Cli, Gates, Global, Scope, Sealing, Server};
use crate::config::{self, Source, SourceError};
use crate::exit::Exit;
use crate::fetch::{self, Needs};
use crate::gates;
use crate::members::Listings;
use crate::plan::{self, Options, Plan, Problem};
use crate::render::Document;
use crate::secret::{Recipients, Sources};
use crate::snapshot::Snapshot;
use crate::state::{Address, Kind};
use crate::validate::{Valid, validate};

/// Why a run stops before it did anything.
#[derive(Debug)]
pub(super) struct Stop {
    pub(super) exit: Exit,
    pub(super) error: String,
    pub(super) hint: Option<String>,
}

impl Stop {
    pub(super) fn error(error: impl Into<String>) -> Self {
        Stop {
            exit: Exit::Error,
            error: error.into(),
            hint: None,
        }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<SourceError> for Stop {
    fn from(error: SourceError) -> Self {
        Stop::error(error.message()).hint(error.hint())
    }
}

impl From<ApiError> for Stop {
    fn from(error: ApiError) -> Self {
        let exit = if error.is_url_refused() {
            Exit::Refused
        } else {
            Exit::Error
        };
        Stop {
            exit,
            error: error.to_string(),
            hint: error.hint(),
        }
    }
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        let api = error.downcast_ref::<ApiError>();
        let exit = if api.is_some_and(ApiError::is_url_refused) {
            Exit::Refused
        } else {
            Exit::Error
        };
        let hint = api.and_then(ApiError::hint);
        let text = format!("{error:#}");
        // the modules for files say their hint on a line of its own
        match text.split_once("\nhint: ") {
            Some((text, hint)) => Stop {
                exit,
                error: text.into(),
                hint: Some(hint.into()),
            },
            None => Stop {
                exit,
                error: text,
                hint,
            },
        }
    }
}

/// Reads an environment variable; an empty one is unset: CI passes missing secrets as empty.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name)
        .ok()
        .filter(|value| !value.trim().is_empty())
}

/// Returns a setting; an empty one is unset.
pub(super) fn setting(value: Option<&String>) -> Option<String> {
    value
        .map(|value| value.trim().to_owned())
        .filter(|value| !value.is_empty())
}

pub(super) fn file(global: &Global) -> PathBuf {
    setting(global.file.as_ref())
        .unwrap_or_else(|| "netbird.json".into())
        .into()
}

pub(super) fn environment_name(global: &Global) -> String {
    setting(global.environment.as_ref()).unwrap_or_else(|| "default".into())
}

/// Validates; all problems are one error.
pub(super) fn check(source: &Source) -> Result<Valid, Stop> {
    validate(source).map_err(|problems| Stop::error(problems.to_string().trim_end()))
}

/// A notice of the file in one line.
pub(super) fn notice_text(file: &str, notice: &config::Problem) -> String {
    let config::Problem {
        line,
        column,
        path,
        message,
        hint,
        ..
    } = notice;
    let hint = hint
        .as_ref()
        .map(|hint| format!("; {hint}"))
        .unwrap_or_default();
    format!("{file}:{line}:{column}  {path}: {message}{hint}")
}

/// One run: what was asked for, and what it found so far.
pub(super) struct Session {
    pub(super) valid: Valid,
    pub(super) options: Options,
    pub(super) needs: Needs,
    pub(super) api: Option<Api>,
    pub(super) actual: Actual,
    pub(super) accounts: Vec<String>,
    pub(super) recipients: Recipients,
    pub(super) document: Document,
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
}

impl Session {
    /// Reads the file, the settings and the live account. `document` is filled as far as it goes, for the error too.
    pub(super) fn open(request: &Request, document: &mut Document) -> Result<Session, Stop> {
        let started = Instant::now();
        let global = &request.cli.global;
        let path = file(global);
        document.file = path.display().to_string();
        document.environment = environment_name(global);
        document.commit = environment("GITHUB_SHA").map(|sha| sha.chars().take(12).collect());
        let source = config::load(&path)?;
        document.file_digest = short_digest(source.text().as_bytes());
        let valid = check(&source)?;
        let notices = valid.notices.iter().map(|notice| Notice {
            about: None,
            text: notice_text(&valid.file, notice),
        });
        document.notices.extend(notices);
        let recipients = recipients(request.sealing)?;
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
        let options = Options {
            prune: request.scope.prune,
            replace,
            now: Timestamp::now(),
            listings: Listings::default(),
        };
        let (api, account) = match request.origin {
            Origin::Server(server) => (Some(connect(server)?), setting(server.account.as_ref())),
            Origin::File(_) => (None, None),
        };
        let needs = Needs::of(&valid.desired, options.prune, account.is_some());
        let snapshot = match (&api, &request.origin) {
            (Some(api), _) => {
                document.server = Some(server_name(api));
                let snapshot = fetch::fetch(api, &needs, &valid.desired);
                document.requests = api.requests();
                snapshot?
            }
            (None, Origin::File(path)) => {
                document.server = Some(path.display().to_string());
                recorded(path)?
            }
            (None, Origin::Server(_)) => Snapshot::default(),
        };
        let accounts = snapshot
            .accounts
            .iter()
            .flatten()
            .filter_map(|account| Some(account["id"].as_str()?.to_owned()));
        let accounts = accounts.collect();
        let actual = Actual::read(&snapshot).map_err(|error| Stop::error(error.to_string()))?;
        log::debug!(
            "{} objects, {} peers",
            actual.objects.values().map(Vec::len).sum::<usize>(),
            actual.peers.len()
        );
        let document = std::mem::take(document);
        Ok(Session {
            valid,
            options,
            needs,
            api,
            actual,
            accounts,
            recipients,
            document,
            started,
        })
    }

    /// Makes the plan.
    pub(super) fn plan(&self) -> Result<Plan, Stop> {
        plan::plan(&self.valid.desired, &self.actual, &self.options)
            .map_err(|problems| self.stop(&problems))
    }

    /// What the gates look at.
    pub(super) fn gates(
        &self,
        gates: &Gates,
        account: Option<String>,
        applying: bool,
    ) -> gates::Context {
        gates::Context {
            max_deletes: gates.max_deletes,
            allow_deletes: gates.allow_deletes,
            halt: environment("NETBIRD_GITOPS_HALT"),
            me: self.actual.me.clone(),
            account,
            accounts: self.accounts.clone(),
            online: self.api.is_some(),
            applying,
            recipients: self.recipients.describe().len(),
        }
    }

    /// Puts the numbers of the run into the document.
    pub(super) fn measure(&mut self) {
        self.document.requests = self.api.as_ref().map_or(0, Api::requests);
        self.document.duration_ms =
            u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
    }

    /// All problems of a plan as one error, with their places in the file.
    fn stop(&self, problems: &[Problem]) -> Stop {
        let place = |problem: &Problem| {
            let group = problem.group.as_deref();
            let reference = self.valid.references.iter().find(|reference| {
                reference.owner == problem.address && Some(reference.group.as_str()) == group
            });
            let reference = reference.map(|at| (at.line, at.column, at.path.clone()));
            let entry = || self.valid.position_of(&problem.address);
            reference.or_else(|| entry().map(|at| (at.line, at.column, at.path.clone())))
        };
        let mut text = match problems.len() {
            1 => "this cannot be planned\n".to_owned(),
            number => format!("this cannot be planned: {number} problems\n"),
        };
        for problem in problems {
            let at = place(problem).map(|(line, column, path)| {
                format!("{}:{line}:{column}  {path}\n    ", self.valid.file)
            });
            let Problem {
                address,
                text: what,
                hint,
                ..
            } = problem;
            let what = format!("{} {:?} {what}", address.kind.label(), address.name);
            text.push_str(&format!(
                "\n{}{}",
                at.unwrap_or_default(),
                crate::text::visible(&what)
            ));
            text.extend(
                hint.iter()
                    .map(|hint| format!("\n    {}", crate::text::visible(hint))),
            );
        }
        Stop::error(text)
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

fn replaced(text: &str) -> Result<Address, Stop> {
    let kinds = || Kind::ALL.into_iter();
    let found = text.split_once('/').and_then(|(section, name)| {
        let kind = kinds().find(|kind| section == kind.section() || section == kind.word())?;
        (!name.is_empty()).then(|| Address::new(kind, name))
    });
    found.ok_or_else(|| {
        let text = crate::text::visible(text).into_owned();
        Stop::error(format!("--replace {text}: KIND/NAME is wanted"))
            .hint("as in --replace setup_keys/NAME or --replace policies/NAME")
    })
}

pub(super) fn recipients(sealing: &Sealing) -> Result<Recipients, Stop> {
    let sources = Sources {
        keys: sealing.recipient.clone(),
        files: sealing.recipients_file.clone(),
        environment: environment(crate::secret::ENVIRONMENT),
    };
    sources
        .read()
        .map_err(|errors| anyhow::Error::new(errors).into())
}

/// Makes a client from flags and environment.
fn connect(server: &Server) -> Result<Api, Stop> {
    let Some(url) = setting(server.netbird_url.as_ref()) else {
        return Err(Stop::error("no NetBird server is named").hint(
            "set NETBIRD_API_URL, or --netbird-url, to something like https://netbird.example.com",
        ));
    };
    let mut config = api::config(&url)?;
    config.connect_timeout = Duration::from_secs_f64(server.connect_timeout);
    config.total_timeout = Duration::from_secs_f64(server.timeout);
    config.ca_file = setting(server.ca_file.as_ref()).map(PathBuf::from);
    config.retry.base = Duration::from_secs_f64(server.retry_wait);
    config.retry.throttle_wait = Duration::from_secs_f64(server.throttle_wait);
    Ok(Api::new(config, &token(server)?)?)
}

fn token(server: &Server) -> Result<Token, Stop> {
    let (origin, text) = match (
        environment("NETBIRD_API_TOKEN"),
        setting(server.netbird_token_file.as_ref()),
    ) {
        (Some(token), _) => ("NETBIRD_API_TOKEN".to_owned(), token),
        (None, Some(path)) => {
            let text = std::fs::read_to_string(&path).map_err(|error| {
                Stop::error(format!("cannot read the token file {path}: {error}"))
            })?;
            (path, text)
        }
        (None, None) => {
            return Err(Stop { exit: Exit::Refused, ..Stop::error("there is no NetBird token") }.hint(
                "set NETBIRD_API_TOKEN to a service user's token (role auditor for plan, admin for apply); \
                 a pull request from a fork has no secrets",
            ));
        }
    };
    Token::parse(&text).map_err(|error| Stop {
        exit: Exit::Error,
        error: format!("{origin}: {error}"),
        hint: error.hint(),
    })
}

fn recorded(path: &Path) -> Result<Snapshot, Stop> {
    let shown = path.display();
    let text = std::fs::read(path)
        .map_err(|error| Stop::error(format!("cannot read {shown}: {error}")))?;
    // as a map first: serde takes a list, an empty one too, for a struct
    let lists = serde_json::from_slice::<serde_json::Map<_, _>>(&text);
    let snapshot = lists.and_then(|lists| serde_json::from_value(lists.into()));
    snapshot.map_err(|error| {
        Stop::error(format!("{shown} is no recorded account: {error}")).hint(
            "it holds the answers of the server's lists: {\"groups\": […], \"setup_keys\": […], …}",
        )
    })
}
