//! The repository of a site: the fake, or one with a random name on a real server.

use std::io;
use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fakes::{Gitea, How, client};
use serde_json::{Value, json};

/// A repository.
pub(crate) enum Repo {
    Fake(Gitea),
    Real(Real),
}

/// A repository that was made for this test, and is deleted with it.
pub(crate) struct Real {
    url: String,
    bot: String,
    admin: String,
    full_name: String,
    /// Who `admin` is.
    person: String,
    /// The user who may only read, where a test made one.
    reader: OnceLock<String>,
}

impl Repo {
    /// A repository on the server that the environment names, where it says that it may be used.
    pub(crate) fn real() -> Option<Repo> {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        if set("NETBIRD_GITOPS_TEST_REAL").as_deref() != Some("1") {
            return None;
        }
        let url = set("GITEA_URL")?;
        let wanted = |name: &str| {
            set(name).unwrap_or_else(|| panic!("GITEA_URL is set, so {name} must be too"))
        };
        let (bot, admin) = (wanted("GITEA_TOKEN"), wanted("GITEA_ADMIN_TOKEN"));
        let chance = age::x25519::Identity::generate().to_public().to_string();
        let mut real = Real {
            url,
            bot,
            admin,
            full_name: String::new(),
            person: String::new(),
            reader: OnceLock::new(),
        };
        let name = format!("it-{}", &chance[10..20]);
        let new =
            json!({ "name": name, "private": true, "auto_init": true, "default_branch": "main" });
        let login = |token: &str| {
            let user = real.get_as(token, "/user");
            user["login"].as_str().expect("a login").to_owned()
        };
        let (owner, bot) = (login(&real.admin), login(&real.bot));
        real.call("POST", "/user/repos", new, 201);
        real.full_name = format!("{owner}/{name}");
        real.person = owner;
        let repo = Repo::Real(real);
        repo.permit(&bot, "write");
        Some(repo)
    }

    /// The same where users can be made, which needs the token of a site's administrator.
    pub(crate) fn real_with_users() -> Option<Repo> {
        Repo::real().filter(|repo| match repo {
            Repo::Real(real) => real.get_as(&real.admin, "/user")["is_admin"] == true,
            Repo::Fake(_) => true,
        })
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Repo::Fake(gitea) => gitea.url(),
            Repo::Real(real) => real.url.clone(),
        }
    }

    pub(crate) fn full_name(&self) -> String {
        match self {
            Repo::Fake(gitea) => gitea.repo(),
            Repo::Real(real) => real.full_name.clone(),
        }
    }

    /// The bot's token.
    pub(crate) fn token(&self) -> String {
        match self {
            Repo::Fake(gitea) => gitea.token(),
            Repo::Real(real) => real.bot.clone(),
        }
    }

    /// The person who pushes, opens, describes and merges where nobody else is named.
    pub(crate) fn person(&self) -> &str {
        match self {
            Repo::Fake(_) => "alice",
            Repo::Real(real) => &real.person,
        }
    }

    /// Makes a user who may only read. Once a test.
    pub(crate) fn reader(&self) -> String {
        let login = match self {
            Repo::Fake(gitea) => {
                let user = json!({ "username": "bob", "email": "bob@example.com" });
                gitea.call("POST", "/admin/users", user);
                "bob".to_owned()
            }
            Repo::Real(real) => real.reader.get_or_init(|| real.add_reader()).clone(),
        };
        self.permit(&login, "read");
        login
    }

    /// Makes somebody a collaborator with this permission.
    pub(crate) fn permit(&self, login: &str, permission: &str) {
        let path = format!("/repos/{}/collaborators/{login}", self.full_name());
        let body = json!({ "permission": permission });
        let (status, answer) = match self {
            Repo::Fake(gitea) => gitea.call("PUT", &path, body),
            Repo::Real(real) => real.try_call("PUT", &path, body),
        };
        assert_eq!(status, 204, "PUT {path}: {answer}");
    }

    /// Pushes a file as a person does, and returns the commit. A branch that is not there begins at `main`.
    pub(crate) fn push(&self, branch: &str, path: &str, bytes: &[u8], message: &str) -> String {
        match self {
            Repo::Fake(gitea) => gitea.push(branch, path, bytes, message),
            Repo::Real(real) => real.push(branch, path, bytes, message),
        }
    }

    /// The bytes of a file.
    pub(crate) fn file(&self, branch: &str, path: &str) -> Vec<u8> {
        match self {
            Repo::Fake(gitea) => gitea.file(branch, path),
            Repo::Real(real) => {
                let found = real.repo_get(&format!("/contents/{path}?ref={branch}"));
                STANDARD.decode(found["content"].as_str().unwrap()).unwrap()
            }
        }
    }

    /// The commits of a branch by their messages, newest first.
    pub(crate) fn messages(&self, branch: &str) -> Vec<String> {
        match self {
            Repo::Fake(gitea) => {
                let log = gitea.log(branch).into_iter();
                log.map(|commit| commit.message.trim_end().to_owned())
                    .collect()
            }
            Repo::Real(real) => {
                let log = real.repo_get(&format!("/commits?sha={branch}&limit=50&stat=false"));
                let message = |commit: &Value| {
                    commit["commit"]["message"]
                        .as_str()
                        .unwrap()
                        .trim_end()
                        .to_owned()
                };
                log.as_array().unwrap().iter().map(message).collect()
            }
        }
    }

    /// The commit at the tip of a branch.
    pub(crate) fn tip(&self, branch: &str) -> String {
        match self {
            Repo::Fake(gitea) => gitea.tip(branch).expect("a branch"),
            Repo::Real(real) => {
                let found = real.repo_get(&format!("/branches/{branch}"));
                found["commit"]["id"].as_str().unwrap().to_owned()
            }
        }
    }

    /// Opens a pull request and returns its number.
    pub(crate) fn open_pr(&self, head: &str, base: &str) -> u64 {
        match self {
            Repo::Fake(gitea) => gitea.open_pr(head, base).unsigned_abs(),
            Repo::Real(real) => {
                let new = json!({ "head": head, "base": base, "title": head });
                let path = format!("/repos/{}/pulls", real.full_name);
                let pull = real.call("POST", &path, new, 201);
                pull["number"].as_u64().unwrap()
            }
        }
    }

    /// Opens a pull request as this user, see [`Repo::reader`], and returns its number.
    pub(crate) fn open_pr_as(&self, login: &str, head: &str, base: &str) -> u64 {
        match self {
            Repo::Fake(gitea) => gitea.open_pr_as(login, head, base, "").unsigned_abs(),
            Repo::Real(real) => {
                let new = json!({ "head": head, "base": base, "title": head });
                let path = format!("/repos/{}/pulls?sudo={login}", real.full_name);
                let pull = real.call("POST", &path, new, 201);
                pull["number"].as_u64().unwrap()
            }
        }
    }

    /// Writes the description of a pull request.
    pub(crate) fn describe(&self, number: u64, body: &str) {
        let path = format!("/repos/{}/pulls/{number}", self.full_name());
        let new = json!({ "body": body });
        let (status, answer) = match self {
            Repo::Fake(gitea) => gitea.call("PATCH", &path, new),
            Repo::Real(real) => real.try_call("PATCH", &path, new),
        };
        assert_eq!(status, 201, "PATCH {path}: {answer}");
    }

    /// Merges a pull request with a merge commit, as a person does, and returns the commit.
    pub(crate) fn merge(&self, number: u64) -> String {
        self.merge_by(number, How::Merge)
    }

    /// The same in one of the ways that the page offers.
    pub(crate) fn merge_by(&self, number: u64, how: How) -> String {
        match self {
            Repo::Fake(gitea) => gitea.merge_by(i64::try_from(number).unwrap(), how),
            Repo::Real(real) => {
                let path = format!("/repos/{}/pulls/{number}", real.full_name);
                let style = match how {
                    How::Merge => "merge",
                    How::Squash => "squash",
                    How::Rebase => "rebase",
                    How::FastForward => "fast-forward-only",
                };
                // Gitea looks at a new pull request in the background, and says 405 until then
                let merge =
                    || real.try_call("POST", &format!("{path}/merge"), json!({ "Do": style }));
                let merged = (0..1000).any(|_| merge().0 == 200);
                assert!(
                    merged,
                    "pull request {number} cannot be merged: {:?}",
                    merge()
                );
                let pull = real.get_as(&real.admin, &path);
                pull["merge_commit_sha"].as_str().unwrap().to_owned()
            }
        }
    }

    /// Lets nobody push to a branch.
    pub(crate) fn protect(&self, branch: &str) {
        match self {
            Repo::Fake(gitea) => gitea.protect(branch, json!({})),
            Repo::Real(real) => {
                let path = format!("/repos/{}/branch_protections", real.full_name);
                let rule = json!({ "rule_name": branch, "enable_push": false });
                real.call("POST", &path, rule, 201);
            }
        }
    }

    /// The pull requests, those that are closed too.
    pub(crate) fn pulls(&self) -> Vec<Value> {
        match self {
            Repo::Fake(gitea) => gitea.pulls(),
            Repo::Real(real) => {
                let found = real.repo_get("/pulls?state=all");
                found.as_array().unwrap().clone()
            }
        }
    }

    /// The comments on a pull request, oldest first.
    pub(crate) fn comments(&self, number: u64) -> Vec<Value> {
        match self {
            Repo::Fake(gitea) => gitea.comments(i64::try_from(number).unwrap()),
            Repo::Real(real) => {
                let found = real.repo_get(&format!("/issues/{number}/comments"));
                found.as_array().unwrap().clone()
            }
        }
    }

    /// Where git fetches from.
    pub(super) fn git_url(&self) -> String {
        match self {
            Repo::Fake(gitea) => gitea.git_dir().to_str().unwrap().to_owned(),
            Repo::Real(real) => format!("{}/{}.git", real.url, real.full_name),
        }
    }

    /// What git needs to know before its command.
    pub(super) fn git_options(&self) -> Vec<String> {
        match self {
            Repo::Fake(_) => Vec::new(),
            Repo::Real(real) => {
                let login = STANDARD.encode(format!("x:{}", real.bot));
                let header = format!("http.extraHeader=Authorization: Basic {login}");
                vec!["-c".to_owned(), header]
            }
        }
    }
}

impl Real {
    fn try_call(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let answer = self.send(method, path, body).unwrap();
        (answer.status, answer.json)
    }

    fn send(&self, method: &str, path: &str, body: Value) -> io::Result<client::Answer> {
        let url = format!("{}/api/v1{path}", self.url);
        let body = (!body.is_null()).then_some(&body);
        client::send(method, &url, Some(&self.admin), body)
    }

    #[track_caller]
    fn call(&self, method: &str, path: &str, body: Value, wanted: u16) -> Value {
        let (status, answer) = self.try_call(method, path, body);
        assert_eq!(status, wanted, "{method} {path}: {answer}");
        answer
    }

    #[track_caller]
    fn get_as(&self, token: &str, path: &str) -> Value {
        let url = format!("{}/api/v1{path}", self.url);
        let answer = client::send("GET", &url, Some(token), None).unwrap();
        assert_eq!(answer.status, 200, "GET {path}: {}", answer.text);
        answer.json
    }

    #[track_caller]
    fn repo_get(&self, path: &str) -> Value {
        self.get_as(&self.admin, &format!("/repos/{}{path}", self.full_name))
    }

    fn add_reader(&self) -> String {
        let (_, name) = self.full_name.split_once('/').expect("owner/name");
        let login = format!("{name}-reader");
        let new = json!({ "username": login, "email": format!("{login}@example.com"),
            "password": self.admin, "must_change_password": false });
        self.call("POST", "/admin/users", new, 201);
        login
    }

    fn push(&self, branch: &str, path: &str, bytes: &[u8], message: &str) -> String {
        let repo = format!("/repos/{}", self.full_name);
        let (status, _) = self.try_call("GET", &format!("{repo}/branches/{branch}"), Value::Null);
        if status == 404 {
            let new = json!({ "new_branch_name": branch, "old_ref_name": "main" });
            self.call("POST", &format!("{repo}/branches"), new, 201);
        }
        // whoever loses against another push tries again, as people do
        for _ in 0..20 {
            let file = format!("{repo}/contents/{path}");
            let (_, found) = self.try_call("GET", &format!("{file}?ref={branch}"), Value::Null);
            let mut body =
                json!({ "branch": branch, "message": message, "content": STANDARD.encode(bytes) });
            let method = match found["sha"].as_str() {
                Some(sha) => {
                    body["sha"] = json!(sha);
                    "PUT"
                }
                None => "POST",
            };
            let (status, answer) = self.try_call(method, &file, body);
            if matches!(status, 200 | 201) {
                return answer["commit"]["sha"].as_str().unwrap().to_owned();
            }
        }
        panic!("cannot push {path} to {branch}");
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        if !self.full_name.is_empty() {
            let path = format!("/repos/{}", self.full_name);
            // in a test that failed anyway nobody is helped by a second panic
            if let Err(error) = self.send("DELETE", &path, Value::Null) {
                eprintln!("the repository {} stays: {error}", self.full_name);
            }
        }
        if let Some(login) = self.reader.get()
            && let Err(error) = self.send("DELETE", &format!("/admin/users/{login}"), Value::Null)
        {
            eprintln!("the user {login} stays: {error}");
        }
    }
}
