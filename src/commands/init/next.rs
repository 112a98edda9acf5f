//! What to do after `init`: numbered, with commands to copy.

use super::settings::Become;
use super::{File, Init};
use crate::base::shell;
use crate::render::tree::Block;

/// Things to do: a sentence, and commands, one a line.
#[derive(Default)]
struct Steps(Vec<(String, String)>);

impl Steps {
    fn add(&mut self, what: impl Into<String>, commands: &[&str]) {
        self.0.push((what.into(), commands.join("\n")));
    }
}

impl Init<'_> {
    /// Returns what to do next; that no file needs a change is said, too.
    pub(super) fn next(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        for (at, (what, commands)) in self.steps().0.into_iter().enumerate() {
            blocks.push(Block::Paragraph(format!("{}. {what}", at + 1).into()));
            blocks.extend((!commands.is_empty()).then_some(Block::Copy(commands)));
        }
        if blocks.is_empty() {
            let text =
                "The files need no change. netbird-gitops doctor shows what else is missing.";
            blocks.push(Block::Paragraph(text.into()));
        }
        blocks
    }

    fn steps(&self) -> Steps {
        let mut steps = Steps::default();
        let changed = self.writes();
        if self.args.dry_run && (changed || self.has(Become::Made)) {
            steps.add("Do it: the same command without --dry-run.", &[]);
        }
        if self.paths("differs").next().is_some() {
            let what = "Files that differ were not changed. To add the lines with a +, remove those with a -, and keep all others:";
            steps.add(what, &[&self.command(" --force")]);
        }
        if self.args.dry_run {
            return steps;
        }
        // where all workflows are new nothing was set up yet, though the network may be there
        let is_first = |file: &File| file.word() == "written" || !file.path.ends_with(".yml");
        let is_new = changed && (!self.files[0].is_theirs || self.files.iter().all(is_first));
        let waits = self.has(Become::Later);
        if is_new {
            self.begin(&mut steps);
        }
        if self.has(Become::Missing) {
            let what = "Set what is missing above, and run this again:";
            steps.add(what, &[&self.command(" --setup")]);
        } else if is_new && self.settings.is_none() {
            self.set_up(&mut steps);
        }
        if is_new || waits || changed {
            // where the network is on the branch already, the settings protect the branch before its workflows are
            let is_open = self.settings.is_none() || waits;
            self.push(&mut steps, is_new || waits, is_open);
        }
        if waits || is_new && self.settings.is_none() {
            let what = "Once that is pushed, protect the branch: only the bot may push to it.";
            steps.add(what, &[&self.command(" --setup")]);
        }
        if let (Some((_, commands)), Some(dir)) = (steps.0.first_mut(), &self.args.dir) {
            let cd = format!("cd {}\n", shell(&dir.display().to_string()));
            commands.insert_str(0, &cd);
        }
        steps
    }

    /// This command again, for the same network.
    fn command(&self, more: &str) -> String {
        format!("netbird-gitops init{more}{}", self.network.options())
    }

    /// From a directory to a file that may be pushed.
    fn begin(&self, steps: &mut Steps) {
        if self.origin.is_none() {
            let begin = (!self.is_checkout).then_some("git init -b main");
            let remote = "git remote add origin https://git.example.com/OWNER/NAME.git";
            let commands: Vec<&str> = begin.into_iter().chain([remote]).collect();
            let what = "Create an empty, private repository, and make this directory its checkout:";
            steps.add(what, &commands);
        }
        let (file, options) = (&self.network.file, self.network.options());
        if !self.files[0].is_theirs && self.account.is_none() {
            let what = format!(
                "{file} is an example. Write your own, or begin with the account as it is (the token of a service user, role auditor):"
            );
            let remove = format!("rm {}", shell(file));
            let export =
                "export NETBIRD_API_URL=https://netbird.example.com NETBIRD_API_TOKEN=nbp_…";
            steps.add(what, &[&remove, export, &self.command("")]);
        }
        let token = self.token;
        let token = token.map(|name| format!("{}=\"${name}\" ", name.replace("PLAN", "API")));
        let validate = format!("netbird-gitops validate{options}");
        let plan = format!("{}netbird-gitops plan{options}", token.unwrap_or_default());
        let what = "Check that the file is valid, and that its plan is what you expect:";
        steps.add(what, &[&validate, &plan]);
    }

    /// Secrets and variables, all of them.
    fn set_up(&self, steps: &mut Steps) {
        let remote = self.remote.as_ref();
        let url = remote.and_then(|remote| remote.server.as_deref());
        let url = url.unwrap_or("https://git.example.com");
        let name = remote.map_or("OWNER/NAME", |remote| &remote.name);
        steps.add(
            "Create the tokens (docs/gitea.md, steps 1 to 4), and store them in the repository. NAME_FILE=PATH instead of NAME \
             keeps a token out of the shell's history. GITEA_TOKEN is a token of the repository's owner with the scope \
             write:repository; revoke it afterwards:",
            &[
                "export NETBIRD_API_URL=https://netbird.example.com AGE_PUBLIC_KEY=age1…",
                "export NETBIRD_PLAN_TOKEN=nbp_… NETBIRD_APPLY_TOKEN=nbp_… BOT_TOKEN=…",
                "export NETBIRD_GITOPS_BINARY=https://… NETBIRD_GITOPS_SHA256=…",
                &format!(
                    "export GITEA_URL={} GITEA_REPO={} GITEA_TOKEN=…",
                    shell(url),
                    shell(name)
                ),
                &self.command(" --setup"),
            ],
        );
    }

    /// Once the branch is protected, which the first network does, changes are pull requests.
    fn push(&self, steps: &mut Steps, is_first: bool, is_open: bool) {
        let files = self.files.iter();
        let files = files.filter(|file| is_first || file.text.is_some());
        let paths = files.map(|file| file.path.as_str());
        // each directory once
        let paths = paths.map(|path| path.rsplit_once('/').map_or(path, |(folder, _)| folder));
        let mut paths: Vec<&str> = paths.collect();
        paths.dedup();
        let is_default = self.network.is_default();
        let to_branch = format!("git push origin HEAD:{}", shell(&self.branch));
        let (push, begin, end) = match is_first && is_default && is_open {
            true => ("Push", "", to_branch.as_str()),
            false => {
                // none is netbird-gitops or below it: git would refuse the branch of the inventory
                let begin = match is_first {
                    true if is_default => "git switch -c set-up-netbird\n",
                    true => "git switch -c another-network\n",
                    false => "git diff\ngit switch -c netbird-gitops-update\n",
                };
                let push = "Push a branch, and merge it";
                (push, begin, "git push -u origin HEAD")
            }
        };
        let add = format!("{begin}git add {}", paths.join(" "));
        let then = "The first apply starts at once. If the file is the exported account, it adopts all objects and changes nothing \
                    in NetBird";
        let (what, message) = match is_first {
            true => (format!("{push}. {then}:"), "The network as it is"),
            false => (
                "Look at what changed, and open a pull request:".to_owned(),
                concat!("Workflows of netbird-gitops ", env!("CARGO_PKG_VERSION")),
            ),
        };
        let commit = format!("git commit -m \"{message}\"");
        steps.add(what, &[&add, &commit, end]);
    }
}
