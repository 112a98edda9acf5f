//! The workflows that we ship: they parse, do what docs/gitea.md says, and avoid what docs/gitea-api.md, "Triggers",
//! "Concurrency", warn of.

mod release;
mod scripts;
mod secrets;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use yaml_rust2::{Yaml, YamlLoader};

const SHIPPED: &str = ".gitea/workflows";
const WITHOUT_ACTIONS: &str = "examples/workflows-without-actions";
const VARIANTS: &str = "examples/workflows";

struct Workflow {
    /// As in `.gitea/workflows/plan.yml`.
    path: String,
    text: String,
    yaml: Value,
}

impl Workflow {
    fn file(&self) -> &str {
        self.path.rsplit('/').next().unwrap()
    }

    fn jobs(&self) -> impl Iterator<Item = &Value> {
        self.yaml["jobs"].as_object().unwrap().values()
    }

    fn steps(&self) -> Vec<&Value> {
        self.jobs()
            .flat_map(|job| job["steps"].as_array().unwrap())
            .collect()
    }

    fn scripts(&self) -> Vec<&str> {
        self.steps()
            .iter()
            .filter_map(|step| step["run"].as_str())
            .collect()
    }

    /// Calls of our program, and the step of each.
    fn calls(&self) -> Vec<(&str, &Value)> {
        let steps = self.steps();
        let call = |step: &&'_ Value| {
            step["run"]
                .as_str()
                .is_some_and(|run| run.starts_with("netbird-gitops "))
        };
        steps
            .into_iter()
            .filter(call)
            .map(|step| (step["run"].as_str().unwrap(), step))
            .collect()
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn in_directory(directory: &str) -> Vec<Workflow> {
    let entries = std::fs::read_dir(root().join(directory)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let path = path.strip_prefix(root()).unwrap().display().to_string();
        let documents = YamlLoader::load_from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"));
        let [document] = documents.as_slice() else {
            panic!("{path} is not one document")
        };
        Workflow {
            yaml: to_json(document),
            path,
            text,
        }
    };
    let workflows: Vec<Workflow> = paths
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "yml"))
        .map(read)
        .collect();
    assert!(!workflows.is_empty());
    workflows
}

fn all() -> Vec<Workflow> {
    [SHIPPED, WITHOUT_ACTIONS, VARIANTS]
        .into_iter()
        .flat_map(in_directory)
        .collect()
}

fn to_json(yaml: &Yaml) -> Value {
    match yaml {
        Yaml::Hash(hash) => {
            let members = hash
                .iter()
                .map(|(key, value)| (key.as_str().expect("a name").to_owned(), to_json(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        Yaml::Array(items) => items.iter().map(to_json).collect(),
        Yaml::String(text) => json!(text),
        Yaml::Integer(number) => json!(number),
        Yaml::Boolean(flag) => json!(flag),
        Yaml::Null => Value::Null,
        other => panic!("{other:?} has no place in a workflow"),
    }
}

#[test]
fn each_has_a_name_a_group_and_bounds() {
    for directory in [SHIPPED, WITHOUT_ACTIONS, VARIANTS] {
        let (mut names, mut groups) = (BTreeMap::new(), BTreeMap::new());
        for workflow in in_directory(directory) {
            let (path, yaml) = (&workflow.path, &workflow.yaml);
            // Others are ignored by Gitea, and an error on Forgejo (docs/gitea-api.md, "Triggers").
            for key in yaml.as_object().unwrap().keys() {
                assert!(
                    ["name", "on", "concurrency", "permissions", "jobs"].contains(&key.as_str()),
                    "{path}: {key}"
                );
            }
            // Without a name all workflows share one commit status (docs/gitea-api.md, "Statuses").
            assert_eq!(
                names.insert(yaml["name"].as_str().unwrap().to_owned(), ()),
                None,
                "{path}"
            );
            let group = yaml["concurrency"]["group"].as_str().unwrap();
            let fixed = group.split("${{").next().unwrap().to_owned();
            assert_eq!(
                groups.insert(fixed, ()),
                None,
                "{path}: a group of two workflows loses runs"
            );
            let writes = !["plan.yml", "plan-forks.yml", "ci.yml"].contains(&workflow.file());
            assert_eq!(
                yaml["concurrency"]["cancel-in-progress"],
                json!(!writes),
                "{path}"
            );
            for job in workflow.jobs() {
                assert!(
                    job["timeout-minutes"]
                        .as_u64()
                        .is_some_and(|minutes| minutes <= 60),
                    "{path}"
                );
                assert_eq!(job["runs-on"], "ubuntu-latest", "{path}");
                for key in [
                    "container",
                    "services",
                    "environment",
                    "continue-on-error",
                    "permissions",
                ] {
                    assert!(job.get(key).is_none(), "{path}: {key}");
                }
            }
        }
    }
}

#[test]
fn permissions_are_minimal() {
    for workflow in all() {
        let wanted = match workflow.file() {
            "plan.yml" => json!({"contents": "read", "pull-requests": "write"}),
            "release.yml" => json!({"contents": "write"}),
            _ => json!({"contents": "read"}),
        };
        assert_eq!(workflow.yaml["permissions"], wanted, "{}", workflow.path);
    }
}

#[test]
fn triggers() {
    // No paths: a pull request that no longer changes the file has a comment to correct. `edited`: a line of agreement
    // in the description.
    let pulls = json!({
        "branches": ["main"],
        "types": ["opened", "reopened", "synchronize", "edited"],
    });
    for workflow in all() {
        let on = &workflow.yaml["on"];
        match workflow.file() {
            "plan.yml" => assert_eq!(*on, json!({"pull_request": pulls})),
            "plan-forks.yml" => assert_eq!(*on, json!({"pull_request_target": pulls})),
            "apply.yml" => {
                let push = json!({"branches": ["main"], "paths": ["netbird.json"]});
                assert_eq!(on["push"], push);
                // a way out after a merge without the line: agreed to by hand, by its digest
                let input = &on["workflow_dispatch"]["inputs"]["allow_deletes"];
                assert_eq!(
                    (&input["type"], &input["required"]),
                    (&json!("string"), &json!(false))
                );
            }
            "enrollment.yml" | "drift.yml" => {
                assert_eq!(on["workflow_dispatch"], json!({}));
                let cron = on["schedule"][0]["cron"].as_str().unwrap();
                // Six fields and @reboot are dropped silently; every minute runs every two (docs/gitea-api.md,
                // "Triggers").
                let fields: Vec<&str> = cron.split(' ').collect();
                assert!(fields.len() == 5 && fields[0] != "*", "{cron}");
            }
            "ci.yml" | "release.yml" => {}
            other => panic!("what starts {other}?"),
        }
        // It hands secrets to everybody's pull request.
        assert_eq!(
            workflow.text.contains("pull_request_target"),
            workflow.file() == "plan-forks.yml"
        );
    }
}

#[test]
fn commands_of_each() {
    for workflow in all() {
        let calls: Vec<&str> = workflow.calls().into_iter().map(|(call, _)| call).collect();
        let wanted: &[&str] = match workflow.file() {
            "plan.yml" | "plan-forks.yml" => &["netbird-gitops plan --comment"],
            "apply.yml" => &[
                "netbird-gitops sync-events",
                // nobody sees a question that a runner's terminal asks
                "netbird-gitops apply --yes --comment --allow-deletes \"$ALLOW_DELETES\"",
            ],
            "enrollment.yml" => &["netbird-gitops sync-events"],
            "drift.yml" => &["netbird-gitops drift --issue"],
            _ => &[],
        };
        assert_eq!(calls, wanted, "{}", workflow.path);
    }
}

#[test]
fn actions_are_few_and_of_versions_that_work() {
    for workflow in all() {
        let path = &workflow.path;
        for step in workflow.steps() {
            let with = &step["with"];
            // a tag moves, a commit does not; its version stands behind it
            let action = step["uses"].as_str().map(|action| {
                let (name, commit) = action.split_once('@').unwrap();
                let is_hex = commit.bytes().all(|b| b.is_ascii_hexdigit());
                assert!(commit.len() == 40 && is_hex, "{path}: {action}");
                let (_, behind) = workflow.text.split_once(action).unwrap();
                let version = behind.strip_prefix(" # v").unwrap_or("none");
                let version = version.split('.').next().unwrap();
                format!("{name}@v{version}")
            });
            match action.as_deref() {
                None => assert!(step["run"].is_string(), "{path}"),
                Some("actions/checkout@v4") => {
                    // What a change takes away is told by the history; and nothing of a pull request's head is for checking out by name.
                    assert_eq!(*with, json!({"fetch-depth": 0}), "{path}");
                }
                Some("actions/upload-artifact@v3") => {
                    assert_eq!(step["if"], "${{ !cancelled() }}", "{path}");
                    assert_eq!(with["if-no-files-found"], "ignore", "{path}");
                    assert!(with.get("retention-days").is_none(), "{path}");
                }
                Some(other) => panic!("{path}: {other}"),
            }
            assert!(
                !path.starts_with(WITHOUT_ACTIONS) || step.get("uses").is_none(),
                "{path}"
            );
        }
    }
    let apply = in_directory(SHIPPED)
        .into_iter()
        .find(|workflow| workflow.file() == "apply.yml")
        .unwrap();
    let last = apply.steps().pop().unwrap().clone();
    assert_eq!(last["with"]["path"], "sealed-keys/");
}

#[test]
fn nothing_that_is_warned_of() {
    for workflow in all() {
        let path = &workflow.path;
        for script in workflow.scripts() {
            // Names of branches and titles are other people's text: they come by the environment.
            assert!(!script.contains("${{"), "{path}: {script}");
            // Refused by newer runners, or visible to all.
            for bad in [
                "::set-",
                "::add-path",
                "--token",
                "|| true",
                "set +e",
                "npm ",
                "pip ",
                "docker",
            ] {
                assert!(!script.contains(bad), "{path}: {bad}");
            }
        }
        for skip in [
            "[skip ci]",
            "[ci skip]",
            "[no ci]",
            "[skip actions]",
            "[actions skip]",
        ] {
            assert!(!workflow.text.contains(skip), "{path}: {skip}");
        }
        assert!(
            workflow
                .text
                .lines()
                .all(|line| line.chars().count() <= 125),
            "{path}"
        );
    }
}

#[test]
fn the_variants_say_what_the_shipped_ones_say() {
    let (shipped, plain) = (in_directory(SHIPPED), in_directory(WITHOUT_ACTIONS));
    for workflow in &plain {
        let same = shipped
            .iter()
            .find(|other| other.file() == workflow.file())
            .unwrap();
        for key in ["name", "on", "concurrency", "permissions"] {
            assert_eq!(
                workflow.yaml[key], same.yaml[key],
                "{}: {key}",
                workflow.path
            );
        }
        let calls = |workflow: &Workflow| {
            workflow
                .calls()
                .into_iter()
                .map(|(_, step)| step.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(calls(workflow), calls(same), "{}", workflow.path);
    }
    assert_eq!(plain.len(), 4);
    // plan-forks.yml takes plan.yml's place: same name, same group.
    let forks = in_directory(VARIANTS);
    let plan = shipped
        .iter()
        .find(|workflow| workflow.file() == "plan.yml")
        .unwrap();
    assert_eq!(forks[0].yaml["name"], plan.yaml["name"]);
    assert_eq!(forks[0].yaml["concurrency"], plan.yaml["concurrency"]);
    // The step that gets the program is one and the same.
    let gets: Vec<Value> = all()
        .iter()
        .flat_map(|workflow| workflow.steps().into_iter().cloned().collect::<Vec<_>>())
        .filter(|step| step["name"] == "Get netbird-gitops")
        .collect();
    assert_eq!(gets.len(), 9);
    assert!(gets.iter().all(|get| *get == gets[0]));
}
