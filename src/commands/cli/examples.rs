//! What stands at the end of each command's help: lines to copy.

use clap::Command;

const LINES: &str = "\
netbird-gitops init                       # with NETBIRD_API_URL set, from the account as it is
netbird-gitops init --dry-run             # after an upgrade: what would change in the workflows
netbird-gitops init --force               # and change it; netbird.json is never overwritten
netbird-gitops init --setup --dry-run     # secrets, variables and branch rules, with GITEA_TOKEN
netbird-gitops init --environment lab -f lab/netbird.json     # a second network of the repository
netbird-gitops validate
netbird-gitops validate --format json examples/office.json
jq . other.json | netbird-gitops validate -f -
netbird-gitops plan
netbird-gitops plan --live examples/live.json     # without a server
netbird-gitops plan --detailed-exitcode --format json --report plan.json
netbird-gitops apply                              # shows the plan and asks
netbird-gitops apply --yes -R recipients.txt
netbird-gitops apply --yes --allow-deletes 3
netbird-gitops sync-events --dry-run
netbird-gitops sync-events --via-pr               # where nobody may push to the branch
netbird-gitops mark-enrolled laptop-1 laptop-2
netbird-gitops mark-enrolled --local laptop-1     # in the file on disk
netbird-gitops export > netbird.json
netbird-gitops export --no-members > netbird.json # where keys say who is in which group
netbird-gitops export --raw > live.json           # for plan --live
netbird-gitops adopt --candidates                 # what there is to take over
netbird-gitops adopt policies/ssh groups/admins
netbird-gitops drift                              # exit code 2: there is drift
netbird-gitops drift --issue                      # and keep one issue about it
netbird-gitops access pilots ground-stations tcp/22
netbird-gitops access edge-7 printer
netbird-gitops access pilots route/lan --after          # as the file would leave it
netbird-gitops doctor
netbird-gitops doctor --for apply --format json
netbird-gitops schema > netbird.schema.json       # and \"$schema\": \"./netbird.schema.json\" in netbird.json
netbird-gitops completions bash > ~/.local/share/bash-completion/completions/netbird-gitops
netbird-gitops completions zsh > ~/.zfunc/_netbird-gitops
netbird-gitops completions fish > ~/.config/fish/completions/netbird-gitops.fish";

/// Adds the lines of a command to its help.
pub(super) fn added(command: Command) -> Command {
    let call = format!("netbird-gitops {}", command.get_name());
    let is_its = |line: &&str| {
        let behind = line.split_once(&call).map(|(_, behind)| behind);
        behind.is_some_and(|behind| behind.is_empty() || behind.starts_with(' '))
    };
    let lines = LINES.lines().filter(is_its);
    let lines: String = lines.map(|line| format!("\n  {line}")).collect();
    command.after_help(format!("Examples:{lines}"))
}
