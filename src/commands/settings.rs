//! Settings: flags and environment, of which an empty one is unset.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cli::{Cli, Command, GiteaArgs};
use super::{Failure, Say};
use crate::base::{Id, ask, files, joined, nearest, visible};
use crate::forge::ci::Context;
use crate::forge::gitea::{self, GiteaError, inventory::BRANCH as INVENTORY};
use crate::model::{Address, Kind};
use crate::secret::{ENVIRONMENT, Recipients, Sources};
use crate::wire::api::{self, Api, Token};
use crate::wire::http::Config;

/// Reads an environment variable; an empty one is unset: CI passes missing secrets as empty. One that is not a text is
/// refused before ([`readable`]).
pub fn environment(name: &str) -> Option<String> {
    let value = std::env::var(name).ok();
    value.filter(|value| !value.trim().is_empty())
}

/// The kill switch. Whatever it is set to stops an apply, blanks and bytes that are no text too.
pub(super) fn halt() -> Option<String> {
    let value = std::env::var_os(HALT).filter(|value| !value.is_empty())?;
    Some(value.to_string_lossy().into_owned())
}

const HALT: &str = "NETBIRD_GITOPS_HALT";

/// Checks that every variable that the program reads is text, and that it may read the files that it makes. A variable that
/// is not a text must not count as unset: fewer people would get new keys, a check would be off. With the wrong umask an apply
/// would stop half way.
pub(super) fn readable() -> Result<(), Failure> {
    if let Some(text) = unreadable_variables() {
        return Err(Failure::error(text).hint("set it again, in UTF-8, or unset it"));
    }
    match umask().filter(|mask| mask & OWNERS_RIGHTS != 0) {
        None => Ok(()),
        Some(mask) => {
            let text = format!(
                "with the umask {mask:04o} this program cannot read the files that it writes"
            );
            Err(Failure::error(text).hint("set another one before, as in: umask 077"))
        }
    }
}

/// What a umask must leave to the owner of a file.
const OWNERS_RIGHTS: u32 = 0o700;

/// Returns the umask, where the system says.
fn umask() -> Option<u32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    u32::from_str_radix(mask?.trim(), 8).ok()
}

/// Returns which of the variables that the program reads are no text, in a sentence; the kill switch aside, which needs
/// none.
pub fn unreadable_variables() -> Option<String> {
    let unreadable = std::env::vars_os().filter(|(_, value)| value.to_str().is_none());
    let names = unreadable.filter_map(|(name, _)| name.into_string().ok());
    let names = names.filter(|name| is_ours(name) && name != HALT);
    let names: BTreeSet<String> = names.collect();
    let verb = if names.len() == 1 { "holds" } else { "hold" };
    let shown = joined(&names, ", ");
    (!names.is_empty()).then(|| format!("{shown} {verb} bytes that are not UTF-8"))
}

/// Returns which argument is not a text, in a sentence.
pub fn unreadable_arguments() -> Option<String> {
    let mut arguments = std::env::args_os().skip(1);
    let unreadable = arguments.find(|argument| argument.to_str().is_none())?;
    let unreadable = unreadable.to_string_lossy();
    let shown = visible(&unreadable);
    Some(format!(
        "the argument {shown} holds bytes that are not UTF-8"
    ))
}

/// Is it a variable that the program reads?
fn is_ours(name: &str) -> bool {
    let prefixes = ["NETBIRD_", "GITEA_", "BOT_TOKEN"];
    matches!(name, ENVIRONMENT | "CI" | "NO_COLOR" | "RUST_LOG")
        || prefixes.iter().any(|prefix| name.starts_with(prefix))
        || crate::forge::ci::is_variable(name)
        || crate::wire::http::is_proxy_variable(name)
}

/// Returns a setting; an empty one is unset.
pub(super) fn setting(value: Option<&String>) -> Option<String> {
    let value = value.map(|value| value.trim().to_owned());
    value.filter(|value| !value.is_empty())
}

/// What every command needs, resolved once: flags before variables before the job, and an empty one is unset.
pub(super) struct Run<'a> {
    pub(super) cli: &'a Cli,
    pub(super) command: &'a Command,
    pub(super) say: Say,
    /// The file.
    pub(super) file: PathBuf,
    /// The network's name in comments and issues.
    pub(super) environment: String,
    /// The server of the repository.
    pub(super) gitea_url: Option<String>,
    /// The repository's name.
    pub(super) repository: Option<String>,
    /// The branch that is applied, where flags or variables name it.
    pub(super) named_branch: Option<String>,
    /// The job around us.
    pub(super) context: Context,
}

impl Command {
    /// A setting of the forge that a flag or its variable names; what the job around us has is not looked at.
    pub(super) fn named(&self, of: fn(&GiteaArgs) -> &Option<String>) -> Option<String> {
        setting(of(self.gitea()?).as_ref())
    }
}

impl<'a> Run<'a> {
    pub(super) fn new(cli: &'a Cli, say: Say) -> Self {
        let (global, command, context) = (&cli.global, &cli.command, Context::of_process());
        let file = setting(global.file.as_ref()).unwrap_or_else(|| "netbird.json".into());
        let environment = setting(global.environment.as_ref());
        let (url, name) = (
            command.named(|it| &it.gitea_url),
            command.named(|it| &it.gitea_repo),
        );
        Run {
            cli,
            command,
            say,
            file: file.into(),
            environment: environment.unwrap_or_else(|| "default".into()),
            gitea_url: url.or_else(|| context.server_url.clone()),
            repository: name.or_else(|| context.repository.clone()),
            named_branch: command.named(|it| &it.branch),
            context,
        }
    }

    /// The branch that is applied.
    pub(super) fn branch(&self) -> Option<String> {
        let (named, job) = (self.named_branch.clone(), &self.context);
        let named = named.or_else(|| job.branch.clone());
        named.or_else(|| job.default_branch.clone())
    }

    /// The token of the repository.
    pub(super) fn gitea_token(&self) -> Result<Option<Token>, Failure> {
        let flag = self.command.gitea();
        let flag = flag.and_then(|it| it.gitea_token_file.as_ref());
        find_token("GITEA_TOKEN", flag)
    }

    /// The only account that the run may work on, where one is named.
    pub(super) fn account(&self) -> Option<String> {
        setting(self.command.server()?.account.as_ref())
    }

    /// The file of the inventory, where one is named.
    pub(super) fn inventory(&self) -> Option<String> {
        setting(self.command.servers()?.inventory.inventory.as_ref())
    }

    /// The files of recipients.
    pub(super) fn recipients_files(&self) -> &'a [PathBuf] {
        let sealing = self.command.sealing();
        sealing.map_or(&[], |sealing| &sealing.recipients_file)
    }

    /// Whether it writes the inventory.
    pub(super) fn writes(&self) -> bool {
        matches!(self.command, Command::Apply(_) | Command::SyncEvents(_))
    }

    /// Whether this is the job of a pull request from a fork, which has no secrets.
    pub(super) fn is_of_fork(&self) -> bool {
        let pull = self.context.pull_request.as_ref();
        self.context.event == "pull_request" && pull.is_some_and(|pull| pull.is_fork)
    }

    /// The file, as messages name it.
    pub(super) fn file_name(&self) -> String {
        files::shown(&self.file)
    }
}

/// Returns the branch of the inventory; `others` are branches that it must not be, and what each is.
pub(super) fn inventory_branch<'a>(
    run: &Run,
    others: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<String, Failure> {
    let named = match run.command {
        Command::Init(args) => args.inventory_branch.as_ref(),
        command => command
            .servers()
            .and_then(|it| it.inventory.inventory_branch.as_ref()),
    };
    let branch = setting(named).unwrap_or_else(|| INVENTORY.to_owned());
    let Some((_, what)) = others.into_iter().find(|(other, _)| *other == branch) else {
        return Ok(branch);
    };
    let text =
        format!("{branch} is {what}: the inventory needs a branch that is used for nothing else");
    let hint = "name another with --inventory-branch (NETBIRD_GITOPS_INVENTORY_BRANCH)";
    Err(Failure::error(visible(&text)).hint(hint))
}

/// The directory of sealed keys.
pub(super) fn keys_dir(flag: Option<&String>) -> PathBuf {
    setting(flag).unwrap_or_else(|| "sealed-keys".into()).into()
}

/// The object that `--replace` or a command names.
pub(super) fn replaced(text: &str) -> Result<Address, Failure> {
    let address = named(text)?;
    match address.kind.parent() {
        None => Ok(address),
        Some(parent) => Err(named_by(address.kind, parent)),
    }
}

/// The objects that `--protect` and its variable name. A name with a comma in it is for the flag.
pub(super) fn protected(flags: &[String]) -> Result<BTreeSet<Address>, Failure> {
    let protected = |text: &String| {
        let address = named(text)?;
        let kind = address.kind;
        match kind.parent() {
            _ if !can_go(kind) => {
                let (text, kinds) = (visible(text), kind.plural());
                let error = format!("--protect {text}: {kinds} are never deleted");
                Err(Failure::error(error)
                    .hint("name an object that an apply can delete, such as groups/NAME"))
            }
            Some(parent) if !kind.has_names() => Err(named_by(kind, parent)),
            _ => Ok(address),
        }
    };
    let texts = with_variable(flags, "NETBIRD_GITOPS_PROTECT");
    texts.iter().map(protected).collect()
}

/// The objects that `--adopt` and its variable name for entries, or for names of machines. A name with a comma in it is for the
/// flag.
pub(super) fn adopted(flags: &[String]) -> Result<BTreeMap<Address, Id>, Failure> {
    let adopted = |text: &String| {
        let found = text.rsplit_once('=').and_then(|(key, id)| {
            let address = Address::of_key(key)?;
            let is_told = !id.is_empty() && !address.key().ends_with('/');
            is_told.then(|| (address, Id::from(id)))
        });
        let error = |error: &str| Failure::error(format!("--adopt {:?}: {error}", visible(text)));
        match found {
            Some((address, _)) if !can_go(address.kind) => Err(error("users are never adopted").hint(
                "an entry means the user who has its e-mail address; where several have it, identity_provider says which",
            )),
            Some(found) => Ok(found),
            None => Err(error("expected KIND/NAME=ID").hint(
                "as in setup_keys/NAME=ID, peers/NAME=ID, routers/NETWORK=ID or records/ZONE/NAME TYPE=ID",
            )),
        }
    };
    let texts = with_variable(flags, "NETBIRD_GITOPS_ADOPT");
    let mut all: BTreeMap<Address, Id> = BTreeMap::new();
    for text in &texts {
        let (address, id) = adopted(text)?;
        let before = all.insert(address.clone(), id.clone());
        if let Some(before) = before.filter(|before| *before != id) {
            let text = format!(
                "--adopt names two objects for {}: {before} and {id}",
                address.key()
            );
            return Err(Failure::error(text).hint("name one of them"));
        }
    }
    Ok(all)
}

/// Whether an apply can delete objects of a kind, so that it matters whose they are.
fn can_go(kind: Kind) -> bool {
    kind.goes_with_entry() || kind.enrolls()
}

/// The values of a flag, and more of its variable, with commas or one a line.
fn with_variable(flags: &[String], variable: &str) -> Vec<String> {
    let variable = environment(variable).unwrap_or_default();
    let more = variable.split([',', '\n']);
    let texts = flags.iter().map(String::as_str).chain(more).map(str::trim);
    let texts = texts.filter(|text| !text.is_empty());
    texts.map(str::to_owned).collect()
}

/// Reads KIND/NAME; of what there is one of, KIND. A record's zone may stand before its name.
fn named(text: &str) -> Result<Address, Failure> {
    let (section, name) = text.split_once('/').unwrap_or((text, ""));
    let words = |kind: &Kind| match kind.is_one() {
        true => vec![kind.word()],
        false => vec![kind.section(), kind.word()],
    };
    let mut kinds = Kind::ALL.into_iter();
    let kind = kinds.find(|kind| words(kind).contains(&section));
    // another kind may be meant: `groups/x` by `Groups/x`
    let near = match kind {
        Some(kind) if kind.is_one() == name.is_empty() => {
            let key = format!("{}/{name}", kind.section());
            return Ok(Address::of_key(&key).unwrap_or_else(|| Address::new(kind, name)));
        }
        Some(_) => None,
        None => {
            let kinds = Kind::ALL.iter().filter(|kind| kind.parent().is_none());
            nearest(section, kinds.flat_map(words))
        }
    };
    let hint = match (near, name) {
        (None, _) => "as in setup_keys/NAME or policies/NAME".into(),
        (Some(near), "") => ask(near),
        (Some(near), name) => ask(&format!("{near}/{name}")),
    };
    let text = visible(text);
    let text = format!("unknown object {text:?}: expected KIND/NAME, for example policies/ssh");
    Err(Failure::error(text).hint(hint))
}

fn named_by(kind: Kind, parent: Kind) -> Failure {
    let (label, parent_label) = (kind.label(), parent.label());
    let text = format!("a {label} cannot be named here");
    let hint = format!("name its {parent_label}: {}/NAME", parent.section());
    Failure::error(text).hint(hint)
}

/// Who can open new keys.
pub(super) fn recipients(
    run: &Run,
    merged: BTreeMap<PathBuf, Vec<u8>>,
) -> Result<Recipients, Failure> {
    let keys = run.command.sealing().map(|it| it.recipient.clone());
    let sources = Sources {
        keys: keys.unwrap_or_default(),
        files: run.recipients_files().to_vec(),
        merged,
        environment: environment(ENVIRONMENT),
    };
    Ok(sources.read()?)
}

/// Makes a client from flags and environment.
pub(super) fn connect(run: &Run) -> Result<Api, Failure> {
    match (api_config(run), token(run)) {
        (Err(no_server), Err(no_token)) => Err(no_server.and(no_token)),
        (_, token) => connect_as(run, &token?),
    }
}

/// Makes a client with this token.
pub(super) fn connect_as(run: &Run, token: &Token) -> Result<Api, Failure> {
    Ok(Api::new(api_config(run)?, token)?)
}

/// How to reach NetBird.
pub(super) fn api_config(run: &Run) -> Result<Config, Failure> {
    let server = run.command.server();
    let Some(url) = server.and_then(|server| setting(server.netbird_url.as_ref())) else {
        let hint =
            "set NETBIRD_API_URL, or --netbird-url, to a URL such as https://netbird.example.com";
        return Err(Failure::error("no NetBird server is named").hint(hint));
    };
    let mut config = api::config(&url)?;
    wait(run, &mut config);
    config.ca_file = server.and_then(|it| setting(it.ca_file.as_ref()).map(PathBuf::from));
    Ok(config)
}

/// How to reach Gitea or Forgejo. The flag that names CAs is for NetBird, its variable for both.
pub(super) fn gitea_config(run: &Run, url: &str) -> Result<Config, GiteaError> {
    let mut config = gitea::config(url)?;
    wait(run, &mut config);
    config.ca_file = environment("NETBIRD_GITOPS_CA_FILE").map(PathBuf::from);
    Ok(config)
}

/// Puts in how long a run waits for its servers: that ends with a signal.
fn wait(run: &Run, config: &mut Config) {
    config.retry.sleep = super::signals::wait;
    let Some(server) = run.command.server() else {
        return;
    };
    config.connect_timeout = Duration::from_secs_f64(server.connect_timeout);
    config.total_timeout = Duration::from_secs_f64(server.timeout);
    config.retry.base = Duration::from_secs_f64(server.retry_wait);
    config.retry.throttle_wait = Duration::from_secs_f64(server.throttle_wait);
}

/// What to do where there is no token of NetBird.
const NO_TOKEN: &str = "set NETBIRD_API_TOKEN to the token of a service user: role auditor for plan, admin for apply\nin a job it comes \
                        from the secret NETBIRD_PLAN_TOKEN (plan, drift) or NETBIRD_APPLY_TOKEN (apply, sync-events)";

/// The token of NetBird. A fork's job has no secrets, which is worth a word.
pub(super) fn token(run: &Run) -> Result<Token, Failure> {
    let flag = run.command.server();
    let flag = flag.and_then(|server| server.netbird_token_file.as_ref());
    match find_token("NETBIRD_API_TOKEN", flag)? {
        Some(token) => Ok(token),
        None if run.context.is_pull_request_event() => {
            let pull = run.context.pull_request.as_ref();
            let hint = match pull.is_some_and(|pull| !pull.is_fork) {
                true => NO_TOKEN,
                false => {
                    "a pull request from a fork has no secrets: let somebody with write access push the branch, or switch \
                     to the pull_request_target workflow (examples/workflows/plan-forks.yml)"
                }
            };
            let text = "there is no NetBird token in this pull request's job";
            Err(Failure::refused(text).hint(hint))
        }
        None => Err(Failure::error("there is no NetBird token").hint(NO_TOKEN)),
    }
}

/// Finds a token: the file that a flag names wins over the variable `name` that holds the token itself, and that one
/// over the variable `name`_FILE that names a file. `None` where there is none of them.
pub(super) fn find_token(name: &str, flag: Option<&String>) -> Result<Option<Token>, Failure> {
    let file_variable = format!("{name}_FILE");
    let of_variable = || setting(environment(&file_variable).as_ref());
    let (origin, path) = match (setting(flag), environment(name)) {
        (Some(path), _) => (format!("the file {path}"), path),
        (None, Some(text)) => return token_of(&text, name.to_owned()).map(Some),
        (None, None) => match of_variable() {
            Some(path) => (format!("the file {path} ({file_variable})"), path),
            None => return Ok(None),
        },
    };
    let path = Path::new(&path);
    let text = files::read_text(path, files::SMALL)
        .map_err(|error| Failure::of_file("read the token file", path, &error))?;
    token_of(&text, origin).map(Some)
}

fn token_of(text: &str, origin: String) -> Result<Token, Failure> {
    match Token::parse(text) {
        Ok(token) => Ok(token.from(origin)),
        Err(no) => Err(Failure::error(format!("{origin}: {}", no.text)).hint(no.hint)),
    }
}
