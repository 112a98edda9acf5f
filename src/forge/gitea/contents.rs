//! Files: `/contents`, `/raw` (docs/gitea-api.md, "Reading a file").

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::commit::too_big;
use super::{
    GiteaError, Method, Reply, Repo, Result, decode, encode, encode_path, text, unless_absent,
};
use crate::wire::http::Trouble;

/// A file as it stands on a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeFile {
    /// Its content.
    pub bytes: Vec<u8>,
    /// The id of its git blob, which a write has to name.
    pub sha: String,
    /// The last commit that touched it, where the server tells; not the branch's tip.
    pub last_commit: Option<String>,
}

/// A file to be written in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileWrite {
    /// The path in the repository.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// The blob that it replaces; `None` creates the file, which must not be there.
    pub replaces: Option<String>,
}

/// A commit to be made of files.
#[derive(Debug, Clone, Copy)]
pub struct NewCommit<'a> {
    /// The branch that the blobs were read from.
    pub branch: &'a str,
    /// A branch to make off that one's tip, for the commit; else it is made on `branch`.
    pub new_branch: Option<&'a str>,
    /// The commit message.
    pub message: &'a str,
    /// The time of the commit. Always sent: Gitea 1.25.0 makes it 0001 otherwise (docs/gitea-api.md, "Versions").
    pub date: Timestamp,
}

/// An object of `/contents`; more fields than these come and go (docs/gitea-api.md, "Reading a file").
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Contents {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    sha: String,
    last_commit_sha: Option<String>,
    size: Option<u64>,
    encoding: String,
    content: Option<String>,
    target: String,
}

impl Repo {
    /// Reads a file of up to `max` bytes from a branch or a commit.
    ///
    /// One for which the server gives no content, or not all of it (docs/gitea-api.md, "Reading a file"), is read raw, at its
    /// last commit's id: an answer for a branch's name may come from a cache, or be of the default branch. Errors where there
    /// is no such branch or path, where there is something else, and where the server hands out nothing: that is never an
    /// empty file.
    pub fn file(&self, reference: &str, path: &str, max: u64) -> Result<ForgeFile> {
        let (path, found, reply) = self.find(Some(reference), path)?;
        let no_base64 = || GiteaError::decode(&reply.call, "not a file in base64");
        let whole = match found.content.as_deref() {
            Some(text) => Some(decode_base64(text, &found.encoding).ok_or_else(no_base64)?),
            None => None,
        };
        let no_size = || GiteaError::decode(&reply.call, "not a file with its size");
        let size = found.size.ok_or_else(no_size)?;
        if size > max {
            return Err(too_big(&path, size, max));
        }
        let bytes = match whole.filter(|bytes| bytes.len() as u64 == size) {
            Some(bytes) => bytes,
            None => {
                let at = found.last_commit_sha.as_deref().unwrap_or(reference);
                self.raw(&path, &found.sha, size, at)?
            }
        };
        Ok(ForgeFile {
            bytes,
            sha: found.sha,
            last_commit: found.last_commit_sha,
        })
    }

    /// Returns the id of a file's blob, on the default branch where none is named. What the file holds is not looked at.
    ///
    /// Errors when there is no such file, as far as the token may see, and where there is something else.
    pub fn blob(&self, branch: Option<&str>, path: &str) -> Result<String> {
        Ok(self.find(branch, path)?.1.sha)
    }

    /// Looks a file up; without a reference on the default branch. Returns its path as it was asked for, too.
    fn find(&self, reference: Option<&str>, path: &str) -> Result<(String, Contents, Reply)> {
        let path = checked(path)?;
        let mut url = format!("/contents/{}", encode_path(&path));
        if let Some(reference) = reference {
            url.push_str(&format!("?ref={}", encode(reference)));
        }
        let reply = self.send(Method::GET, &url, None)?;
        let found: Contents = match reply.json()? {
            // a directory is a list of its entries; so is an empty repository on Forgejo
            Value::Array(entries) => Contents {
                kind: if entries.is_empty() { "empty" } else { "dir" }.to_owned(),
                ..Contents::default()
            },
            _ => decode(&reply, "a file")?,
        };
        let what = match found.kind.as_str() {
            "file" | "" if !found.sha.is_empty() => return Ok((path, found, reply)),
            "symlink" => &format!("a symbolic link to {}", text::clean(&found.target, 200)),
            "submodule" => "a submodule",
            "dir" => "a directory",
            "empty" => "in an empty repository",
            _ => return Err(GiteaError::decode(&reply.call, "not a file")),
        };
        let text = format!("{path} is {what}, no file");
        let hint = "give the path of the file itself, with --file".to_owned();
        Err(GiteaError::not_made(Trouble::NotAFile, text, Some(hint)))
    }

    /// Reads a file for which `/contents` gave none: one over the server's limit, and once the executable ones.
    ///
    /// `/raw` may answer for another ref than the one asked, or from a cache (docs/gitea-api.md, "Raw bytes"): its
    /// `ETag` has to name the blob.
    fn raw(&self, path: &str, sha: &str, size: u64, at: &str) -> Result<Vec<u8>> {
        let url = format!("/raw/{}?ref={}", encode_path(path), encode(at));
        // The file is there. A "not found" here must not say that it is not.
        if let Some(reply) = unless_absent(self.send(Method::GET, &url, None))? {
            let tag = reply.header("etag").unwrap_or_default();
            let tag = tag.trim_start_matches("W/").trim_matches('"');
            // Apache says so where it compresses.
            let tag = tag.strip_suffix("-gzip").unwrap_or(tag);
            if tag == sha && reply.bytes().len() as u64 == size {
                return Ok(reply.bytes().to_vec());
            }
        }
        Err(GiteaError::content(format!(
            "Gitea gave no content for {path}: its raw form is not the same blob"
        )))
    }

    /// Writes files, as one commit (docs/gitea-api.md, "Writing several files"), and returns the commit's id where the server
    /// tells. Where one of the files cannot be written, none is.
    pub fn commit(&self, files: &[FileWrite], commit: &NewCommit<'_>) -> Result<Option<String>> {
        let files: Result<Vec<Value>> = files.iter().map(FileWrite::request).collect();
        let date = Timestamp::from_second(commit.date.as_second()).unwrap_or(commit.date);
        let mut body = json!({
            "files": files?,
            "branch": commit.branch,
            "message": commit.message,
            "dates": {"author": date.to_string(), "committer": date.to_string()},
        });
        if let Some(new_branch) = commit.new_branch {
            body["new_branch"] = json!(new_branch);
        }
        let reply = self.send(Method::POST, "/contents", Some(&body))?;
        // a 2xx whose body is cut short is a success all the same
        let body = reply.json().unwrap_or_default();
        let sha = body.pointer("/commit/sha").and_then(Value::as_str);
        Ok(sha.filter(|sha| !sha.is_empty()).map(str::to_owned))
    }

    /// Returns the names of the directories in a directory.
    ///
    /// Errors when it is not there, as far as the token may see.
    pub fn folders(&self, branch: &str, path: &str) -> Result<Vec<String>> {
        let path = checked(path)?;
        let url = format!("/contents/{}?ref={}", encode_path(&path), encode(branch));
        let entries: Vec<Contents> = self.get(&url, "a directory")?;
        let folders = entries.into_iter().filter(|entry| entry.kind == "dir");
        Ok(folders.map(|entry| entry.name).collect())
    }

    /// Finds out what a "not found" about a file on a branch means: the server says the same of a repository, a branch and
    /// a file that are not there, and of what the token may not see.
    pub fn what_is_missing(&self, error: GiteaError, branch: &str, path: &str) -> GiteaError {
        if error.trouble != Trouble::Refused || !error.is_not_found() {
            return error;
        }
        let (is_file, text, hint) = match self.tip(branch) {
            Ok(_) => (
                true,
                format!("the branch {branch:?} has no file {path:?}"),
                "write the path of netbird.json from the root of the repository, as in --file (NETBIRD_GITOPS_FILE)"
                    .to_owned(),
            ),
            Err(error) if error.is_not_found() && let Ok(about) = self.about() => (
                false,
                format!("{} has no branch {branch:?}", self.full_name()),
                format!(
                    "the branch is that of --branch (GITEA_BRANCH), else of the job; its default branch is {}",
                    about.default_branch
                ),
            ),
            Err(_) => return error,
        };
        let text = format!("{text}: {error}");
        let mut missing = error.said(text, hint);
        missing.trouble = Trouble::Missing { is_file };
        missing
    }
}

impl FileWrite {
    /// Returns its part of the request. An update always names its blob: without one it overwrites whatever is there
    /// (docs/gitea-api.md, "Writing several files").
    fn request(&self) -> Result<Value> {
        let mut file = json!({
            "operation": "create",
            "path": checked(&self.path)?,
            "content": STANDARD.encode(&self.bytes),
        });
        if let Some(sha) = &self.replaces {
            if sha.is_empty() {
                return Err(GiteaError::bad_name(sha, "the id of a blob"));
            }
            file["operation"] = json!("update");
            file["sha"] = json!(sha);
        }
        Ok(file)
    }
}

/// Standard base64 with padding; line breaks in it mean nothing.
fn decode_base64(text: &str, encoding: &str) -> Option<Vec<u8>> {
    let mut text = text.as_bytes().to_vec();
    text.retain(|byte| !byte.is_ascii_whitespace());
    let is_base64 = matches!(encoding, "base64" | "");
    STANDARD.decode(text).ok().filter(|_| is_base64)
}

/// Returns a path relative to the repository's root, without `./`.
fn checked(path: &str) -> Result<String> {
    let segments: Vec<&str> = path.split('/').filter(|segment| *segment != ".").collect();
    let is_bad = |segment: &&str| matches!(*segment, "" | ".." | ".git");
    if segments.iter().any(is_bad) || path.contains('\0') {
        return Err(GiteaError::bad_name(path, "a path in the repository"));
    }
    Ok(segments.join("/"))
}
