//! What an answer of Gitea means when it is not the one asked for (docs/gitea-api.md, "Refusals").
//!
//! A status means several things here, and texts are no contract: they choose hints, and tell a missing scope from a
//! missing permission, nothing else.

use percent_encoding::percent_decode_str;

use super::{Reply, text};
use crate::wire::http::{self, ErrorAnswer, HttpError, Trouble};

/// Why a request to Gitea did not do what it was for.
pub type GiteaError = HttpError;

impl GiteaError {
    /// Judges an answer of Gitea that is no success. `None` when it is one.
    pub(super) fn of_gitea(reply: &Reply) -> Option<GiteaError> {
        let is_page = reply.is_html() && !reply.bytes().is_empty();
        if reply.is_success() && (reply.call.method.is_safe() || !is_page) {
            return None;
        }
        // A page of a proxy or of Gitea itself says nothing, but that the URL may be wrong: no write was done by it.
        if is_page && matches!(reply.status, 200..=299 | 400..=404) {
            return reply.json().err();
        }
        let trouble = match reply.status {
            500.. => Trouble::Server,
            _ => Trouble::Refused,
        };
        let answer = ErrorAnswer::of(reply);
        let hint = hint(&answer);
        Some(GiteaError::answered(trouble, answer, hint))
    }

    /// Something that is not `wanted`, as in "a path in the repository".
    pub(super) fn bad_name(found: &str, wanted: &str) -> GiteaError {
        GiteaError::not_made(Trouble::BadName, format!("{found:?} is not {wanted}"), None)
    }

    /// A file that is not read.
    pub(super) fn content(text: String) -> GiteaError {
        GiteaError::not_made(Trouble::BadContent, text, None)
    }

    /// Says where a repository is now, if a redirect tells: nothing is followed, since a redirected PUT becomes a GET.
    pub(super) fn or_renamed(self) -> GiteaError {
        let Trouble::Redirected(Some(path)) = &self.trouble else {
            return self;
        };
        let Some(to) = repository_in(path) else {
            return self;
        };
        let text = self.to_string();
        let call = text.split_once(": ").map_or("", |(call, _)| call);
        let text = format!("{call}: the repository is {to} now");
        let hint = format!(
            "write the new name: --gitea-repo {to} (GITEA_REPO), and the remote of the checkout"
        );
        self.said(text, hint)
    }

    fn is_answered(&self) -> bool {
        matches!(self.trouble, Trouble::Refused | Trouble::Server)
    }

    fn has(&self, statuses: &[u16]) -> bool {
        let answer = self.answer.as_ref();
        answer.is_some_and(|answer| statuses.contains(&answer.status))
    }

    /// Is there nothing of that name, as far as the token may see?
    pub fn is_not_found(&self) -> bool {
        self.has(&[404])
    }

    /// Is the token not valid?
    pub fn is_unauthenticated(&self) -> bool {
        self.has(&[401])
    }

    /// Do the token's scopes not cover this?
    pub fn is_scope(&self) -> bool {
        self.status() == Some(403) && required_scope(self.message()).is_some()
    }

    /// Is it not for this token to see or to change, or not there?
    pub(super) fn is_denied(&self) -> bool {
        self.has(&[403, 404])
    }

    /// Did the server fail?
    pub fn is_failure(&self) -> bool {
        self.trouble == Trouble::Server
    }

    /// Does the token lack a right, as far as the answer tells?
    pub fn is_no_right(&self) -> bool {
        self.is_answered() && self.has(&[401, 403, 404])
    }

    /// May the token not see what it asked to read, as far as the answer tells?
    pub fn is_hidden_from_us(&self) -> bool {
        let call = self.answer.as_ref().map(|answer| &answer.call);
        self.is_no_right() && call.is_some_and(|call| call.method.is_safe())
    }

    /// Is it the answer to a commit?
    pub(super) fn is_of_a_commit(&self) -> bool {
        let path = self.answer.as_ref().map(|answer| answer.call.path());
        path.is_some_and(|path| path.ends_with("/contents"))
    }

    /// Can the same write go through in another round: a lost race, a failing server, a lost answer, a page in its place? The status alone
    /// does not tell (docs/gitea-api.md, "Writing a file"): whoever asks reads again and decides.
    pub(super) fn may_be_a_race(&self) -> bool {
        match self.status() {
            Some(status) => {
                matches!(status, 200..=299 | 403 | 409 | 422 | 500..) && !self.is_scope()
            }
            None => self.trouble == Trouble::Transport,
        }
    }

    /// Does the text say that another push came first?
    pub(super) fn says_race(&self) -> bool {
        self.message().contains("cannot lock ref") && !self.says_name_taken()
    }

    /// Does the text say that a branch cannot be made beside one that is named like its folder? Git says so with the
    /// words of a race, and it does not pass.
    pub(super) fn says_name_taken(&self) -> bool {
        self.message().contains("; cannot create '")
    }
}

/// What to do about an answer, for a line of its own.
fn hint(answer: &ErrorAnswer) -> Option<String> {
    let origin = answer.token_origin.as_deref();
    let hint = match answer.status {
        401 => {
            let hint = "the token is expired, revoked, cut off, or of another server (the job's own token is valid only \
                        during the job): create a token for the bot, and set GITEA_TOKEN to it\nin a job it comes from the \
                        secret BOT_TOKEN";
            return Some(http::with_origin(hint, origin));
        }
        403 if let Some(required) = required_scope(&answer.message) => {
            let hint = format!(
                "create a token with the scope {required}: commits need write:repository, comments write:issue"
            );
            return Some(http::with_origin(&hint, origin));
        }
        403 => {
            "the token's user is not allowed to do this: no write access, a branch rule, or a hook"
        }
        404 => {
            "check the name, and that the token's user may read the repository: Gitea answers 404 to those who may not, too"
        }
        413 => "a proxy in front of Gitea, or a quota, sets the limit",
        423 => "the repository is archived or a mirror: nothing can be written there",
        429 => "a proxy in front of Gitea limits requests: run again later",
        500.. if answer.message.is_empty() => {
            "the cause is in the server's log: Gitea shows it only to its administrators"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// Returns the scope that the server asks for, if that is what the text is about. Gitea writes
/// `required=[write:issue]`, Forgejo `scope(s): [write:issue]` (docs/gitea-api.md, "Token scopes").
fn required_scope(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("required scope")?;
    let inside = rest
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    match inside {
        None | Some(("", _)) => Some("write:repository and write:issue"),
        Some((scopes, _)) => Some(scopes),
    }
}

/// Returns the full name in a path like `/sub/api/v1/repos/OWNER/NAME/contents/x`.
fn repository_in(path: &str) -> Option<String> {
    let (_, rest) = path.split_once("/api/v1/repos/")?;
    let mut segments = rest.split('/');
    let (owner, name) = (segments.next()?, segments.next()?);
    let decode = |segment: &str| percent_decode_str(segment).decode_utf8_lossy().into_owned();
    Some(text::clean(
        &format!("{}/{}", decode(owner), decode(name)),
        200,
    ))
}
