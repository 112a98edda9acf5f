//! One issue about drift: opened when there is some, edited while it lasts, closed when it is gone (docs/gitea-api.md,
//! "Issues and labels").
//!
//! Scheduled runs set no commit status (docs/gitea-api.md, "Statuses"), so this is how they are heard. A closed issue
//! is not opened again: the next drift is another story, and gets an issue of its own that people are told about.

use super::{Error, Issue, IssueEdit, Repo, User};

/// What is to be said.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// The issue's title.
    pub title: &'a str,
    /// Its text, with the marker at the very start.
    pub body: &'a str,
}

/// What became of the issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// It is new.
    Opened(Link),
    /// It was there, and says something else now.
    Edited(Link),
    /// It said the same already.
    Unchanged(Link),
    /// It was there, and is closed now.
    Closed(Link),
    /// There is none, and nothing to say.
    None,
}

/// An issue, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its number.
    pub number: u64,
    /// Its page.
    pub url: String,
}

/// Keeps the issue whose text starts with `marker` as `report` says.
///
/// An issue of another author is not ours ([`super::comment::upsert`] says why). Of several the one with the lowest number
/// stays, the others are closed.
pub fn keep(repo: &Repo, marker: &str, report: Report<'_>) -> Result<Kept, Error> {
    debug_assert!(report.body.starts_with(marker), "the marker comes first");
    let (found, me) = ours(repo, marker)?;
    for (n, issue) in found.iter().enumerate() {
        let same = issue.title == report.title && issue.body == report.body;
        if !same && !change(repo, issue.number, text_of(report))? {
            continue;
        }
        close(repo, &found[n + 1..]);
        return Ok(match same {
            true => Kept::Unchanged(link(issue)),
            false => Kept::Edited(link(issue)),
        });
    }
    open(repo, marker, report, me)
}

/// Closes the issue whose text starts with `marker`, if there is one, with the title and the text of `report`.
pub fn resolve(repo: &Repo, marker: &str, report: Report<'_>) -> Result<Kept, Error> {
    let (found, _) = ours(repo, marker)?;
    let mut closed = Kept::None;
    for issue in found.iter().rev() {
        let edit = IssueEdit {
            state: Some("closed"),
            ..text_of(report)
        };
        if change(repo, issue.number, edit)? {
            closed = Kept::Closed(link(issue));
        }
    }
    Ok(closed)
}

const CLOSE: IssueEdit<'static> = IssueEdit {
    title: None,
    body: None,
    state: Some("closed"),
};

/// Opens an issue, and gives way to an older one that came up meanwhile.
fn open(repo: &Repo, marker: &str, report: Report<'_>, me: Option<User>) -> Result<Kept, Error> {
    let new = repo.create_issue(report.title, report.body)?;
    // The answer tells who we are, where the server did not.
    let Some(me) = me.or(new.user.clone()) else {
        return Ok(Kept::Opened(link(&new)));
    };
    // It stands. That this could not be checked is no reason to say otherwise.
    let found = marked(repo, marker, Some(&me)).unwrap_or_default();
    let first = found.into_iter().find(|issue| author(issue) == Some(me.id));
    let Some(first) = first.filter(|first| first.number < new.number) else {
        return Ok(Kept::Opened(link(&new)));
    };
    let same = first.title == new.title && first.body == new.body;
    if !same && !change(repo, first.number, text_of(report))? {
        return Ok(Kept::Opened(link(&new)));
    }
    close(repo, std::slice::from_ref(&new));
    Ok(Kept::Edited(link(&first)))
}

fn text_of(report: Report<'_>) -> IssueEdit<'_> {
    IssueEdit {
        title: Some(report.title),
        body: Some(report.body),
        state: None,
    }
}

/// Returns our open issues that start with the marker, the lowest number first, and who we are where that is known.
///
/// A token that may not ask who it is is told by the answer of a comment, which goes again: on an issue that may be ours,
/// so an issue that nobody planted costs nothing but that.
fn ours(repo: &Repo, marker: &str) -> Result<(Vec<Issue>, Option<User>), Error> {
    let mut me = repo.me()?;
    let mut found = marked(repo, marker, me.as_ref())?;
    if let (None, Some(first)) = (&me, found.first()) {
        let asking = repo.create_comment(first.number, "This is looked at.")?;
        if let Err(error) = repo.delete_comment(asking.id) {
            log::warn!("a comment that asked who we are stays: {error}");
        }
        me = asking.user;
    }
    let id = me.as_ref().map(|me| me.id);
    found.retain(|issue| author(issue).is_some() && author(issue) == id);
    Ok((found, me))
}

/// Returns the open issues that start with the marker, the lowest number first.
fn marked(repo: &Repo, marker: &str, me: Option<&User>) -> Result<Vec<Issue>, Error> {
    // The automatic user of jobs is in no list of users (docs/gitea-api.md, "Branch rules"), so the server may not
    // filter by it.
    let creator = me.filter(|me| me.id > 0).map(|me| me.login.as_str());
    let mut issues = repo.open_issues(creator)?;
    issues.retain(|issue| issue.body.starts_with(marker));
    issues.sort_by_key(|issue| issue.number);
    issues.dedup_by_key(|issue| issue.number);
    Ok(issues)
}

fn author(issue: &Issue) -> Option<i64> {
    issue.user.as_ref().map(|user| user.id)
}

/// Returns whether the issue was changed: it may be another's, or gone.
fn change(repo: &Repo, number: u64, edit: IssueEdit<'_>) -> Result<bool, Error> {
    match repo.edit_issue(number, edit) {
        Ok(()) => Ok(true),
        Err(Error::Forbidden(_) | Error::NotFound(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Closes surplus issues of ours. One that stays is a nuisance and no failure.
fn close(repo: &Repo, issues: &[Issue]) {
    for issue in issues {
        if let Err(error) = repo.edit_issue(issue.number, CLOSE) {
            log::warn!("a second issue stays open: {error}");
        }
    }
}

fn link(issue: &Issue) -> Link {
    Link {
        number: issue.number,
        url: issue.html_url.clone(),
    }
}
