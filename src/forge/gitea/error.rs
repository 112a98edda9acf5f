//! What an answer of Gitea means when it is not the one asked for (docs/gitea-api.md, "Refusals").
//!
//! A status means several things here, and texts are no contract: they choose hints, and tell a missing scope from a
//! missing permission, nothing else.

use std::fmt;

use percent_encoding::percent_decode_str;

use crate::wire::http::{self, Answer, Call, Reply, text};

/// Why a request to Gitea did not do what it was for.
#[derive(Debug)]
pub enum Error {
    /// The repository has another name now: 301. Nothing is followed, since a redirected PUT becomes a GET.
    Renamed {
        /// The request.
        call: Call,
        /// Its new full name.
        to: String,
    },
    /// The token is not valid: 401.
    Unauthenticated(Answer),
    /// The token's scopes do not cover this: 403.
    Scope {
        /// The answer.
        answer: Answer,
        /// The scope that it takes, as the server names it.
        required: Option<Box<str>>,
    },
    /// Not allowed: another 403. A branch rule, a hook, no write access, or a lost race (docs/gitea-api.md, "Writing a
    /// file").
    Forbidden(Answer),
    /// It does not exist, or the token may not see it: 404.
    NotFound(Answer),
    /// It does not exist, and the rest of what was asked for does: 404.
    Missing {
        /// The answer.
        answer: Answer,
        /// What is missing.
        what: Box<Missing>,
    },
    /// The repository is archived or a mirror: 423.
    Archived(Answer),
    /// The request is too large for the server or what is before it: 413.
    TooLarge(Answer),
    /// Too many requests, still after waiting.
    Throttled(Answer),
    /// Another 4xx: the request itself, or one that came too late (409, 422).
    Refused(Answer),
    /// The server failed: 5xx. "Not found" and "rejected", too, on some versions.
    Server(Answer),
    /// What stands at the path is no file.
    NotAFile {
        /// The path.
        path: String,
        /// What it is, as in "a directory".
        what: String,
    },
    /// A file of this size is not handed out, or not read.
    FileTooBig {
        /// The path.
        path: String,
        /// Its size in bytes.
        size: u64,
        /// The most that is read, in bytes; `None` where it is the server that hands out no more.
        max: Option<u64>,
    },
    /// The server gave no content for a file, and no safe way to it.
    NoContent {
        /// The path.
        path: String,
    },
    /// A file that is only ever made is there with other bytes.
    Differs {
        /// The path.
        path: String,
    },
    /// The answer is JSON, but not what was asked for.
    Decode {
        /// The request.
        call: Call,
        /// What was wanted, as in "a file".
        wanted: &'static str,
    },
    /// No name of a repository, a branch or a file.
    BadName {
        /// What it should be, as in "a repository (OWNER/NAME)".
        wanted: &'static str,
        /// What it is.
        found: String,
    },
    /// There was no answer to judge.
    Http(http::Error),
}

/// What a repository that can be seen does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Whether it is a file, on a branch that is there.
    pub is_file: bool,
    /// What is missing, in words.
    pub text: String,
    /// What to do about it.
    pub hint: String,
}

impl Error {
    /// Judges an answer that is no success. `None` when it is one.
    pub(super) fn of(reply: &Reply) -> Option<Error> {
        if reply.is_success() {
            return None;
        }
        // A page of a proxy or of Gitea itself says nothing, but that the URL may be wrong.
        if reply.is_html() && matches!(reply.status, 400..=404) {
            return reply.json().err().map(Error::Http);
        }
        let answer = Answer::of(reply);
        Some(match reply.status {
            401 => Error::Unauthenticated(answer),
            403 => match required_scope(&answer.message) {
                Some(required) => Error::Scope { answer, required },
                None => Error::Forbidden(answer),
            },
            404 => Error::NotFound(answer),
            413 => Error::TooLarge(answer),
            423 => Error::Archived(answer),
            429 => Error::Throttled(answer),
            500.. => Error::Server(answer),
            _ => Error::Refused(answer),
        })
    }

    /// Returns the answer, if there was one in JSON or with a message.
    pub fn answer(&self) -> Option<&Answer> {
        match self {
            Error::Unauthenticated(answer)
            | Error::Scope { answer, .. }
            | Error::Forbidden(answer)
            | Error::NotFound(answer)
            | Error::Missing { answer, .. }
            | Error::Archived(answer)
            | Error::TooLarge(answer)
            | Error::Throttled(answer)
            | Error::Refused(answer)
            | Error::Server(answer) => Some(answer),
            Error::Renamed { .. }
            | Error::NotAFile { .. }
            | Error::FileTooBig { .. }
            | Error::NoContent { .. }
            | Error::Differs { .. }
            | Error::Decode { .. }
            | Error::BadName { .. }
            | Error::Http(_) => None,
        }
    }

    /// Is there nothing of that name, as far as the token may see?
    pub fn is_not_found(&self) -> bool {
        matches!(self, Error::NotFound(_) | Error::Missing { .. })
    }

    /// May the token not see what it asked to read, as far as the answer tells?
    pub fn is_hidden_from_us(&self) -> bool {
        let reads = self
            .answer()
            .is_some_and(|answer| !answer.call.method.writes());
        self.is_no_right() && reads
    }

    /// Does the token lack a right, as far as the answer tells?
    pub fn is_no_right(&self) -> bool {
        matches!(
            self,
            Error::Forbidden(_)
                | Error::NotFound(_)
                | Error::Scope { .. }
                | Error::Unauthenticated(_)
        )
    }

    /// Is it the URL that a gate refuses (exit code 3)?
    pub fn is_url_refused(&self) -> bool {
        matches!(self, Error::Http(http::Error::UrlRefused(_)))
    }

    /// Can the same write go through in another round: a lost race, a failing server, a lost answer? The status alone
    /// does not tell (docs/gitea-api.md, "Writing a file"): whoever asks reads again and decides.
    pub(super) fn may_be_a_race(&self) -> bool {
        match self {
            Error::Forbidden(_) | Error::Server(_) => true,
            Error::Refused(answer) => matches!(answer.status, 409 | 422),
            Error::Http(http::Error::NotJson { status, .. }) => {
                matches!(status, 403 | 409 | 422 | 500..)
            }
            Error::Http(http::Error::Transport { .. } | http::Error::TooBig { .. }) => true,
            _ => false,
        }
    }

    /// Does the text say that another push came first?
    pub(super) fn says_race(&self) -> bool {
        self.answer()
            .is_some_and(|answer| answer.message.contains("cannot lock ref"))
            && !self.says_name_taken()
    }

    /// Does the text say that a branch cannot be made beside one that is named like its folder? Git says so with the
    /// words of a race, and it does not pass.
    pub(super) fn says_name_taken(&self) -> bool {
        self.answer()
            .is_some_and(|answer| answer.message.contains("; cannot create '"))
    }

    /// What to do about it, for a line of its own.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Error::Renamed { to, .. } => {
                format!("write the new name: --gitea-repo {to} (GITEA_REPO), and the remote of the checkout")
            }
            Error::Unauthenticated(answer) => http::with_origin(
                "the token is not valid (any more); the automatic token of a job lives as long as the job. Make one for \
                 the bot user and store it as the secret BOT_TOKEN, which the job gets as GITEA_TOKEN",
                answer.token_origin.as_deref(),
            ),
            Error::Scope { answer, required } => {
                let required = required.as_deref().unwrap_or("write:repository and write:issue");
                let hint = format!(
                    "make a token with the scope {required}: commits need write:repository, comments write:issue"
                );
                http::with_origin(&hint, answer.token_origin.as_deref())
            }
            Error::Forbidden(answer) => forbidden_hint(&answer.message).to_owned(),
            Error::NotFound(_) => "Gitea says so too where the token may not look: is the name right, and may the token's \
                                   user read the repository?"
                .to_owned(),
            Error::Missing { what, .. } => what.hint.clone(),
            Error::Archived(_) => "the repository is archived or a mirror: nothing can be written there".to_owned(),
            Error::TooLarge(_) => "a proxy before Gitea, or a quota, sets the limit".to_owned(),
            Error::Throttled(_) => "something before Gitea limits requests: run again later".to_owned(),
            Error::Server(answer) if answer.message.is_empty() => {
                "only the server's log has the cause: Gitea hides it from all but its administrators".to_owned()
            }
            Error::NotAFile { .. } => "give the path of the file itself, with --file".to_owned(),
            Error::FileTooBig { max: Some(_), .. } => return None,
            Error::FileTooBig { max: None, .. } => "a file of this program has a few hundred kilobytes at most".to_owned(),
            Error::Http(error) => return error.hint(),
            Error::Server(_)
            | Error::Refused(_)
            | Error::NoContent { .. }
            | Error::Differs { .. }
            | Error::Decode { .. }
            | Error::BadName { .. } => return None,
        })
    }
}

fn forbidden_hint(message: &str) -> &'static str {
    if message.contains("cannot commit to repo") {
        "the branch is protected: put the token's user on its push whitelist, alone, or use --via-pr"
    } else if message.contains("path is protected") {
        "a file pattern of the branch's protection covers the file: use --via-pr"
    } else if message.contains("permission to write") {
        "the token's user needs write access to the repository"
    } else {
        "the token's user may not do this: no write access, a branch rule, or a hook"
    }
}

/// Returns the scope that the server asks for, if that is what the text is about. Gitea writes
/// `required=[write:issue]`, Forgejo `scope(s): [write:issue]` (docs/gitea-api.md, "Token scopes").
fn required_scope(message: &str) -> Option<Option<Box<str>>> {
    let (_, rest) = message.split_once("required scope")?;
    let inside = rest
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    let scopes = inside.map(|(scopes, _)| scopes);
    Some(scopes.filter(|scopes| !scopes.is_empty()).map(Into::into))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Renamed { call, to } => write!(f, "{call}: the repository is {to} now"),
            Error::NotAFile { path, what } => write!(f, "{path} is {what}, no file"),
            Error::Missing { answer, what } => write!(f, "{}: {answer}", what.text),
            Error::FileTooBig {
                path,
                size,
                max: Some(max),
            } => write!(
                f,
                "{path} has {size} bytes, and no more than {max} are read"
            ),
            Error::FileTooBig {
                path,
                size,
                max: None,
            } => {
                write!(
                    f,
                    "{path} has {size} bytes: Gitea hands out no file of that size"
                )
            }
            Error::NoContent { path } => write!(
                f,
                "Gitea gave no content for {path}: its raw form is not the same blob"
            ),
            Error::Differs { path } => {
                write!(f, "{path} is there already, with other bytes")
            }
            Error::Decode { call, wanted } => write!(f, "{call}: the answer is not {wanted}"),
            Error::BadName { wanted, found } => write!(f, "{found:?} is not {wanted}"),
            Error::Http(error) => error.fmt(f),
            other => match other.answer() {
                Some(answer) => answer.fmt(f),
                None => f.write_str("no answer"),
            },
        }
    }
}

impl std::error::Error for Error {}

impl From<http::Error> for Error {
    fn from(error: http::Error) -> Error {
        if let http::Error::Redirected {
            call,
            location: None,
            path: Some(path),
            ..
        } = &error
            && let Some(to) = repository_in(path)
        {
            let call = call.clone();
            return Error::Renamed { call, to };
        }
        Error::Http(error)
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
