//! Where a checkout stands: its root, its branch, the address that it is pushed to.

use std::path::Path;

use super::Git;
use super::command::Command;

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

    /// What git prints on one line; `None` where it fails, as it does where there is no such thing.
    fn line(&self, args: &[&str]) -> Option<String> {
        let output = Command::in_checkout(&self.dir).args(args).run().ok()?;
        let text = String::from_utf8(output).ok()?;
        Some(text.trim_end_matches('\n').to_owned()).filter(|text| !text.is_empty())
    }
}
