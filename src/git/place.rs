//! Where a checkout stands: its root, its branch, the address that it is pushed to.

use std::path::Path;

use super::{Git, GitCommand, ObjectStore};

impl Git {
    /// Returns the root of the work tree, canonical.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Returns the branch that is checked out, also where it has no commit yet; `None` where there is none.
    pub fn branch(&self) -> Option<String> {
        self.line(&["symbolic-ref", "-q", "--short", "HEAD"])
    }

    /// Returns the address of the remote `origin`, which may hold a password.
    pub fn origin(&self) -> Option<String> {
        self.line(&["config", "--get", "remote.origin.url"])
    }

    /// Asks the remote `origin` whether it has a branch; `None` where it cannot be asked. Nothing is fetched, and no password
    /// is asked for: what needs one beside an agent of SSH keys cannot be asked.
    pub fn remote_has(&self, branch: &str) -> Option<bool> {
        let url = self.origin()?;
        let mut command = self.scratch.command(ObjectStore::Scratch);
        // The address stands in no argument, since it may hold a password. The protocols are those that run no program of
        // the remote's choice.
        for (name, value) in [
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "remote.origin.url"),
            ("GIT_CONFIG_VALUE_0", &url),
            ("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh"),
            (
                "GIT_SSH_COMMAND",
                "ssh -o BatchMode=yes -o ConnectTimeout=10",
            ),
            ("GIT_HTTP_LOW_SPEED_LIMIT", "1"),
            ("GIT_HTTP_LOW_SPEED_TIME", "10"),
        ] {
            command.env(name, value);
        }
        if let Some(agent) = std::env::var_os("SSH_AUTH_SOCK") {
            command.env("SSH_AUTH_SOCK", agent);
        }
        let name = format!("refs/heads/{branch}");
        command.args(["ls-remote", "--quiet", "origin", &name]);
        let found = command.run().ok()?;
        Some(!found.is_empty())
    }

    /// What git prints on one line; `None` where it fails, as it does where there is no such thing.
    fn line(&self, args: &[&str]) -> Option<String> {
        let output = GitCommand::in_checkout(&self.dir).args(args).run().ok()?;
        let text = String::from_utf8(output).ok()?;
        Some(text.trim_end_matches('\n').to_owned()).filter(|text| !text.is_empty())
    }
}
