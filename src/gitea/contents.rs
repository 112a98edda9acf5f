//! Files: `/contents`, `/raw` (docs/gitea-api.md, "Reading a file").

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Error, Missing, Repo, decode, encode, encode_path, unless_absent};
use crate::config::MAX_BYTES;
use crate::http::{Method, Reply};

/// A file as it stands on a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path in the repository.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// The id of its git blob, which a write has to name.
    pub sha: String,
    /// The last commit that touched it; not the branch's tip.
    pub last_commit: Option<String>,
}

/// A write of one file that exists.
#[derive(Debug, Clone)]
pub struct Put<'a> {
    /// The path in the repository.
    pub path: &'a str,
    /// The new content.
    pub bytes: &'a [u8],
    /// The blob that it replaces.
    pub sha: &'a str,
    /// The branch that the blob was read from.
    pub branch: &'a str,
    /// A branch to make off that one's tip, for the commit; else it goes onto `branch`.
    pub new_branch: Option<&'a str>,
    /// The commit message.
    pub message: &'a str,
    /// The time of the commit. Always sent: Gitea 1.25.0 makes it 0001 otherwise (docs/gitea-api.md, "Versions").
    pub date: Timestamp,
}

/// A file to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// The path in the repository.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// An object of `/contents`; more fields than these come and go (docs/gitea-api.md, "Reading a file").
#[derive(Debug, Deserialize)]
struct Contents {
    #[serde(rename = "type")]
    kind: Option<String>,
    sha: Option<String>,
    last_commit_sha: Option<String>,
    size: Option<u64>,
    encoding: Option<String>,
    content: Option<String>,
    target: Option<String>,
}

impl Repo {
    /// Reads a file from a branch.
    ///
    /// Errors with [`Error::NotFound`] when there is no such branch or path, with [`Error::NotAFile`], and with
    /// [`Error::FileTooBig`] or [`Error::NoContent`] when the server hands out nothing: that is never an empty file.
    pub fn file(&self, branch: &str, path: &str) -> Result<File, Error> {
        let path = checked(path)?;
        let url = format!("/contents/{}?ref={}", encode_path(&path), encode(branch));
        let reply = self.send(Method::Get, &url, None)?;
        let contents = contents(&reply, &path)?;
        let (Some(sha), "file") = (
            contents.sha.as_deref().filter(|sha| !sha.is_empty()),
            contents.kind.as_deref().unwrap_or("file"),
        ) else {
            return Err(not_a_file(&reply, &path, &contents));
        };
        let size = contents.size.unwrap_or(0);
        let bytes = match contents.content.as_deref() {
            _ if size > MAX_BYTES as u64 => return Err(Error::FileTooBig { path, size }),
            Some("") if size == 0 => Vec::new(),
            // Gitea ≤1.23 and Forgejo say "too big" like this (docs/gitea-api.md, "Reading a file").
            Some("") => return Err(Error::FileTooBig { path, size }),
            Some(text) => {
                decode_base64(text, contents.encoding.as_deref()).ok_or_else(|| Error::Decode {
                    call: reply.call.clone(),
                    wanted: "a file in base64",
                })?
            }
            None => {
                let at = contents.last_commit_sha.as_deref().unwrap_or(branch);
                self.raw(&path, sha, size, at)?
            }
        };
        Ok(File {
            path,
            bytes,
            sha: sha.to_owned(),
            last_commit: contents.last_commit_sha,
        })
    }

    /// Reads a file for which `/contents` gave none (once the case for executable files).
    ///
    /// `/raw` may answer for another ref than the one asked, or from a cache (docs/gitea-api.md, "Raw bytes"): its
    /// `ETag` has to name the blob.
    fn raw(&self, path: &str, sha: &str, size: u64, at: &str) -> Result<Vec<u8>, Error> {
        let url = format!("/raw/{}?ref={}", encode_path(path), encode(at));
        let reply = self.send(Method::Get, &url, None)?;
        let tag = reply.header("etag").unwrap_or_default();
        let tag = tag.trim_start_matches("W/").trim_matches('"');
        if tag != sha || reply.bytes().len() as u64 != size {
            let path = path.to_owned();
            return Err(Error::NoContent { path });
        }
        Ok(reply.bytes().to_vec())
    }

    /// Writes a file that exists, as one commit, and returns the commit's id where the server tells.
    ///
    /// The blob's id is always sent: without it Gitea 1.26 makes a file that is not there (docs/gitea-api.md, "Writing
    /// a file").
    pub fn put_file(&self, put: &Put<'_>) -> Result<Option<String>, Error> {
        let path = checked(put.path)?;
        if put.sha.is_empty() {
            return Err(Error::BadName {
                wanted: "the id of a blob",
                found: String::new(),
            });
        }
        let mut body = json!({
            "content": STANDARD.encode(put.bytes),
            "sha": put.sha,
            "branch": put.branch,
            "message": put.message,
            "dates": dates(put.date),
        });
        if let Some(new_branch) = put.new_branch {
            body["new_branch"] = json!(new_branch);
        }
        let url = format!("/contents/{}", encode_path(&path));
        let reply = self.send(Method::Put, &url, Some(&body))?;
        Ok(commit_id(&reply))
    }

    /// Makes files that are not there yet, as one commit onto `branch`, or onto `new_branch`, which is made off that one's
    /// tip (docs/gitea-api.md, "Writing several files"). Returns the commit's id where the server tells.
    pub fn create_files(
        &self,
        files: &[NewFile],
        branch: &str,
        new_branch: Option<&str>,
        message: &str,
        date: Timestamp,
    ) -> Result<Option<String>, Error> {
        let create = |file: &NewFile| {
            let (path, content) = (checked(&file.path)?, STANDARD.encode(&file.bytes));
            Ok(json!({"operation": "create", "path": path, "content": content}))
        };
        let files: Vec<Value> = files.iter().map(create).collect::<Result<_, Error>>()?;
        let mut body = json!({
            "files": files,
            "branch": branch,
            "message": message,
            "dates": dates(date),
        });
        if let Some(new_branch) = new_branch {
            body["new_branch"] = json!(new_branch);
        }
        let reply = self.send(Method::Post, "/contents", Some(&body))?;
        Ok(commit_id(&reply))
    }

    /// Returns the names of what a directory holds; none where it is not there.
    pub fn folder(&self, branch: &str, path: &str) -> Result<Vec<String>, Error> {
        let path = checked(path)?;
        let url = format!("/contents/{}?ref={}", encode_path(&path), encode(branch));
        let Some(reply) = unless_absent(self.send(Method::Get, &url, None))? else {
            return Ok(Vec::new());
        };
        match reply.json()? {
            Value::Array(entries) => Ok(entries
                .iter()
                .filter_map(|entry| Some(entry["name"].as_str()?.to_owned()))
                .collect()),
            _ => Err(Error::Decode {
                call: reply.call.clone(),
                wanted: "a directory",
            }),
        }
    }

    /// Finds out what a "not found" about a file on a branch means: the server says the same of a repository, a branch and
    /// a file that are not there, and of what the token may not see.
    pub fn what_is_missing(&self, error: Error, branch: &str, path: &str) -> Error {
        let Error::NotFound(answer) = error else {
            return error;
        };
        let missing = match self.tip(branch) {
            Ok(_) => Missing {
                is_file: true,
                text: format!("the branch {branch:?} has no file {path:?}"),
                hint: "the path is that of --file (NETBIRD_GITOPS_FILE), below the root of the repository"
                    .to_owned(),
            },
            Err(Error::NotFound(_)) => match self.about() {
                Ok(about) => Missing {
                    is_file: false,
                    text: format!("{} has no branch {branch:?}", self.full_name()),
                    hint: format!(
                        "the branch is that of --branch (GITEA_BRANCH), else of the job; its default branch is {}",
                        about.default_branch
                    ),
                },
                Err(_) => return Error::NotFound(answer),
            },
            Err(_) => return Error::NotFound(answer),
        };
        let what = Box::new(missing);
        Error::Missing { answer, what }
    }
}

/// The times of a commit, which has whole seconds.
fn dates(date: Timestamp) -> Value {
    let date = Timestamp::from_second(date.as_second()).unwrap_or(date);
    json!({"author": date.to_string(), "committer": date.to_string()})
}

/// Returns the id of the commit that was made. A 2xx whose body is cut short is a success all the same
/// (docs/gitea-api.md, "Writing a file").
fn commit_id(reply: &Reply) -> Option<String> {
    let body = reply.json().ok()?;
    let sha = body.pointer("/commit/sha")?.as_str()?;
    Some(sha.to_owned()).filter(|sha| !sha.is_empty())
}

/// A directory is a list of its entries; so is an empty repository on Forgejo (docs/gitea-api.md, "Reading a file").
fn contents(reply: &Reply, path: &str) -> Result<Contents, Error> {
    match reply.json()? {
        Value::Array(entries) => Err(Error::NotAFile {
            path: path.to_owned(),
            what: match entries.is_empty() {
                true => "in an empty repository",
                false => "a directory",
            }
            .to_owned(),
        }),
        _ => decode(reply, "a file"),
    }
}

fn not_a_file(reply: &Reply, path: &str, contents: &Contents) -> Error {
    let what = match contents.kind.as_deref() {
        Some("symlink") => {
            let target = contents.target.as_deref().unwrap_or_default();
            let target = crate::http::text::clean(target, 200);
            format!("a symbolic link to {target}")
        }
        Some("submodule") => "a submodule".to_owned(),
        Some("dir") => "a directory".to_owned(),
        _ => {
            return Error::Decode {
                call: reply.call.clone(),
                wanted: "a file",
            };
        }
    };
    Error::NotAFile {
        path: path.to_owned(),
        what,
    }
}

/// Standard base64 with padding; line breaks in it mean nothing.
fn decode_base64(text: &str, encoding: Option<&str>) -> Option<Vec<u8>> {
    if !matches!(encoding, None | Some("base64" | "")) {
        return None;
    }
    let text: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    STANDARD.decode(text).ok()
}

/// Returns a path relative to the repository's root, without `./`.
fn checked(path: &str) -> Result<String, Error> {
    let segments: Vec<&str> = path.split('/').filter(|segment| *segment != ".").collect();
    if segments
        .iter()
        .any(|segment| matches!(*segment, "" | ".." | ".git"))
        || path.contains('\0')
    {
        return Err(Error::BadName {
            wanted: "a path in the repository",
            found: path.to_owned(),
        });
    }
    Ok(segments.join("/"))
}
