//! What a commit holds as a whole (docs/gitea-api.md, "Trees and commits").

use serde::Deserialize;

use super::{PAGES_MAX, Repo, Result, encode};

/// The most entries of a tree that are asked for at once: the server's own limit, as it comes.
const TREE_PAGE: usize = 1000;

/// A page of a tree.
#[derive(Debug, Deserialize)]
struct Page {
    /// Null on a page behind the last.
    #[serde(rename = "tree", default)]
    entries: Vec<TreeEntry>,
    #[serde(default)]
    truncated: bool,
}

#[derive(Debug, Deserialize)]
struct TreeEntry {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Debug, Deserialize)]
struct OneOf {
    sha: String,
}

impl Repo {
    /// Returns the last commits of a branch that changed a file, the newest first: a page of them, as large as the server makes it.
    pub fn commits_of(&self, branch: &str, path: &str) -> Result<Vec<String>> {
        let (branch, path) = (encode(branch), encode(path));
        let url =
            format!("/commits?sha={branch}&path={path}&stat=false&verification=false&files=false");
        let commits: Vec<OneOf> = self.get(&url, "commits")?;
        Ok(commits.into_iter().map(|commit| commit.sha).collect())
    }

    /// Returns the paths of all files of a commit, in one request for each thousand entries.
    ///
    /// Errors when there is no such commit: with 400 on Gitea and Forgejo, or 404.
    pub fn paths(&self, commit: &str) -> Result<Vec<String>> {
        let mut paths = Vec::new();
        for number in 1..=PAGES_MAX {
            let page = format!("per_page={TREE_PAGE}&page={number}");
            let url = format!("/git/trees/{}?recursive=1&{page}", encode(commit));
            let page: Page = self.get(&url, "a tree")?;
            let is_last = !page.truncated || page.entries.is_empty();
            let files = page.entries.into_iter();
            let files = files.filter(|entry| entry.kind == "blob");
            paths.extend(files.map(|entry| entry.path));
            if is_last {
                break;
            }
        }
        Ok(paths)
    }
}
