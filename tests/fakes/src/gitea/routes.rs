//! The calls that there are. Of two patterns that match a path, the first counts.

use super::api::{self, Call, Outcome};
use super::auth::Scope::{self, Admin, Any, Issue, Organization, Repository, User};
use super::users;
use super::{
    actions, branches, comments, commits, contents, issues, labels, protection, pulls, raw, repos,
    secrets, statuses, trees,
};
use Needs::{Login, Nothing, Sight};

/// One call of the API: a method, a path in which `*` stands for one part and `**` for the rest, the
/// scope that a token needs, and what it does.
pub(super) struct Route {
    pub(super) method: &'static str,
    pub(super) pattern: &'static str,
    pub(super) scope: Scope,
    pub(super) needs: Needs,
    pub(super) handler: fn(&Call) -> Outcome,
}

/// Who may make a call at all. The rest is for the handler to see to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Needs {
    /// Anybody.
    Nothing,
    /// Whoever sees the repository.
    Sight,
    /// Whoever is somebody, and sees the repository, where the path names one.
    Login,
}

const fn route(
    method: &'static str,
    pattern: &'static str,
    scope: Scope,
    needs: Needs,
    handler: fn(&Call) -> Outcome,
) -> Route {
    Route {
        method,
        pattern,
        scope,
        needs,
        handler,
    }
}

#[rustfmt::skip] // A table is read by its columns.
pub(super) const ROUTES: &[Route] = &[
    route("GET", "/version", Any, Nothing, api::version),
    route("GET", "/settings/api", Any, Nothing, api::settings),
    route("GET", "/user", User, Login, users::me),
    route("GET", "/teams/*/members", Organization, Login, users::team_members),
    route("POST", "/user/repos", User, Login, repos::create),
    route("GET", "/admin/cron", Admin, Login, users::cron),
    route("POST", "/admin/users", Admin, Login, users::create),
    route("DELETE", "/admin/users/*", Admin, Login, users::delete),
    route("POST", "/users/*/tokens", User, Login, users::create_token),

    route("GET", "/repos/*/*", Repository, Sight, repos::get),
    route("PATCH", "/repos/*/*", Repository, Login, repos::edit),
    route("DELETE", "/repos/*/*", Repository, Login, repos::delete),
    route("GET", "/repos/*/*/collaborators/*/permission", Repository, Login, users::permission),
    route("GET", "/repos/*/*/collaborators/*", Repository, Login, users::is_collaborator),
    route("PUT", "/repos/*/*/collaborators/*", Repository, Login, users::add_collaborator),

    route("GET", "/repos/*/*/actions/secrets", Repository, Login, secrets::list),
    route("PUT", "/repos/*/*/actions/secrets/*", Repository, Login, secrets::set),
    route("GET", "/repos/*/*/actions/variables", Repository, Login, secrets::variables),
    route("GET", "/repos/*/*/actions/variables/*", Repository, Login, secrets::variable),
    route("POST", "/repos/*/*/actions/variables/*", Repository, Login, secrets::create_variable),
    route("PUT", "/repos/*/*/actions/variables/*", Repository, Login, secrets::update_variable),

    route("GET", "/repos/*/*/branches", Repository, Sight, branches::list),
    route("POST", "/repos/*/*/branches", Repository, Login, branches::create),
    route("GET", "/repos/*/*/branches/**", Repository, Sight, branches::get),
    route("DELETE", "/repos/*/*/branches/**", Repository, Login, branches::delete),
    route("GET", "/repos/*/*/branch_protections", Repository, Login, protection::list),
    route("POST", "/repos/*/*/branch_protections", Repository, Login, protection::create),
    route("GET", "/repos/*/*/branch_protections/**", Repository, Login, protection::get),
    route("DELETE", "/repos/*/*/branch_protections/**", Repository, Login, protection::delete),

    route("GET", "/repos/*/*/contents", Repository, Sight, contents::get),
    route("POST", "/repos/*/*/contents", Repository, Login, contents::write::several),
    route("GET", "/repos/*/*/contents/**", Repository, Sight, contents::get),
    route("POST", "/repos/*/*/contents/**", Repository, Login, contents::write::create),
    route("PUT", "/repos/*/*/contents/**", Repository, Login, contents::write::update),
    route("DELETE", "/repos/*/*/contents/**", Repository, Login, contents::write::delete),
    route("GET", "/repos/*/*/raw/**", Repository, Sight, raw::get),
    route("GET", "/repos/*/*/git/refs/heads/**", Repository, Sight, branches::refs),
    route("GET", "/repos/*/*/git/trees/*", Repository, Sight, trees::tree),
    route("GET", "/repos/*/*/git/blobs/*", Repository, Sight, trees::blob),
    route("GET", "/repos/*/*/commits", Repository, Sight, commits::list),

    route("GET", "/repos/*/*/actions/runs", Repository, Sight, actions::runs),
    route("GET", "/repos/*/*/compare/**", Repository, Sight, actions::compare),

    route("GET", "/repos/*/*/statuses/*", Repository, Sight, statuses::list),
    route("POST", "/repos/*/*/statuses/*", Repository, Login, statuses::create),
    route("GET", "/repos/*/*/commits/*/statuses", Repository, Sight, statuses::list),
    route("GET", "/repos/*/*/commits/*/status", Repository, Sight, statuses::combined),
    route("GET", "/repos/*/*/commits/*/pull", Repository, Sight, pulls::of_commit),

    route("GET", "/repos/*/*/assignees", Repository, Sight, users::assignees),
    route("GET", "/repos/*/*/teams", Repository, Sight, users::teams),

    route("GET", "/repos/*/*/issues/comments/*", Issue, Sight, comments::get),
    route("PATCH", "/repos/*/*/issues/comments/*", Issue, Login, comments::edit),
    route("DELETE", "/repos/*/*/issues/comments/*", Issue, Login, comments::delete),
    route("GET", "/repos/*/*/issues/comments", Issue, Sight, comments::list_all),
    route("GET", "/repos/*/*/issues/*/comments", Issue, Sight, comments::list),
    route("POST", "/repos/*/*/issues/*/comments", Issue, Login, comments::create),
    route("GET", "/repos/*/*/issues/*/labels", Issue, Sight, labels::list_of_issue),
    route("POST", "/repos/*/*/issues/*/labels", Issue, Login, labels::attach),
    route("GET", "/repos/*/*/issues", Issue, Sight, issues::list),
    route("POST", "/repos/*/*/issues", Issue, Login, issues::create),
    route("GET", "/repos/*/*/issues/*", Issue, Sight, issues::get),
    route("PATCH", "/repos/*/*/issues/*", Issue, Login, issues::edit),
    route("GET", "/repos/*/*/labels", Issue, Sight, labels::list),
    route("POST", "/repos/*/*/labels", Issue, Login, labels::create),

    route("GET", "/repos/*/*/pulls", Repository, Sight, pulls::list),
    route("POST", "/repos/*/*/pulls", Repository, Login, pulls::create),
    route("GET", "/repos/*/*/pulls/*", Repository, Sight, pulls::get),
    route("PATCH", "/repos/*/*/pulls/*", Repository, Login, pulls::edit),
    route("GET", "/repos/*/*/pulls/*/**", Repository, Sight, pulls::find),
];
