//! The event file. Fields come and go with servers and versions, nulls stand where lists are wanted, and the whole may be
//! `null`: whatever is not as expected counts as missing (docs/gitea-api.md, "Event payloads").

use serde_json::Value;

/// A pull request, as the event tells of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullRequest {
    /// Its number in the repository.
    pub number: u64,
    /// The commit at its head.
    pub head_sha: Option<String>,
    /// The branch that it goes into.
    pub base_ref: Option<String>,
    /// The tip of that branch when the event came up.
    pub base_sha: Option<String>,
    /// Its text.
    pub body: Option<String>,
    /// Is its head in another repository (or in one that was deleted)? Its jobs have no secrets then.
    pub is_fork: bool,
    /// Was it merged, or closed, when the event came up?
    pub is_closed: bool,
}

/// An event file's content.
#[derive(Debug, Default)]
pub(super) struct Payload(Value);

impl Payload {
    /// Returns the payload, and what is wrong with the text if it is none.
    pub(super) fn parse(text: &str) -> (Payload, Option<String>) {
        match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
            Ok(value) => (Payload(value), None),
            Err(_) if text.trim().is_empty() => (Payload::default(), None),
            // Its values are other people's: the position is enough.
            Err(e) => {
                let problem = format!("the event file: no JSON at {}:{}", e.line(), e.column());
                (Payload::default(), Some(problem))
            }
        }
    }

    /// Returns the ref of a push or a dispatch, in full.
    pub(super) fn git_ref(&self) -> Option<String> {
        let name = self.text("/ref")?;
        Some(if name.starts_with("refs/") {
            name
        } else {
            format!("refs/heads/{name}")
        })
    }

    pub(super) fn pull_request(&self) -> Option<PullRequest> {
        let number = |path| self.0.pointer(path).and_then(Value::as_u64);
        // `pull_request.id` is another number.
        let number = number("/pull_request/number").or_else(|| {
            self.0.get("pull_request")?.as_object()?;
            number("/number")
        })?;
        let text = |path: &str| self.text(&format!("/pull_request{path}"));
        Some(PullRequest {
            number,
            head_sha: text("/head/sha"),
            base_ref: text("/base/ref"),
            base_sha: text("/base/sha"),
            body: text("/body"),
            is_fork: self.is_fork(),
            is_closed: text("/state").is_some_and(|state| state == "closed")
                || self.0.pointer("/pull_request/merged") == Some(&Value::Bool(true)),
        })
    }

    /// A deleted fork has no repository, and the id −1.
    fn is_fork(&self) -> bool {
        let end = |end: &str| {
            let id = self.0.pointer(&format!("/pull_request/{end}/repo_id"));
            id.and_then(Value::as_i64)
        };
        if let (Some(head), Some(base)) = (end("head"), end("base")) {
            return head != base;
        }
        if self.0.pointer("/pull_request/head/repo") == Some(&Value::Null) {
            return true;
        }
        let name = |end: &str| self.text(&format!("/pull_request/{end}/repo/full_name"));
        matches!((name("head"), name("base")), (Some(head), Some(base)) if !head.eq_ignore_ascii_case(&base))
    }

    /// Returns the text at a JSON pointer, if there is one.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let text = self.0.pointer(path)?.as_str()?;
        (!text.trim().is_empty()).then(|| text.to_owned())
    }
}
