//! The workflows that belong to this version, as texts: what a repository copies into its `.gitea/workflows`.

macro_rules! texts {
    ($folder:literal: $($name:literal)*) => {
        [$(($name, include_str!(concat!("../../../", $folder, "/", $name)))),*]
    };
}

/// The workflows by their file names.
pub const FILES: [(&str, &str); 4] =
    texts!(".gitea/workflows": "plan.yml" "apply.yml" "enrollment.yml" "drift.yml");

/// The same by plain `git` and shell, without any action.
pub const WITHOUT_ACTIONS: [(&str, &str); 4] = texts!("examples/workflows-without-actions": "plan.yml" "apply.yml" "enrollment.yml" "drift.yml");

/// What stands in the place of `plan.yml` where pull requests from forks get a plan.
pub const FORKS: [(&str, &str); 1] = texts!("examples/workflows": "plan-forks.yml");
