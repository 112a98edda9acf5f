//! What the server holds besides the git repositories: users, tokens, repositories and what people
//! talk about in them.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};

use jiff::Timestamp;

use super::actions::Run;
use super::auth::{Level, Team, Token};
use super::comments::Comment;
use super::flavour::Flavour;
use super::git::{Git, Person};
use super::issues::{Issue, Label};
use super::protection::Rule;
use super::statuses::Status;
use super::users::User;
use crate::clock::Clock;

/// The id of the user behind job tokens.
pub(super) const ACTIONS: i64 = -2;

/// Everything that one server knows.
#[derive(Clone)]
pub(super) struct Forge {
    pub(super) flavour: Flavour,
    /// Where the server is, without a slash at the end.
    pub(super) root: String,
    pub(super) users: Vec<User>,
    pub(super) tokens: Vec<Token>,
    pub(super) repos: Vec<Repo>,
    /// Earlier `owner/name`s in lower case, and the repositories that bore them.
    pub(super) moved: HashMap<String, i64>,
    /// Bytes above which a file has no content in answers.
    pub(super) max_blob_size: usize,
    /// Entries of a tree in one answer.
    pub(super) trees_per_page: usize,
    pub(super) clock: Clock,
    /// Every plain token that was ever issued.
    pub(super) secrets: Vec<String>,
    last_id: i64,
}

/// One repository.
#[derive(Clone)]
pub(super) struct Repo {
    pub(super) id: i64,
    pub(super) owner: i64,
    pub(super) name: String,
    pub(super) private: bool,
    pub(super) archived: bool,
    pub(super) mirror: bool,
    pub(super) default_branch: String,
    pub(super) collaborators: BTreeMap<i64, Level>,
    /// Where there are some, its owner stands for an organisation.
    pub(super) teams: Vec<Team>,
    pub(super) rules: Vec<Rule>,
    /// Of the workflows, by name.
    pub(super) secrets: BTreeMap<String, String>,
    pub(super) variables: BTreeMap<String, String>,
    /// What the pre-receive hook says to every push, where it refuses them.
    pub(super) hook: Option<String>,
    pub(super) issues: Vec<Issue>,
    pub(super) comments: Vec<Comment>,
    pub(super) labels: Vec<Label>,
    pub(super) statuses: Vec<Status>,
    pub(super) runs: Vec<Run>,
    /// Logins by the commit that they pushed.
    pub(super) pushers: HashMap<String, String>,
    pub(super) git: Git,
    /// Branches that git has and the database does not know, by the tip up to which that is so.
    pub(super) unknown: BTreeMap<String, String>,
    pub(super) created: Timestamp,
}

impl Forge {
    pub(super) fn new(flavour: Flavour) -> Forge {
        Forge {
            flavour,
            root: String::new(),
            users: Vec::new(),
            tokens: Vec::new(),
            repos: Vec::new(),
            moved: HashMap::new(),
            max_blob_size: 10 * 1024 * 1024,
            trees_per_page: 1000,
            clock: Clock::default(),
            secrets: Vec::new(),
            last_id: 0,
        }
    }

    /// Returns a number that nothing else has. The real server counts each kind apart.
    pub(super) fn new_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }

    pub(super) fn now(&mut self) -> Timestamp {
        self.clock.now()
    }

    /// Returns 40 lower-case hex digits that nobody can guess.
    pub(super) fn new_secret(&mut self) -> String {
        let digits: String = (0..3)
            .map(|part| format!("{:016x}", RandomState::new().hash_one(part)))
            .collect();
        let secret = digits[..40].to_owned();
        self.secrets.push(secret.clone());
        secret
    }

    /// Returns the repository of this name, in any case.
    pub(super) fn find(&self, owner: &str, name: &str) -> Option<&Repo> {
        self.repos.iter().find(|repo| {
            repo.name.eq_ignore_ascii_case(name)
                && self.login(repo.owner).eq_ignore_ascii_case(owner)
        })
    }

    /// Returns a repository by its id.
    pub(super) fn repo(&self, id: i64) -> &Repo {
        let found = self.repos.iter().find(|repo| repo.id == id);
        found.expect("a repository that is not deleted while it is used")
    }

    pub(super) fn repo_mut(&mut self, id: i64) -> &mut Repo {
        let found = self.repos.iter_mut().find(|repo| repo.id == id);
        found.expect("a repository that is not deleted while it is used")
    }

    /// Returns `owner/name`.
    pub(super) fn full_name(&self, repo: &Repo) -> String {
        format!("{}/{}", self.login(repo.owner), repo.name)
    }

    /// Notes that a branch was pushed: who did it, which pull requests have it as their head, and
    /// which issues the message closes.
    pub(super) fn pushed(
        &mut self,
        repo: i64,
        branch: &str,
        commit: &str,
        message: &str,
        pusher: i64,
    ) {
        let login = self.login(pusher).to_owned();
        let now = self.now();
        let repo = self.repo_mut(repo);
        repo.pushers.entry(commit.to_owned()).or_insert(login);
        for issue in repo.issues.iter().filter(|issue| issue.is_open) {
            if issue.pull.as_ref().is_some_and(|pull| pull.head == branch) {
                repo.git.set(&issue.head_ref(), commit);
            }
        }
        if branch == repo.default_branch {
            let closed = closed_by(message);
            repo.issues
                .iter_mut()
                .filter(|issue| issue.pull.is_none() && closed.contains(&issue.number))
                .for_each(|issue| issue.close(now));
        }
    }

    /// Returns who a commit of this user names, now.
    pub(super) fn person(&mut self, user: i64) -> Person {
        let date = format!("{} +0000", self.now().as_second());
        let (name, email) = match self.user(user) {
            Some(user) => (user.login.clone(), user.email.clone()),
            None => ("Ghost".to_owned(), "ghost@example.com".to_owned()),
        };
        Person { name, email, date }
    }
}

/// Returns the numbers of the issues that a message closes: `fixes #12` and its like.
fn closed_by(message: &str) -> Vec<i64> {
    const WORDS: [&str; 9] = [
        "close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved",
    ];
    let words: Vec<&str> = message.split_whitespace().collect();
    let closed = |pair: &[&str]| {
        let word = pair[0].trim_start_matches('(').trim_end_matches(':');
        let number = pair[1].strip_prefix('#')?;
        let end = number.find(|letter: char| !letter.is_ascii_digit());
        WORDS
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known))
            .then(|| number[..end.unwrap_or(number.len())].parse().ok())?
    };
    words.windows(2).filter_map(closed).collect()
}

/// RFC 3339 in UTC, to the second, as the API shows times.
pub(super) fn show_time(time: Timestamp) -> String {
    format!("{time:.0}")
}

#[cfg(test)]
mod tests {
    use super::closed_by;

    #[test]
    fn messages_close_issues() {
        assert_eq!(closed_by("chore: mark fixes #1 as enrolled"), [1]);
        assert_eq!(closed_by("x\n\nCloses: #12, (resolves #3)"), [12, 3]);
        assert_eq!(closed_by("see #1, prefixes #2, fixes#3, fix #x"), [0; 0]);
    }
}
