//! What stands at the end of each command's help: lines to copy.

pub(super) const INIT: &str = "\
Examples:
  netbird-gitops init                       # with NETBIRD_API_URL set, from the account as it is
  netbird-gitops init --dry-run             # after an upgrade: what would change in the workflows
  netbird-gitops init --force               # and change it; netbird.json is never overwritten
  netbird-gitops init --setup --dry-run     # secrets, variables and branch rules, with GITEA_TOKEN
  netbird-gitops init --environment lab -f lab/netbird.json     # a second network of the repository";

pub(super) const VALIDATE: &str = "\
Examples:
  netbird-gitops validate
  netbird-gitops validate --format json examples/office.json
  jq . other.json | netbird-gitops validate -f -";

pub(super) const PLAN: &str = "\
Examples:
  netbird-gitops plan
  netbird-gitops plan --live examples/live.json     # without a server
  netbird-gitops plan --detailed-exitcode --format json --report plan.json";

pub(super) const APPLY: &str = "\
Examples:
  netbird-gitops apply                              # shows the plan and asks
  netbird-gitops apply --yes -R recipients.txt
  netbird-gitops apply --yes --allow-deletes 3";

pub(super) const SYNC_EVENTS: &str = "\
Examples:
  netbird-gitops sync-events --dry-run
  netbird-gitops sync-events --via-pr               # where nobody may push to the branch";

pub(super) const MARK_ENROLLED: &str = "\
Examples:
  netbird-gitops mark-enrolled laptop-1 laptop-2
  netbird-gitops mark-enrolled --local laptop-1     # in the file on disk";

pub(super) const EXPORT: &str = "\
Examples:
  netbird-gitops export > netbird.json
  netbird-gitops export --no-members > netbird.json # where keys say who is in which group
  netbird-gitops export --raw > live.json           # for plan --live";

pub(super) const ADOPT: &str = "\
Examples:
  netbird-gitops adopt --candidates                 # what there is to take over
  netbird-gitops adopt policies/ssh groups/admins";

pub(super) const DRIFT: &str = "\
Examples:
  netbird-gitops drift                              # exit code 2: there is drift
  netbird-gitops drift --issue                      # and keep one issue about it";

pub(super) const SCHEMA: &str = "\
Example:
  netbird-gitops schema > netbird.schema.json       # and \"$schema\": \"./netbird.schema.json\" in netbird.json";

pub(super) const COMPLETIONS: &str = "\
Examples:
  netbird-gitops completions bash > ~/.local/share/bash-completion/completions/netbird-gitops
  netbird-gitops completions zsh > ~/.zfunc/_netbird-gitops
  netbird-gitops completions fish > ~/.config/fish/completions/netbird-gitops.fish";

pub(super) const ACCESS: &str = "\
Examples:
  netbird-gitops access pilots ground-stations tcp/22
  netbird-gitops access edge-7 printer
  netbird-gitops access pilots route/lan --after          # as the file would leave it";

pub(super) const DOCTOR: &str = "\
Examples:
  netbird-gitops doctor
  netbird-gitops doctor --for apply --format json";
