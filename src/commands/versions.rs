//! Which server a run failed on: an old one lacks what the program needs, and its errors do not say so.

use super::Failure;
use crate::forge::gitea::{GiteaError, Repo};
use crate::wire::api::{Api, ApiError, numbers};
use crate::wire::http::Trouble;

/// What is said of a NetBird that does not tell its version (docs/netbird-api.md, "Versions").
pub(super) const OLD_NETBIRD: &str =
    "this server is older than NetBird 0.64.2; docs/netbird-api.md has what it lacks";

/// The oldest Gitea for the commands, the oldest for the workflows, and the oldest Forgejo for both (docs/gitea-api.md,
/// "Versions").
const GITEA: (u32, u32) = (1, 23);
const GITEA_WORKFLOWS: (u32, u32) = (1, 26);
const FORGEJO: (u32, u32) = (15, 0);

/// Returns what an error of NetBird means for a run, with the server's version where that is an old one.
pub(super) fn of_netbird(api: &Api, error: anyhow::Error) -> Failure {
    let asks = error.downcast_ref::<ApiError>();
    let asks = asks.is_some_and(|error| match error.trouble {
        Trouble::Decode => true,
        Trouble::Throttled => false,
        _ => error.answer.is_some() && !error.is_access(),
    });
    let old = if asks { old_netbird(api) } else { None };
    Failure::from(error).aside(old)
}

/// Says that this server is an old one, if it is: behind a wrong URL not even its users are there.
pub(super) fn old_netbird(api: &Api) -> Option<String> {
    api.version().err().filter(ApiError::is_absent)?;
    let users = api.list("/users");
    let is_there = users.is_ok_and(|users| !users.is_empty());
    is_there.then(|| OLD_NETBIRD.to_owned())
}

/// Returns whether the commands work with that Gitea or Forgejo, whatever its workflows do.
pub(super) fn commands_work(version: &str) -> bool {
    let oldest = match version.contains("+gitea-") {
        true => FORGEJO,
        false => GITEA,
    };
    numbers(version).is_none_or(|found| found >= oldest)
}

/// Returns what an error of Gitea means for a run, with the server's version where that is an old one.
pub(super) fn of_gitea(repo: &Repo, error: GiteaError) -> Failure {
    let answer = error.answer.as_ref();
    let asks = answer.is_some_and(|answer| answer.status != 401);
    let old = if asks { old_gitea(repo) } else { None };
    Failure::from(error).aside(old)
}

/// Says which version this server is, if it is too old.
pub(super) fn old_gitea(repo: &Repo) -> Option<String> {
    told_of_gitea(&repo.version().ok()?)
}

/// Says that this version is too old, if it is. A Forgejo answers `15.0.3+gitea-1.22.0`, whatever it is
/// (docs/gitea-api.md, "Versions").
pub(super) fn told_of_gitea(version: &str) -> Option<String> {
    let found = numbers(version)?;
    if let Some((version, _)) = version.split_once("+gitea-") {
        let oldest = FORGEJO.0;
        return (found < FORGEJO).then(|| {
            format!(
                "this server is Forgejo {version}; netbird-gitops needs Forgejo {oldest} or later"
            )
        });
    }
    let [commands, workflows] =
        [GITEA, GITEA_WORKFLOWS].map(|(major, minor)| format!("{major}.{minor}"));
    (found < GITEA_WORKFLOWS).then(|| {
        format!(
            "this server is Gitea {version}; the commands need Gitea {commands} or later, the workflows {workflows} or later"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::told_of_gitea;
    use crate::wire::api::numbers;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(numbers("0.9.1"), Some((0, 9)));
        assert_eq!(numbers("v1.26.3"), Some((1, 26)));
        assert_eq!(numbers("1.27.0-rc0"), Some((1, 27)));
        assert_eq!(numbers("development"), None);
        assert!(numbers("0.9.0").unwrap() < numbers("0.55.0").unwrap());
    }

    #[test]
    fn old_forges_are_named() {
        for new in [
            "1.26.3",
            "1.27.0-rc0",
            "15.0.3+gitea-1.22.0",
            "17.0.0-dev+gitea-1.22.0",
            "dev",
        ] {
            assert_eq!(told_of_gitea(new), None, "{new}");
        }
        for (old, words) in [
            (
                "1.25.4",
                "this server is Gitea 1.25.4; the commands need Gitea 1.23 or later, the workflows 1.26 or later",
            ),
            (
                "12.0.4+gitea-1.22.0",
                "this server is Forgejo 12.0.4; netbird-gitops needs Forgejo 15 or later",
            ),
        ] {
            assert_eq!(told_of_gitea(old).as_deref(), Some(words));
        }
    }
}
