//! One git process: its environment, the settings that keep it from running anything, its output.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use super::{GitError, Result};
use crate::base::text::file_error;

/// The variables that git gets. Everything else stays here: tokens under whatever name, and `GIT_DIR` and its like,
/// which are set where this runs in a hook. The three of git's own say where the user's configuration is, in which
/// `safe.directory` stands (what `GIT_CONFIG_COUNT` says of it goes too, see `trusted`); `SUDO_UID` is another part of that
/// check.
const KEPT: &str = "HOME USER LOGNAME XDG_CONFIG_HOME USERPROFILE SYSTEMROOT PROGRAMDATA TMPDIR TEMP TMP LD_LIBRARY_PATH SUDO_UID \
                    GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM";

/// Said on the command line, these win over every file. In a checkout they are a second wall, since the commands that
/// run there start nothing anyway; in the scratch repository they make output independent of the user's taste.
const SETTINGS: [&str; 22] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.askPass=",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.alternateRefsCommand=false",
    "core.attributesFile=/dev/null",
    "core.quotePath=false",
    "credential.helper=",
    "diff.external=",
    "gpg.program=false",
    "log.showSignature=false",
    "log.follow=false",
    "log.showRoot=true",
    "log.diffMerges=first-parent",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "gc.auto=0",
    "maintenance.auto=false",
    "color.ui=false",
    "advice.graftFileDeprecated=false",
];

/// A git command to be run.
#[derive(Debug)]
pub(super) struct GitCommand {
    process: std::process::Command,
    /// The subcommand, for messages.
    name: String,
    dir: String,
    input: Option<String>,
}

impl GitCommand {
    /// A command in the checkout itself: for discovery and the naming of commits only.
    pub(super) fn in_checkout(dir: &Path) -> Self {
        let path = path();
        let mut process = std::process::Command::new(program(&path));
        process.env_clear().current_dir(dir).env("PATH", &path);
        let kept = KEPT.split(' ');
        let kept = kept.filter_map(|name| Some((name, env::var_os(name)?)));
        process.envs(kept);
        // of what else the environment sets, only whom git trusts: the rest could name programs
        let trusted = trusted(|name| env::var_os(name));
        for (number, directory) in trusted.iter().enumerate() {
            process.env(format!("GIT_CONFIG_KEY_{number}"), SAFE);
            process.env(format!("GIT_CONFIG_VALUE_{number}"), directory);
        }
        process.env("GIT_CONFIG_COUNT", trusted.len().to_string());
        process.envs([
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_LITERAL_PATHSPECS", "1"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_ALLOW_PROTOCOL", "none"),
            ("GIT_PAGER", "cat"),
            ("LC_ALL", "C"),
        ]);
        process.arg("--no-pager");
        for setting in SETTINGS {
            process.args(["-c", setting]);
        }
        GitCommand {
            process,
            name: String::new(),
            dir: dir.display().to_string(),
            input: None,
        }
    }

    /// A command in the scratch repository at `dir`: neither the checkout's configuration nor the user's is read.
    pub(super) fn in_scratch(dir: &Path) -> Self {
        let mut command = GitCommand::in_checkout(dir);
        command.process.env("GIT_CONFIG_NOSYSTEM", "1");
        for (name, value) in [
            ("GIT_CONFIG_GLOBAL", Path::new("/dev/null")),
            ("HOME", dir),
            ("XDG_CONFIG_HOME", dir),
            ("GIT_DIR", dir),
        ] {
            command.process.env(name, value);
        }
        command
    }

    pub(super) fn env(&mut self, name: &str, value: impl AsRef<OsStr>) -> &mut Self {
        self.process.env(name, value);
        self
    }

    /// Adds arguments; the first one ever is the subcommand.
    pub(super) fn args<S: AsRef<str>>(&mut self, args: impl IntoIterator<Item = S>) -> &mut Self {
        for arg in args {
            if self.name.is_empty() {
                self.name = arg.as_ref().into();
            }
            self.process.arg(arg.as_ref());
        }
        self
    }

    /// What it reads on stdin.
    pub(super) fn input(&mut self, text: String) -> &mut Self {
        self.input = Some(text);
        self
    }

    /// Runs it and returns its stdout.
    pub(super) fn run(&mut self) -> Result<Vec<u8>> {
        let output = self.output()?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(self.refused(&output.stderr)),
        }
    }

    /// Runs it and returns its stdout; `None` where it ends with 1, by which git says no.
    pub(super) fn run_or_no(&mut self) -> Result<Option<Vec<u8>>> {
        let output = self.output()?;
        match output.status.code() {
            Some(0) => Ok(Some(output.stdout)),
            Some(1) => Ok(None),
            _ => Err(self.refused(&output.stderr)),
        }
    }

    /// Runs it and returns all of what came, whatever its exit code.
    pub(super) fn output(&mut self) -> Result<Output> {
        log::debug!("git {}", self.shown());
        let stdin = match &self.input {
            // a pipe could be full while git waits for its answers to be read
            Some(text) => file_of(text).map(Stdio::from).map_err(|error| {
                let why = file_error(&error);
                GitError::new(format!("cannot write a temporary file: {why}"))
            })?,
            None => Stdio::null(),
        };
        let output = self.process.stdin(stdin).output();
        output.map_err(|error| GitError::start(&error))
    }

    pub(super) fn refused(&self, said: &[u8]) -> GitError {
        GitError::refused(&self.name, said, &self.dir)
    }

    /// The command without the settings, for the log.
    fn shown(&self) -> String {
        let args = self.process.get_args().skip(1 + 2 * SETTINGS.len());
        let args: Vec<_> = args.map(OsStr::to_string_lossy).collect();
        args.join(" ")
    }
}

/// A file without a name that holds a text, to be read from its start.
fn file_of(text: &str) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// The setting that names whose checkouts git trusts.
const SAFE: &str = "safe.directory";

/// Its values in `GIT_CONFIG_KEY_0`, `GIT_CONFIG_VALUE_0` and so on, in their order, which counts: an empty one takes the others
/// back.
fn trusted(lookup: impl Fn(&str) -> Option<OsString>) -> Vec<OsString> {
    let count = lookup("GIT_CONFIG_COUNT").and_then(|count| count.to_str()?.parse().ok());
    let numbers = 0..count.unwrap_or(0_u16);
    let value = |number| {
        let key = lookup(&format!("GIT_CONFIG_KEY_{number}"))?;
        let is_safe = key
            .to_str()
            .is_some_and(|key| key.eq_ignore_ascii_case(SAFE));
        let value = is_safe.then(|| lookup(&format!("GIT_CONFIG_VALUE_{number}")));
        value.flatten()
    };
    numbers.filter_map(value).collect()
}

/// Where git is on PATH. By its path a process starts without a fork, which costs more than git takes to answer.
fn program(path: &OsStr) -> PathBuf {
    let mut programs = env::split_paths(path).map(|dir| dir.join("git"));
    let found = programs.find(|program| is_program(program));
    found.unwrap_or_else(|| "git".into())
}

/// Whether git is on PATH; true where that cannot be told.
pub(super) fn is_installed() -> bool {
    cfg!(not(unix)) || program(&path()).is_absolute()
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let file = file.metadata();
    file.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(_: &Path) -> bool {
    false
}

/// PATH without relative directories: one of them would be the checkout, and a file there could be called git.
fn path() -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let absolute = env::split_paths(&path).filter(|dir| dir.is_absolute());
    env::join_paths(absolute).unwrap_or_default()
}
