//! What an answer of Gitea means when it is not the one asked for (docs/gitea-api.md, "Refusals").
//!
//! A status means several things here, and texts are no contract: they choose hints, and tell a missing scope from a
//! missing permission, nothing else.

use std::fmt;

use percent_encoding::percent_decode_str;

use crate::wire::http::{self, ErrorAnswer, HttpError, Reply, Trouble, text};

/// Why a request to Gitea did not do what it was for.
#[derive(Debug)]
pub enum GiteaError {
    /// The server refused it or failed; the status and the text say why.
    Answered(ErrorAnswer),
    /// It does not exist, and the rest of what was asked for does: 404.
    Missing(Box<Missing>),
    /// What was given, or what stands at a path, cannot be used.
    Unfit(Unfit, String, Option<&'static str>),
    /// There was no answer to judge, or not the one asked for.
    Http(HttpError),
}

/// What a repository that can be seen does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The answer.
    pub answer: ErrorAnswer,
    /// Whether it is a file, on a branch that is there.
    pub is_file: bool,
    /// What is missing, in words.
    pub text: String,
    /// What to do about it.
    pub hint: String,
}

/// What cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// The name of a repository or a path.
    Name,
    /// What stands at a path is not a file.
    NotAFile,
    /// A file's content: too large, not handed out, or another than it has to be.
    Content,
}

impl GiteaError {
    /// Judges an answer that is no success. `None` when it is one.
    pub(super) fn of(reply: &Reply) -> Option<GiteaError> {
        if reply.is_success() {
            return None;
        }
        // A page of a proxy or of Gitea itself says nothing, but that the URL may be wrong.
        if reply.is_html() && matches!(reply.status, 400..=404) {
            return reply.json().err().map(GiteaError::Http);
        }
        Some(GiteaError::Answered(ErrorAnswer::of(reply)))
    }

    /// Something that is not `wanted`, as in "a path in the repository".
    pub(super) fn bad_name(found: &str, wanted: &str) -> GiteaError {
        GiteaError::Unfit(Unfit::Name, format!("{found:?} is not {wanted}"), None)
    }

    /// A file that is not read.
    pub(super) fn content(text: String) -> GiteaError {
        GiteaError::Unfit(Unfit::Content, text, None)
    }

    /// Returns the answer, if there was one in JSON or with a message.
    pub fn answer(&self) -> Option<&ErrorAnswer> {
        match self {
            GiteaError::Answered(answer) => Some(answer),
            GiteaError::Missing(missing) => Some(&missing.answer),
            GiteaError::Unfit(..) | GiteaError::Http(_) => None,
        }
    }

    /// Returns the status of the answer, also of one that is a page.
    pub fn status(&self) -> Option<u16> {
        match self {
            GiteaError::Http(HttpError {
                trouble: Trouble::NotJson(status),
                ..
            }) => Some(*status),
            error => Some(error.answer()?.status),
        }
    }

    fn message(&self) -> &str {
        self.answer().map_or("", |answer| &answer.message)
    }

    /// Is there nothing of that name, as far as the token may see?
    pub fn is_not_found(&self) -> bool {
        self.answer().is_some_and(|answer| answer.status == 404)
    }

    /// Is the token not valid?
    pub fn is_unauthenticated(&self) -> bool {
        self.answer().is_some_and(|answer| answer.status == 401)
    }

    /// Do the token's scopes not cover this?
    pub fn is_scope(&self) -> bool {
        self.status() == Some(403) && required_scope(self.message()).is_some()
    }

    /// Is it not for this token to see or to change, or not there?
    pub(super) fn is_denied(&self) -> bool {
        let answer = self.answer();
        answer.is_some_and(|answer| matches!(answer.status, 403 | 404))
    }

    /// Did the server fail?
    pub fn is_failure(&self) -> bool {
        self.answer().is_some_and(|answer| answer.status >= 500)
    }

    /// Does the token lack a right, as far as the answer tells?
    pub fn is_no_right(&self) -> bool {
        matches!(self, GiteaError::Answered(answer) if matches!(answer.status, 401 | 403 | 404))
    }

    /// May the token not see what it asked to read, as far as the answer tells?
    pub fn is_hidden_from_us(&self) -> bool {
        let reads = |answer: &ErrorAnswer| !answer.call.method.writes();
        self.is_no_right() && self.answer().is_some_and(reads)
    }

    /// Is it the URL that a gate refuses (exit code 3)?
    pub fn is_url_refused(&self) -> bool {
        matches!(self, GiteaError::Http(error) if error.trouble == Trouble::UrlRefused)
    }

    /// Can the same write go through in another round: a lost race, a failing server, a lost answer? The status alone
    /// does not tell (docs/gitea-api.md, "Writing a file"): whoever asks reads again and decides.
    pub(super) fn may_be_a_race(&self) -> bool {
        match self.status() {
            Some(status) => matches!(status, 403 | 409 | 422 | 500..) && !self.is_scope(),
            None => {
                matches!(self, GiteaError::Http(error) if error.trouble == Trouble::Transport)
            }
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

    /// What to do about it, for a line of its own.
    pub fn hint(&self) -> Option<String> {
        let answer = match self {
            GiteaError::Answered(answer) => answer,
            GiteaError::Missing(missing) => return Some(missing.hint.clone()),
            GiteaError::Unfit(_, _, hint) => return hint.map(str::to_owned),
            GiteaError::Http(error) => return error.hint().map(str::to_owned),
        };
        let origin = answer.token_origin.as_deref();
        let hint = match answer.status {
            401 => {
                let hint = "the token is not valid (any more); the automatic token of a job lives as long as the job. Make one \
                            for the bot user and store it as the secret BOT_TOKEN, which the job gets as GITEA_TOKEN";
                return Some(http::with_origin(hint, origin));
            }
            403 if let Some(required) = required_scope(&answer.message) => {
                let hint = format!(
                    "make a token with the scope {required}: commits need write:repository, comments write:issue"
                );
                return Some(http::with_origin(&hint, origin));
            }
            403 => "the token's user may not do this: no write access, a branch rule, or a hook",
            404 => {
                "Gitea says so too where the token may not look: is the name right, and may the token's user read the repository?"
            }
            413 => "a proxy before Gitea, or a quota, sets the limit",
            423 => "the repository is archived or a mirror: nothing can be written there",
            429 => "something before Gitea limits requests: run again later",
            500.. if answer.message.is_empty() => {
                "only the server's log has the cause: Gitea hides it from all but its administrators"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// Returns the scope that the server asks for, if that is what the text is about. Gitea writes
/// `required=[write:issue]`, Forgejo `scope(s): [write:issue]` (docs/gitea-api.md, "Token scopes").
fn required_scope(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("required scope")?;
    let inside = rest
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    let scopes = inside
        .map(|(scopes, _)| scopes)
        .filter(|scopes| !scopes.is_empty());
    Some(scopes.unwrap_or("write:repository and write:issue"))
}

impl fmt::Display for GiteaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GiteaError::Answered(answer) => answer.fmt(f),
            GiteaError::Missing(missing) => write!(f, "{}: {}", missing.text, missing.answer),
            GiteaError::Unfit(_, text, _) => f.write_str(text),
            GiteaError::Http(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for GiteaError {}

impl From<HttpError> for GiteaError {
    /// A redirect to another repository is a rename: nothing is followed, since a redirected PUT becomes a GET.
    fn from(error: HttpError) -> GiteaError {
        let path = match &error.trouble {
            Trouble::Redirected(path) => path.as_deref(),
            _ => None,
        };
        GiteaError::Http(match path.and_then(repository_in) {
            Some(to) => {
                let text = error.to_string();
                let call = text.split_once(": ").map_or("", |(call, _)| call);
                let text = format!("{call}: the repository is {to} now");
                let hint = format!(
                    "write the new name: --gitea-repo {to} (GITEA_REPO), and the remote of the checkout"
                );
                error.said(text, hint)
            }
            None => error,
        })
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
