//! Files: `/contents`, `/raw` (docs/gitea-api.md, "Reading a file").

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Error, Missing, Repo, decode, encode, encode_path, or_default, unless_absent};
use crate::base::files::MAX_BYTES;
use crate::wire::http::{Call, Method, Reply};

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

/// A file to be written in a commit of several.
#[derive(Debug, Clone, Copy)]
pub struct FileWrite<'a> {
    /// What it is to be.
    pub file: &'a NewFile,
    /// The blob that it replaces; `None` makes the file, which must not be there.
    pub replaces: Option<&'a str>,
}

impl FileWrite<'_> {
    /// Returns its part of the request. An update always names its blob: without one it overwrites whatever is there
    /// (docs/gitea-api.md, "Writing several files").
    fn request(&self) -> Result<Value, Error> {
        let FileWrite { file, replaces } = self;
        let (path, content) = (checked(&file.path)?, STANDARD.encode(&file.bytes));
        Ok(match replaces {
            None => json!({"operation": "create", "path": path, "content": content}),
            Some("") => return Err(no_blob()),
            Some(sha) => {
                json!({"operation": "update", "path": path, "content": content, "sha": sha})
            }
        })
    }
}

/// What stands in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Entry {
    /// Its name.
    pub name: String,
    #[serde(rename = "type", default, deserialize_with = "or_default")]
    kind: String,
}

impl Entry {
    /// Whether it is a directory itself.
    pub fn is_folder(&self) -> bool {
        self.kind == "dir"
    }
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

/// A file as `/contents` answers it.
struct Found {
    call: Call,
    path: String,
    sha: String,
    contents: Contents,
}

impl Found {
    /// Returns the content, `None` where the server gave none.
    fn content(&self) -> Result<Option<Vec<u8>>, Error> {
        let Some(text) = self.contents.content.as_deref() else {
            return Ok(None);
        };
        let bytes = decode_base64(text, self.contents.encoding.as_deref());
        bytes.map(Some).ok_or_else(|| Error::Decode {
            call: self.call.clone(),
            wanted: "a file in base64",
        })
    }

    fn with(self, bytes: Vec<u8>) -> File {
        File {
            path: self.path,
            bytes,
            sha: self.sha,
            last_commit: self.contents.last_commit_sha,
        }
    }
}

impl Repo {
    /// Reads a file from a branch.
    ///
    /// Errors with [`Error::NotFound`] when there is no such branch or path, with [`Error::NotAFile`], and with
    /// [`Error::FileTooBig`] or [`Error::NoContent`] when the server hands out nothing: that is never an empty file.
    pub fn file(&self, branch: &str, path: &str) -> Result<File, Error> {
        let found = self.find(Some(branch), path)?;
        let (path, size) = (&found.path, found.contents.size.unwrap_or(0));
        let too_big = || Error::FileTooBig {
            path: path.clone(),
            size,
            max: None,
        };
        let bytes = match found.content()? {
            _ if size > MAX_BYTES as u64 => return Err(too_big()),
            // Gitea ≤1.23 and Forgejo say "too big" like this (docs/gitea-api.md, "Reading a file").
            Some(bytes) if bytes.is_empty() && size > 0 => return Err(too_big()),
            Some(bytes) => bytes,
            None => {
                let at = found.contents.last_commit_sha.as_deref();
                self.raw(path, &found.sha, size, at.unwrap_or(branch))?
            }
        };
        Ok(found.with(bytes))
    }

    /// Reads a file of up to `max` bytes from a branch or from a commit, also one for which the server gives no content
    /// (docs/gitea-api.md, "Reading a file").
    ///
    /// Such a one is read raw, at its last commit's id: an answer for a branch's name may come from a cache, or be of the
    /// default branch (docs/gitea-api.md, "Raw bytes"). Errors as [`file`](Self::file) does.
    pub fn large_file(&self, reference: &str, path: &str, max: u64) -> Result<File, Error> {
        let found = self.find(Some(reference), path)?;
        let size = found.contents.size.ok_or_else(|| Error::Decode {
            call: found.call.clone(),
            wanted: "a file with its size",
        })?;
        if size > max {
            return Err(Error::FileTooBig {
                path: found.path,
                size,
                max: Some(max),
            });
        }
        let whole = found.content()?;
        let whole = whole.filter(|bytes| bytes.len() as u64 == size);
        let bytes = match (whole, &found.contents.last_commit_sha) {
            (Some(bytes), _) => bytes,
            (None, Some(commit)) => self.raw(&found.path, &found.sha, size, commit)?,
            (None, None) => return Err(Error::NoContent { path: found.path }),
        };
        Ok(found.with(bytes))
    }

    /// Returns the id of a file's blob, on the default branch where none is named. What the file holds is not looked at.
    ///
    /// Errors with [`Error::NotFound`] when there is no such file, as far as the token may see, and with
    /// [`Error::NotAFile`].
    pub fn blob(&self, branch: Option<&str>, path: &str) -> Result<String, Error> {
        Ok(self.find(branch, path)?.sha)
    }

    /// Looks a file up; without a reference on the default branch.
    fn find(&self, reference: Option<&str>, path: &str) -> Result<Found, Error> {
        let path = checked(path)?;
        let mut url = format!("/contents/{}", encode_path(&path));
        if let Some(reference) = reference {
            url.push_str(&format!("?ref={}", encode(reference)));
        }
        let reply = self.send(Method::Get, &url, None)?;
        let contents = contents(&reply, &path)?;
        match (
            contents.sha.as_deref().filter(|sha| !sha.is_empty()),
            contents.kind.as_deref().unwrap_or("file"),
        ) {
            (Some(sha), "file") => Ok(Found {
                sha: sha.to_owned(),
                call: reply.call,
                path,
                contents,
            }),
            _ => Err(not_a_file(&reply, &path, &contents)),
        }
    }

    /// Reads a file for which `/contents` gave none: one over the server's limit, and once the executable ones.
    ///
    /// `/raw` may answer for another ref than the one asked, or from a cache (docs/gitea-api.md, "Raw bytes"): its
    /// `ETag` has to name the blob.
    fn raw(&self, path: &str, sha: &str, size: u64, at: &str) -> Result<Vec<u8>, Error> {
        let url = format!("/raw/{}?ref={}", encode_path(path), encode(at));
        // The file is there. A "not found" here must not say that it is not.
        let reply = unless_absent(self.send(Method::Get, &url, None))?;
        let no_content = || Error::NoContent {
            path: path.to_owned(),
        };
        let reply = reply.ok_or_else(no_content)?;
        let tag = reply.header("etag").unwrap_or_default();
        let tag = tag.trim_start_matches("W/").trim_matches('"');
        // Apache says so where it compresses.
        let tag = tag.strip_suffix("-gzip").unwrap_or(tag);
        if tag != sha || reply.bytes().len() as u64 != size {
            return Err(no_content());
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
            return Err(no_blob());
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

    /// Writes several files, as one commit onto `branch`, or onto `new_branch`, which is made off that one's tip
    /// (docs/gitea-api.md, "Writing several files"). Returns the commit's id where the server tells.
    ///
    /// Where one of the files cannot be written, none is.
    pub fn write_files(
        &self,
        files: &[FileWrite<'_>],
        branch: &str,
        new_branch: Option<&str>,
        message: &str,
        date: Timestamp,
    ) -> Result<Option<String>, Error> {
        let files: Vec<Value> = files
            .iter()
            .map(FileWrite::request)
            .collect::<Result<_, Error>>()?;
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

    /// Returns what a directory holds.
    ///
    /// Errors with [`Error::NotFound`] when it is not there, as far as the token may see.
    pub fn entries(&self, branch: &str, path: &str) -> Result<Vec<Entry>, Error> {
        let path = checked(path)?;
        let url = format!("/contents/{}?ref={}", encode_path(&path), encode(branch));
        self.get(&url, "a directory")
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
                hint: "write the path of netbird.json from the root of the repository, as in --file (NETBIRD_GITOPS_FILE)"
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

fn no_blob() -> Error {
    Error::BadName {
        wanted: "the id of a blob",
        found: String::new(),
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
            let target = crate::wire::http::text::clean(target, 200);
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
