//! How commits are shown, and the dates in them.

use jiff::Timestamp;
use jiff::tz::Offset;
use serde_json::{Value, json};

use super::api::{BASE, Call, Outcome, ok};
use super::auth::Unit;
use super::contents::clean;
use super::forge::{Forge, Repo, show_time};
use super::git::{Log, Logged, Person};
use super::pages::counted;
use super::refusal::{Refusal, missing};

/// Go's zero time, which stands for "not told".
const NEVER: &str = "0001-01-01T00:00:00Z";

/// Returns the moment of `SECONDS +HHMM`, and the offset from UTC.
fn moment(date: &str) -> (Timestamp, Offset) {
    let (seconds, zone) = date.split_once(' ').unwrap_or((date, "+0000"));
    let time = Timestamp::from_second(seconds.parse().unwrap_or_default()).unwrap_or_default();
    let number: i32 = zone.parse().unwrap_or_default();
    let seconds = (number / 100 * 60 + number % 100) * 60;
    let offset = Offset::from_seconds(seconds).unwrap_or(Offset::UTC);
    (time, offset)
}

/// Returns a date in UTC.
pub(super) fn in_utc(date: &str) -> String {
    show_time(moment(date).0)
}

/// Returns a date as it was written.
pub(super) fn as_written(date: &str) -> String {
    let (time, offset) = moment(date);
    if offset == Offset::UTC {
        show_time(time)
    } else {
        time.display_with_offset(offset).to_string()
    }
}

/// Returns `SECONDS +HHMM` of a date in RFC 3339. None for what is none.
pub(super) fn raw_date(text: &str) -> Option<String> {
    let time: Timestamp = text.parse().ok()?;
    let zone = text.get(text.len().checked_sub(6)?..)?;
    let numeric = zone.starts_with(['+', '-']) && zone.as_bytes()[3] == b':';
    let zone = if numeric {
        zone.replace(':', "")
    } else {
        "+0000".to_owned()
    };
    Some(format!("{} {zone}", time.as_second()))
}

/// What answers say of signatures: there are none.
pub(super) fn verification() -> Value {
    json!({
        "verified": false,
        "reason": "gpg.error.not_signed_commit",
        "signature": "",
        "signer": null,
        "payload": "",
    })
}

/// Returns a commit as writes of files answer it. The message is shown byte for byte.
pub(super) fn show(forge: &Forge, repo: &Repo, commit: &Logged) -> Value {
    let root = format!("{}{BASE}/repos/{}", forge.root, forge.full_name(repo));
    let object = |kind: &str, sha: &str| json!({"url": format!("{root}/git/{kind}/{sha}"), "sha": sha, "created": NEVER});
    let person = |person: &Person| {
        let Person { name, email, date } = person;
        json!({"name": name, "email": email, "date": in_utc(date)})
    };
    let parents: Vec<Value> = commit
        .parents
        .iter()
        .map(|parent| object("commits", parent))
        .collect();
    let html_url = format!(
        "{}/{}/commit/{}",
        forge.root,
        forge.full_name(repo),
        commit.sha
    );
    let mut shown = object("commits", &commit.sha);
    shown["html_url"] = json!(html_url);
    shown["author"] = person(&commit.author);
    shown["committer"] = person(&commit.committer);
    shown["parents"] = json!(parents);
    shown["message"] = json!(commit.message);
    shown["tree"] = object("trees", &commit.tree);
    shown
}

/// Returns the commit at the tip of a branch, as branches show it.
pub(super) fn show_tip(forge: &Forge, repo: &Repo, commit: &Logged) -> Value {
    let person = |person: &Person| {
        let user = forge.users.iter().find(|user| user.email == person.email);
        let username = user.map_or("", |user| user.login.as_str());
        json!({"name": person.name, "email": person.email, "username": username})
    };
    json!({
        "id": commit.sha,
        "message": commit.message,
        "url": format!("{}/{}/commit/{}", forge.root, forge.full_name(repo), commit.sha),
        "author": person(&commit.author),
        "committer": person(&commit.committer),
        "verification": verification(),
        "timestamp": as_written(&commit.committer.date),
        "added": null,
        "removed": null,
        "modified": null,
    })
}

/// A page of commits, whatever `limit` says: it is ignored where a path is named.
const PAGE: usize = 50;

/// `GET …/commits`: those up to `sha`, of `path` if one is named, the newest first. A branch that is not there is a 500, a
/// path that no commit touched a 404 (read in Gitea's routers/api/v1/repo/commits.go).
pub(super) fn list(call: &Call) -> Outcome {
    let forge = call.forge();
    call.require_read(&forge, Unit::Code)?;
    let repo = forge.repo(call.repo);
    if repo.git.branches().is_empty() {
        let message = "Git Repository is empty.".to_owned();
        return Err(Refusal::Message(409, message));
    }
    let reference = call.parameter("sha").unwrap_or(&repo.default_branch);
    let path = clean(call.parameter("path").unwrap_or_default());
    let Some(commit) = repo.git.resolve(reference) else {
        let hidden = Refusal::Hidden(format!("bad revision '{reference}'"));
        return Err(if path.is_empty() { missing() } else { hidden });
    };
    let found = repo.git.log(&commit, Log::Touching { path: &path });
    if found.is_empty() {
        return Err(Refusal::Missing(Some("FileCommitsCount"), Vec::new()));
    }
    let page = call.parameter("page").and_then(|page| page.parse().ok());
    let page = page.filter(|page: &usize| *page > 0).unwrap_or(1);
    let shown = found.iter().skip((page - 1) * PAGE).take(PAGE);
    let shown = shown.map(|logged| {
        let commit = show(&forge, repo, logged);
        json!({
            "url": commit["url"],
            "sha": commit["sha"],
            "created": in_utc(&logged.committer.date),
            "html_url": commit["html_url"],
            "author": null,
            "committer": null,
            "parents": commit["parents"],
            "commit": {
                "url": commit["url"],
                "author": commit["author"],
                "committer": commit["committer"],
                "message": commit["message"],
                "tree": commit["tree"],
                "verification": null,
            },
        })
    });
    Ok(counted(ok(&shown.collect()), found.len()))
}

#[cfg(test)]
mod tests {
    use super::{as_written, in_utc, raw_date};

    #[test]
    fn dates_keep_their_offset() {
        let raw = raw_date("2026-01-02T03:04:06+02:00");
        assert_eq!(raw.as_deref(), Some("1767315846 +0200"));
        assert_eq!(as_written("1767315846 +0200"), "2026-01-02T03:04:06+02:00");
        assert_eq!(in_utc("1767315846 +0200"), "2026-01-02T01:04:06Z");
        assert_eq!(as_written("1767315846 -0330"), "2026-01-01T21:34:06-03:30");
        let zulu = raw_date("2026-01-02T03:04:05Z");
        assert_eq!(zulu.as_deref(), Some("1767323045 +0000"));
        assert_eq!(as_written("1767323045 +0000"), "2026-01-02T03:04:05Z");
        assert_eq!(raw_date("yesterday"), None);
    }
}
