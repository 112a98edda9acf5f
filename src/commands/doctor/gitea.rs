//! Gitea or Forgejo: is it there, is it new enough, and does it take the token?

use super::found::{Look, not_made, of_version, open, wrong};
use super::rights::Rights;
use super::{Doctor, OF_FORK};
use crate::base::joined;
use crate::commands::cli::Purpose;
use crate::commands::versions::{commands_work, told_of_gitea};
use crate::commands::{Failure, Forge, SETTINGS, gitea_config};
use crate::forge::ci::Runner;
use crate::forge::gitea::{ForgeUser, GiteaError, Repo, RepoInfo, Scopes};
use crate::wire::http::Trouble;

/// Why the rest was not looked at.
type Ended = &'static str;

impl Doctor<'_> {
    pub(super) fn gitea(&mut self) {
        let asked = self.ask_gitea();
        self.put_rest("gitea_", asked.err().unwrap_or_default());
    }

    /// Looks at the server, the token and the repository.
    fn ask_gitea(&mut self) -> Result<(), Ended> {
        let repo = self.open_repo()?;
        let is_job = self.server(&repo)?;
        let about = repo.about();
        let scopes = (!is_job).then(|| repo.scopes().unwrap_or(Scopes::Untold));
        let look = self.scopes(scopes.as_ref(), about.as_ref().ok());
        self.put("gitea_scopes", look);
        let about = match about {
            Ok(about) => about,
            Err(error) => {
                self.put("gitea_repository", Err(error.into()));
                return Err("the repository cannot be read");
            }
        };
        self.put("gitea_repository", repository(&repo, &about));
        let name = self.run.branch();
        let rights = Rights {
            doctor: self,
            repo: &repo,
            about: &about,
            scopes: scopes.as_ref(),
            name: name.as_ref().unwrap_or(&about.default_branch),
        };
        for (name, look) in rights.checks() {
            self.put(name, look);
        }
        Ok(())
    }

    /// Asks who the server and the token are; returns whether the token is the job's own.
    fn server(&mut self, repo: &Repo) -> Result<bool, Ended> {
        let base = repo.base();
        let answers = Ok(format!("the API answers at {base}"));
        let answered = repo.version().map(|version| (version, repo.user()));
        let (version, user) = match answered {
            Err(error) | Ok((_, Err(error))) if error.is_unauthenticated() => {
                self.put("gitea_url", answers);
                self.put("gitea_token", Err(error.into()));
                return Err("there is no valid token");
            }
            Err(error) => {
                let is_other = error.is_not_found();
                let mut failure = Failure::from(error);
                if is_other {
                    let hint =
                        "set GITEA_URL to the URL of Gitea or Forgejo, as https://git.example.com";
                    failure = failure.hint(format!("{hint}: {base} is not Gitea or Forgejo"));
                }
                self.put("gitea_url", Err(failure.into()));
                return Err("the server cannot be reached");
            }
            Ok(answered) => answered,
        };
        self.put("gitea_url", answers);
        self.put("gitea_token", token(&user, self.purpose));
        self.put("gitea_version", self::version(&version, self.has_workflows));
        Ok(user.is_ok_and(|user| user.id < 0))
    }

    /// Returns the repository.
    fn open_repo(&mut self) -> Result<Repo, Ended> {
        let run = self.run;
        let token = match run.gitea_token() {
            Ok(token) => token,
            Err(failure) => {
                self.put("gitea_token", Err(failure.into()));
                return Err("there is no token");
            }
        };
        let (Some(token), Some(url), Some(name)) = (token, &run.gitea_url, &run.repository) else {
            let text = Forge::not_configured(run);
            let look = match run.context.runner {
                _ if run.is_of_fork() => not_made(OF_FORK),
                // a job is somebody's workflow, which lost its secret
                Runner::Gitea | Runner::Forgejo => wrong(text, SETTINGS),
                Runner::Other | Runner::None => open(format!(
                    "{text}, so there are no comments, no commits and no branch of the inventory"
                )),
            };
            self.put("gitea_url", look);
            return Err("Gitea is not configured");
        };
        let repo = gitea_config(run, url).and_then(|mut config| {
            // a limit is to be shown, not to be waited for
            config.retry.throttle_waits = 0;
            Repo::new(config, &token, name)
        });
        repo.map_err(|error| match error.trouble {
            Trouble::BadName => {
                let hint = "give it as OWNER/NAME, with --gitea-repo (GITEA_REPO)";
                self.put("gitea_repository", wrong(error.to_string(), hint));
                "no repository is named"
            }
            _ => {
                self.put("gitea_url", Err(error.into()));
                "the server is not known"
            }
        })
    }

    fn scopes(&self, scopes: Option<&Scopes>, about: Option<&RepoInfo>) -> Look {
        let Some(scopes) = scopes else {
            return open("the job's own token has permissions instead of scopes");
        };
        let shown = match scopes {
            Scopes::Untold => return open("the server does not report the token's scopes"),
            Scopes::All => {
                "all; write:repository, write:issue and read:user would be enough".into()
            }
            Scopes::Listed(scopes) => joined(scopes, ", "),
        };
        let mut needed = vec!["issue"];
        needed.extend((self.purpose == Some(Purpose::Apply)).then_some("repository"));
        needed.retain(|what| scopes.may_write(what) == Some(false));
        let lacks = joined(needed.iter().map(|what| format!("write:{what}")), " and ");
        let is_public = about.is_some_and(RepoInfo::is_public);
        let store = "and store it as the secret BOT_TOKEN (docs/gitea.md, step 3)";
        if scopes.public_only() && !is_public {
            let hint = format!("create a token of the bot for all repositories, {store}");
            return wrong(format!("{shown}: it is for public repositories only"), hint);
        }
        if lacks.is_empty() {
            return Ok(shown);
        }
        let hint = format!("create a token of the bot with {lacks}, too, {store}");
        wrong(format!("{shown}: {lacks} is missing"), hint)
    }
}

fn version(version: &str, has_workflows: bool) -> Look {
    match told_of_gitea(version) {
        Some(text) if has_workflows || !commands_work(version) => {
            let hint = "update the server; docs/gitea.md, Other versions, says what differs";
            wrong(text, hint)
        }
        Some(text) => Ok(text),
        None => match version.split_once("+gitea-") {
            Some((version, _)) => of_version("Forgejo", version),
            None => of_version("Gitea", version),
        },
    }
}

fn token(user: &Result<ForgeUser, GiteaError>, purpose: Option<Purpose>) -> Look {
    match user {
        Ok(user) if user.id < 0 && purpose == Some(Purpose::Apply) => wrong(
            format!("it is the job's own token, of {}", user.login),
            "set GITEA_TOKEN to the bot's token, from the secret BOT_TOKEN\nthe job's own token cannot commit on Forgejo and on Gitea \
             up to 1.25, cannot push to a protected branch before Gitea 1.27, and its commits start no workflow",
        ),
        Ok(user) => Ok(format!("it belongs to {}", user.login)),
        Err(error) if error.is_scope() => Ok(
            "the server accepts it; without the scope read:user it does not say whose it is".into(),
        ),
        Err(error) => open(format!("the server does not say whose it is: {error}")),
    }
}

fn repository(repo: &Repo, about: &RepoInfo) -> Look {
    let (name, branch) = (repo.full_name(), &about.default_branch);
    if about.archived {
        let text = format!("{name} is archived: nothing can be written there");
        return wrong(text, "unarchive it in its settings");
    }
    let everybody = ", which everybody may read";
    let who = if about.is_public() { everybody } else { "" };
    Ok(format!("{name}{who}; its default branch is {branch}"))
}
