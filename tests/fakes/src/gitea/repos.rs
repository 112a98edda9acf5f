//! Repositories: made, shown, archived, renamed, deleted.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::api::{BASE, Call, Outcome, done, ok};
use super::auth::{self, Caller, Level, Unit};
use super::forge::{Forge, Repo, show_time};
use super::git::{Change, Draft, NOTHING};
use super::refusal::{Refusal, invalid, json_response};
use super::shared::Shared;

/// Makes a repository without any commit, and returns its id.
pub(super) fn add(
    shared: &Shared,
    owner: i64,
    name: &str,
    private: bool,
    default_branch: &str,
) -> i64 {
    let mut forge = shared.forge();
    let (id, created) = (forge.new_id(), forge.now());
    let git = shared.new_git(id, default_branch);
    forge.repos.push(Repo {
        id,
        owner,
        name: name.to_owned(),
        private,
        archived: false,
        mirror: false,
        default_branch: default_branch.to_owned(),
        collaborators: BTreeMap::new(),
        teams: Vec::new(),
        rules: Vec::new(),
        secrets: BTreeMap::new(),
        variables: BTreeMap::new(),
        hook: None,
        issues: Vec::new(),
        comments: Vec::new(),
        labels: Vec::new(),
        statuses: Vec::new(),
        runs: Vec::new(),
        pushers: HashMap::new(),
        git,
        unknown: BTreeMap::new(),
        created,
    });
    id
}

/// Puts a first commit into a repository.
pub(super) fn begin(shared: &Shared, repo: i64, user: i64, path: &str, bytes: &[u8]) {
    let mut forge = shared.forge();
    let person = forge.person(user);
    let draft = Draft {
        author: person.clone(),
        committer: person,
        message: "Initial commit\n".to_owned(),
        changes: vec![Change::Write {
            path: path.to_owned(),
            mode: "100644".to_owned(),
            bytes: bytes.to_vec(),
        }],
    };
    let (git, branch) = {
        let repo = forge.repo(repo);
        (repo.git.clone(), repo.default_branch.clone())
    };
    let commit = git.write(None, &draft);
    git.push(&format!("refs/heads/{branch}"), &commit, NOTHING)
        .expect("a branch that was not there");
    forge.pushed(repo, &branch, &commit, &draft.message, user);
}

/// Gives a repository another name; the one it had leads to it.
pub(super) fn rename(forge: &mut Forge, id: i64, name: &str) {
    let earlier = forge.full_name(forge.repo(id)).to_lowercase();
    forge.moved.insert(earlier, id);
    forge.repo_mut(id).name = name.to_owned();
    let now = forge.full_name(forge.repo(id)).to_lowercase();
    forge.moved.remove(&now);
}

impl Forge {
    /// Returns a repository as the API shows it to this caller.
    pub(super) fn show_repo(&self, repo: &Repo, caller: &Caller) -> Value {
        let full_name = self.full_name(repo);
        let (root, created) = (&self.root, show_time(repo.created));
        let level = auth::level(self, caller, repo, Unit::Code);
        let branches = repo.git.branches();
        let open = |pulls: bool| {
            let issues = repo.issues.iter();
            issues
                .filter(|issue| issue.is_open && issue.pull.is_some() == pulls)
                .count()
        };
        json!({
            "id": repo.id,
            "owner": self.show_user(repo.owner, false),
            "name": repo.name,
            "full_name": full_name,
            "description": "",
            "empty": branches.is_empty(),
            "private": repo.private,
            "fork": false,
            "template": false,
            "mirror": repo.mirror,
            "size": 28,
            "language": "",
            "languages_url": format!("{root}{BASE}/repos/{full_name}/languages"),
            "html_url": format!("{root}/{full_name}"),
            "url": format!("{root}{BASE}/repos/{full_name}"),
            "link": "",
            "ssh_url": format!("git@localhost:{full_name}.git"),
            "clone_url": format!("{root}/{full_name}.git"),
            "original_url": "",
            "website": "",
            "stars_count": 0,
            "forks_count": 0,
            "watchers_count": 1,
            "branch_count": branches.len(),
            "open_issues_count": open(false),
            "open_pr_counter": open(true),
            "release_counter": 0,
            "default_branch": repo.default_branch,
            "archived": repo.archived,
            "created_at": created,
            "updated_at": created,
            "archived_at": "1970-01-01T00:00:00Z",
            "permissions": {
                "admin": level >= Level::Admin,
                "push": level >= Level::Write,
                "pull": level >= Level::Read,
            },
            "has_code": true,
            "has_issues": true,
            "internal_tracker": {
                "enable_time_tracker": true,
                "allow_only_contributors_to_track_time": true,
                "enable_issue_dependencies": true,
            },
            "has_wiki": true,
            "has_pull_requests": true,
            "has_projects": true,
            "projects_mode": "all",
            "has_releases": true,
            "has_packages": true,
            "has_actions": true,
            "ignore_whitespace_conflicts": false,
            "allow_merge_commits": true,
            "allow_rebase": true,
            "allow_rebase_explicit": true,
            "allow_squash_merge": true,
            "allow_fast_forward_only_merge": true,
            "allow_rebase_update": true,
            "allow_manual_merge": false,
            "autodetect_manual_merge": false,
            "default_delete_branch_after_merge": false,
            "default_merge_style": "merge",
            "default_allow_maintainer_edit": true,
            "avatar_url": "",
            "internal": false,
            "mirror_interval": "",
            "object_format_name": "sha1",
            "mirror_updated": "0001-01-01T00:00:00Z",
            "topics": [],
            "licenses": [],
        })
    }
}

/// `POST /user/repos`.
pub(super) fn create(call: &Call) -> Outcome {
    let body = call.body()?;
    let (user, name) = (call.caller.user, body.text("name")?);
    if name.is_empty() {
        return Err(invalid("[Name]: Required"));
    }
    {
        let forge = call.forge();
        if forge.find(forge.login(user), &name).is_some() {
            let message = "The repository with the same name already exists.".to_owned();
            return Err(Refusal::Message(409, message));
        }
    }
    let branch = body.optional_text("default_branch")?;
    let branch = branch.filter(|branch| !branch.is_empty());
    let branch = branch.unwrap_or_else(|| "main".to_owned());
    let id = add(call.shared, user, &name, body.flag("private")?, &branch);
    if body.flag("auto_init")? {
        let text = format!("# {name}\n");
        begin(call.shared, id, user, "README.md", text.as_bytes());
    }
    let forge = call.forge();
    let shown = forge.show_repo(forge.repo(id), &call.caller);
    Ok(json_response(201, &shown))
}

/// `GET /repos/{owner}/{repo}`.
pub(super) fn get(call: &Call) -> Outcome {
    let forge = call.forge();
    Ok(ok(&forge.show_repo(forge.repo(call.repo), &call.caller)))
}

/// `PATCH /repos/{owner}/{repo}`.
pub(super) fn edit(call: &Call) -> Outcome {
    call.require_admin()?;
    let body = call.body()?;
    let mut forge = call.forge();
    if let Some(name) = body.optional_text("name")? {
        rename(&mut forge, call.repo, &name);
    }
    let repo = forge.repo_mut(call.repo);
    repo.archived = body.optional_flag("archived")?.unwrap_or(repo.archived);
    repo.private = body.optional_flag("private")?.unwrap_or(repo.private);
    Ok(ok(&forge.show_repo(forge.repo(call.repo), &call.caller)))
}

/// `DELETE /repos/{owner}/{repo}`. The git repository stays until the server ends, for those who
/// are still at work in it.
pub(super) fn delete(call: &Call) -> Outcome {
    call.require_admin()?;
    let mut forge = call.forge();
    forge.repos.retain(|repo| repo.id != call.repo);
    forge.moved.retain(|_, id| *id != call.repo);
    Ok(done())
}
