//! The two servers that this fake can be, and in what their plainest answers differ.

/// Which server the fake stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Flavour {
    /// Gitea 1.26.3.
    Gitea,
    /// Forgejo 12.0.4.
    Forgejo,
}

impl Flavour {
    /// Returns the one or the other.
    pub(super) fn pick<T>(self, gitea: T, forgejo: T) -> T {
        match self {
            Flavour::Gitea => gitea,
            Flavour::Forgejo => forgejo,
        }
    }

    pub(super) fn version(self) -> &'static str {
        self.pick("1.26.3", "12.0.4+gitea-1.22.0")
    }

    /// Returns the login of the user behind job tokens.
    pub(super) fn actions_user(self) -> &'static str {
        self.pick("gitea-actions", "forgejo-actions")
    }

    /// Returns what a 404 says that has nothing of its own to say.
    pub(super) fn not_found(self) -> &'static str {
        self.pick("not found", "The target couldn't be found.")
    }
}
