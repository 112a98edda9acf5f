//! Users, and how answers show them.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::api::{Call, Outcome, done, ok};
use super::auth::{self, Caller, Level, Team, Token, Unit};
use super::flavour::Flavour;
use super::forge::{ACTIONS, Forge, show_time};
use super::refusal::{Refusal, forbidden, invalid, json_response, missing};

/// Somebody with a login: a person, a bot, an organisation.
#[derive(Clone)]
pub(super) struct User {
    pub(super) id: i64,
    pub(super) login: String,
    pub(super) email: String,
    pub(super) is_admin: bool,
    pub(super) password: Option<String>,
    pub(super) created: Timestamp,
}

impl Forge {
    pub(super) fn user(&self, id: i64) -> Option<&User> {
        self.users.iter().find(|user| user.id == id)
    }

    pub(super) fn user_named(&self, login: &str) -> Option<&User> {
        let mut users = self.users.iter();
        users.find(|user| user.login.eq_ignore_ascii_case(login))
    }

    /// Returns the login of a user, `Ghost` for one that is gone.
    pub(super) fn login(&self, id: i64) -> &str {
        self.user(id).map_or("Ghost", |user| &user.login)
    }

    /// Makes a user, and returns the id.
    pub(super) fn add_user(&mut self, login: &str, is_admin: bool) -> i64 {
        let id = if login == self.flavour.actions_user() {
            ACTIONS
        } else {
            self.new_id()
        };
        let created = self.now();
        self.users.push(User {
            id,
            login: login.to_owned(),
            email: format!("{login}@example.com"),
            is_admin,
            password: None,
            created,
        });
        id
    }

    /// Returns a user as others see them (`in_full` false), or as issues and `/user` show them.
    pub(super) fn show_user(&self, id: i64, in_full: bool) -> Value {
        let Some(user) = self.user(id) else {
            return Value::Null;
        };
        let User {
            id,
            login,
            email,
            is_admin,
            password: _,
            created,
        } = user;
        let hidden = self.flavour.pick(
            format!("{id}+{login}@noreply.example.com"),
            format!("{login}@noreply.example.com"),
        );
        let (full_name, picture) = if *id == ACTIONS {
            let name = self.flavour.pick("Gitea Actions", "Forgejo Actions");
            (name, "assets/img/avatar_default.png".to_owned())
        } else {
            ("", format!("avatars/{login}"))
        };
        let never = if in_full { "1970" } else { "0001" };
        let mut shown = json!({
            "id": id,
            "login": login,
            "login_name": if in_full { login } else { "" },
            "source_id": 0,
            "full_name": full_name,
            "email": if in_full { email } else { &hidden },
            "avatar_url": format!("{}/{picture}", self.root),
            "html_url": format!("{}/{login}", self.root),
            "language": "",
            "is_admin": in_full && *is_admin,
            "last_login": format!("{never}-01-01T00:00:00Z"),
            "created": show_time(*created),
            "restricted": false,
            "active": in_full,
            "prohibit_login": false,
            "location": "",
            "website": "",
            "description": "",
            "visibility": "public",
            "followers_count": 0,
            "following_count": 0,
            "starred_repos_count": 0,
            "username": login,
        });
        if self.flavour == Flavour::Forgejo {
            shown["pronouns"] = json!("");
        }
        shown
    }
}

/// `GET /user`.
pub(super) fn me(call: &Call) -> Outcome {
    let forge = call.forge();
    Ok(ok(&forge.show_user(call.caller.user, true)))
}

/// `GET /admin/cron`: the tasks of the site, of which the fake has none.
pub(super) fn cron(call: &Call) -> Outcome {
    let forge = call.forge();
    match forge.user(call.caller.user) {
        Some(user) if user.is_admin => Ok(ok(&json!([]))),
        _ => Err(forbidden("user should be the site admin")),
    }
}

/// `POST /admin/users`.
pub(super) fn create(call: &Call) -> Outcome {
    let body = call.body()?;
    let mut forge = call.forge();
    if !forge
        .user(call.caller.user)
        .is_some_and(|user| user.is_admin)
    {
        return Err(forbidden("user should be the site admin"));
    }
    let login = body.text("username")?;
    if login.is_empty() {
        return Err(invalid("[Username]: Required"));
    }
    if forge.user_named(&login).is_some() {
        let message = format!("user already exists [name: {login}]");
        return Err(invalid(message));
    }
    let id = forge.add_user(&login, false);
    let (email, password) = (body.text("email")?, body.optional_text("password")?);
    if let Some(user) = forge.users.iter_mut().find(|user| user.id == id) {
        (user.email, user.password) = (email, password);
    }
    Ok(json_response(201, &forge.show_user(id, true)))
}

/// `DELETE /admin/users/{login}`.
pub(super) fn delete(call: &Call) -> Outcome {
    let mut forge = call.forge();
    if !forge
        .user(call.caller.user)
        .is_some_and(|user| user.is_admin)
    {
        return Err(forbidden("user should be the site admin"));
    }
    let found = forge.user_named(call.part(0)).map(|user| user.id);
    let id = found.ok_or_else(missing)?;
    forge.users.retain(|user| user.id != id);
    forge.tokens.retain(|token| token.user != id);
    Ok(done())
}

/// `POST /users/{login}/tokens`, with the password of that very user.
pub(super) fn create_token(call: &Call) -> Outcome {
    let body = call.body()?;
    let mut forge = call.forge();
    let owner = forge.user_named(call.part(0)).map(|user| user.id);
    if !call.caller.by_password || owner != Some(call.caller.user) {
        return Err(Refusal::Message(401, "auth required".to_owned()));
    }
    let scopes = body.texts("scopes")?;
    if scopes.is_empty() {
        let message = "access token must have a scope".to_owned();
        return Err(Refusal::Message(400, message));
    }
    let (id, name) = (forge.new_id(), body.text("name")?);
    let token = Token::of_user(&mut forge, call.caller.user, &scopes);
    let shown = json!({
        "id": id,
        "name": name,
        "sha1": token,
        "token_last_eight": token[token.len() - 8..],
        "scopes": scopes,
    });
    Ok(json_response(201, &shown))
}

/// `GET /repos/{owner}/{repo}/assignees`: everybody who may write, and of an organisation's teams those who may read pull
/// requests, too; whoever reads may ask. No pages.
pub(super) fn assignees(call: &Call) -> Outcome {
    let forge = call.forge();
    let repo = forge.repo(call.repo);
    let writers = repo.collaborators.iter();
    let writers = writers.filter(|(_, level)| **level >= Level::Write);
    let teams = repo.teams.iter();
    let teams = teams.filter(|team| team.code >= Level::Write || team.pulls >= Level::Read);
    let members = teams.flat_map(|team| team.members.iter().copied());
    let ids = std::iter::once(repo.owner).chain(writers.map(|(id, _)| *id));
    let ids: BTreeSet<i64> = ids.chain(members).collect();
    let shown: Vec<Value> = ids
        .into_iter()
        .map(|id| forge.show_user(id, false))
        .collect();
    Ok(ok(&json!(shown)))
}

/// `GET /repos/{owner}/{repo}/teams`.
pub(super) fn teams(call: &Call) -> Outcome {
    let forge = call.forge();
    let teams = &forge.repo(call.repo).teams;
    if teams.is_empty() {
        let message = "repo is not owned by an organization".to_owned();
        return Err(Refusal::Message(405, message));
    }
    let word = |level: Level| match level {
        Level::None => "none",
        Level::Read => "read",
        Level::Write => "write",
        Level::Admin => "admin",
    };
    let show = |team: &Team| {
        json!({
            "id": team.id,
            "name": team.name,
            "permission": "none",
            "units_map": { "repo.code": word(team.code), "repo.pulls": word(team.pulls) },
        })
    };
    let shown: Vec<Value> = teams.iter().map(show).collect();
    Ok(ok(&json!(shown)))
}

/// `GET /teams/{id}/members`: for its members.
pub(super) fn team_members(call: &Call) -> Outcome {
    let forge = call.forge();
    let mut teams = forge.repos.iter().flat_map(|repo| &repo.teams);
    let team = teams.find(|team| team.id.to_string() == call.part(0));
    let team = team.ok_or_else(missing)?;
    if !team.members.contains(&call.caller.user) {
        return Err(forbidden("Must be a team member"));
    }
    let shown: Vec<Value> = team
        .members
        .iter()
        .map(|id| forge.show_user(*id, false))
        .collect();
    Ok(ok(&json!(shown)))
}

/// `PUT /repos/{owner}/{repo}/collaborators/{login}`.
pub(super) fn add_collaborator(call: &Call) -> Outcome {
    call.require_admin()?;
    let body = call.body()?;
    let level = match body.text("permission")?.as_str() {
        "read" => Level::Read,
        "admin" => Level::Admin,
        _ => Level::Write,
    };
    let mut forge = call.forge();
    let user = forge.user_named(call.part(0)).map(|user| user.id);
    let user = user.ok_or_else(|| {
        invalid(format!(
            "user does not exist [uid: 0, name: {}]",
            call.part(0)
        ))
    })?;
    forge.repo_mut(call.repo).collaborators.insert(user, level);
    Ok(done())
}

/// `GET /repos/{owner}/{repo}/collaborators/{login}`: 204, or 404; the owner is none.
pub(super) fn is_collaborator(call: &Call) -> Outcome {
    let forge = call.forge();
    let name = call.part(0);
    let nobody = || invalid(format!("user does not exist [uid: 0, name: {name}]"));
    let user = forge.user_named(name).ok_or_else(nobody)?.id;
    match forge.repo(call.repo).collaborators.contains_key(&user) {
        true => Ok(done()),
        false => Err(missing()),
    }
}

/// `GET /repos/{owner}/{repo}/collaborators/{login}/permission`. Others than administrators may ask about themselves.
pub(super) fn permission(call: &Call) -> Outcome {
    let name = call.part(0).to_owned();
    let is_oneself = call
        .forge()
        .login(call.caller.user)
        .eq_ignore_ascii_case(&name);
    if !is_oneself {
        call.require_admin()?;
    }
    let forge = call.forge();
    let nobody = || Refusal::Message(404, format!("user does not exist [uid: 0, name: {name}]"));
    let user = forge.user_named(&name).ok_or_else(nobody)?.id;
    let repo = forge.repo(call.repo);
    let word = match auth::level(&forge, &Caller::user(user), repo, Unit::Code) {
        _ if user == repo.owner => "owner",
        Level::None => "none",
        Level::Read => "read",
        Level::Write => "write",
        Level::Admin => "admin",
    };
    Ok(ok(
        &json!({ "permission": word, "role_name": word, "user": forge.show_user(user, false) }),
    ))
}
