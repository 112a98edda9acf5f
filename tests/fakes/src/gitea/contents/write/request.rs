//! What a request to write files says.

use crate::base64;
use crate::body::Body;
use crate::gitea::commits::raw_date;
use crate::gitea::contents::clean;
use crate::gitea::forge::Forge;
use crate::gitea::git::{Change, Draft, Person};
use crate::gitea::refusal::{Refusal, invalid};

const MAX_NAME_CHARS: usize = 100;

/// What is to happen to a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operation {
    Create,
    Update,
    Delete,
}

/// One file of a write.
pub(super) struct File {
    pub(super) operation: Operation,
    pub(super) path: String,
    pub(super) sha: Option<String>,
    pub(super) bytes: Vec<u8>,
}

/// A write as it was asked for.
pub(super) struct Write {
    pub(super) files: Vec<File>,
    pub(super) branch: Option<String>,
    /// A branch to be made; none where it is the other one.
    pub(super) new_branch: Option<String>,
    message: String,
    author: Identity,
    committer: Identity,
    author_date: Option<String>,
    committer_date: Option<String>,
    signoff: bool,
}

/// Name and e-mail as they were sent; `""` for what was not.
#[derive(Clone, Default)]
struct Identity {
    name: String,
    email: String,
}

impl File {
    /// Reads one entry of `files`.
    pub(super) fn read(body: &Body) -> Result<File, Refusal> {
        let operation = match body.text("operation")?.as_str() {
            "create" => Operation::Create,
            "update" => Operation::Update,
            "delete" => Operation::Delete,
            _ => return Err(invalid("[Operation]: In")),
        };
        File::of_path(operation, &body.text("path")?, body)
    }

    pub(super) fn of_path(operation: Operation, path: &str, body: &Body) -> Result<File, Refusal> {
        let path = clean(path);
        let bad = |part: &str| {
            part == "." || part == ".." || part.eq_ignore_ascii_case(".git") || part.contains('\0')
        };
        if path.is_empty() || path.split('/').any(bad) {
            let message = format!("path contains a malformed path component [path: {path}]");
            return Err(invalid(message));
        }
        let content = body.text("content")?;
        let bytes = base64::decode(&content);
        let bytes = bytes.ok_or_else(|| invalid("Invalid base64: illegal base64 data"))?;
        let sha = body.optional_text("sha")?.filter(|sha| !sha.is_empty());
        Ok(File {
            operation,
            path,
            sha,
            bytes,
        })
    }
}

impl Identity {
    fn read(body: &Body, name: &str) -> Result<Identity, Refusal> {
        let body = body.object(name)?.unwrap_or_default();
        let (name, email) = (body.text("name")?, body.text("email")?);
        if name.chars().count() > MAX_NAME_CHARS {
            return Err(invalid("[Name]: MaxSize"));
        }
        Ok(Identity { name, email })
    }

    fn is_empty(&self) -> bool {
        self.name.is_empty() && self.email.is_empty()
    }
}

impl Write {
    pub(super) fn read(body: &Body, files: Vec<File>) -> Result<Write, Refusal> {
        let name = |field: &str, label: &str| -> Result<Option<String>, Refusal> {
            let name = body.optional_text(field)?.filter(|name| !name.is_empty());
            match name {
                Some(name) if name.chars().count() > MAX_NAME_CHARS => {
                    Err(invalid(format!("[{label}]: MaxSize")))
                }
                name => Ok(name),
            }
        };
        let branch = name("branch", "BranchName")?;
        let new_branch = name("new_branch", "NewBranchName")?;
        let dates = body.object("dates")?.unwrap_or_default();
        let date = |field| -> Result<Option<String>, Refusal> {
            let text = dates.optional_text(field)?;
            let read = |text: String| raw_date(&text).ok_or_else(|| invalid("[]: parsing time"));
            text.map(read).transpose()
        };
        Ok(Write {
            files,
            new_branch: new_branch.filter(|new| Some(new) != branch.as_ref()),
            branch,
            message: body.text("message")?,
            author: Identity::read(body, "author")?,
            committer: Identity::read(body, "committer")?,
            author_date: date("author")?,
            committer_date: date("committer")?,
            signoff: body.flag("signoff")?,
        })
    }

    /// Returns the commit that this user is about to make.
    pub(super) fn draft(&self, forge: &mut Forge, user: i64, changes: Vec<Change>) -> Draft {
        let own = forge.person(user);
        // Either one stands for the other, and the user for both.
        let person = |first: &Identity, second: &Identity, date: &Option<String>| {
            let given = if first.is_empty() { second } else { first };
            let or =
                |given: &String, own: &String| if given.is_empty() { own } else { given }.clone();
            Person {
                name: or(&given.name, &own.name),
                email: or(&given.email, &own.email),
                date: date.clone().unwrap_or_else(|| own.date.clone()),
            }
        };
        let author = person(&self.author, &self.committer, &self.author_date);
        let committer = person(&self.committer, &self.author, &self.committer_date);
        Draft {
            message: self.message(&committer),
            author,
            committer,
            changes,
        }
    }

    fn message(&self, committer: &Person) -> String {
        let message = match (self.message.trim(), &self.files[..]) {
            (
                "",
                [
                    File {
                        operation, path, ..
                    },
                ],
            ) => {
                let word = match operation {
                    Operation::Create => "Add",
                    Operation::Update => "Update",
                    Operation::Delete => "Delete",
                };
                format!("{word} {path}")
            }
            ("", files) => {
                let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
                format!("Update {}", paths.join(", "))
            }
            (message, _) => message.to_owned(),
        };
        if self.signoff {
            let Person { name, email, .. } = committer;
            format!("{message}\n\nSigned-off-by: {name} <{email}>")
        } else {
            format!("{message}\n")
        }
    }
}
