//! Is any secret told anywhere? Each command at the finest level of its log, in the face of servers that repeat what they are asked,
//! and where the program panics.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fakes::{Effect, Fault};

use super::{APPLY, Scene, every, push};
use crate::run::{Job, Pull, Run, git};

/// How many letters and digits in a row of a secret are a part of it.
const PART: usize = 12;

/// Letters and digits alone: a secret that is split by a line's end or by punctuation is together again.
fn plain(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// With `%41` and `\u0041` read.
fn decoded(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(['%', '\\']) {
        out.push_str(&rest[..at]);
        let (mark, digits) = match rest[at..].starts_with('%') {
            true => (1, 2),
            false => (2, 4),
        };
        let code = rest.get(at + mark..at + mark + digits);
        let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
        match code.and_then(char::from_u32) {
            Some(char) => {
                out.push(char);
                rest = &rest[at + mark + digits..];
            }
            None => {
                out.push_str(&rest[at..=at]);
                rest = &rest[at + 1..];
            }
        }
    }
    out + rest
}

/// What of a secret must stand nowhere, in lower case: its parts, and those of its base64 at any place of a longer text, and of its
/// hexadecimal digits.
fn parts(secret: &str) -> Vec<String> {
    let windows = |text: String, size: usize| -> Vec<String> {
        let count = (text.len() + 1).saturating_sub(size);
        (0..count)
            .map(|at| text[at..at + size].to_lowercase())
            .collect()
    };
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut all = windows(plain(secret), PART);
    all.extend(windows(hex, 2 * PART));
    for before in 0..3 {
        let bytes = [vec![b'x'; before], secret.as_bytes().to_vec()].concat();
        // without what the bytes before and behind have a share in
        let text = plain(&STANDARD.encode(bytes));
        all.extend(windows(text[4..text.len() - 4].to_owned(), 16));
    }
    all
}

/// Secrets, by each of their parts.
struct Secrets(HashMap<String, String>);

impl Secrets {
    fn of(all: &[String]) -> Secrets {
        let parts = all
            .iter()
            .flat_map(|secret| parts(secret).into_iter().map(|part| (part, secret.clone())));
        Secrets(parts.collect())
    }

    /// All that were ever issued.
    fn issued(scene: &Scene) -> Secrets {
        let all = [
            scene.site.bench.netbird().secrets(),
            scene.site.gitea().secrets(),
        ]
        .concat();
        assert!(all.len() > 5, "keys and tokens");
        Secrets::of(&all)
    }

    /// Returns a part that a text has, and whose it is.
    fn told_by(&self, text: &str) -> Option<(String, String)> {
        [text.to_owned(), decoded(text)]
            .into_iter()
            .find_map(|form| {
                let form = plain(&form).to_lowercase();
                let sizes = [PART, 16, 2 * PART].into_iter();
                let mut all = sizes.flat_map(|size| {
                    (0..(form.len() + 1).saturating_sub(size)).map(move |at| (at, size))
                });
                all.find_map(|(at, size)| {
                    let part = &form[at..at + size];
                    Some((part.to_owned(), self.0.get(part)?.clone()))
                })
            })
    }

    #[track_caller]
    fn assert_hidden(&self, place: &str, text: &str) {
        let told = self.told_by(text);
        assert!(told.is_none(), "{place} tells {told:?}: {text}");
    }
}

#[test]
fn a_secret_is_found_in_each_form() {
    let secret = "A616097E-FCF0-48FA-9354-CA4A61142761".to_owned();
    let percent: String = secret.bytes().map(|b| format!("%{b:02x}")).collect();
    let escaped: String = secret.bytes().map(|b| format!("\\u{b:04x}")).collect();
    let basic = STANDARD.encode(format!("gitops:{secret}\n"));
    let (head, tail) = secret.split_at(18);
    let split = format!("{head}\"\n  + \"{tail}");
    let hex: String = secret.bytes().map(|b| format!("{b:02X}")).collect();
    let secrets = Secrets::of(std::slice::from_ref(&secret));
    for text in [
        &secret,
        &secret.to_lowercase(),
        &secret[5..20],
        &percent,
        &escaped,
        &basic,
        &split,
        &hex,
    ] {
        assert!(secrets.told_by(text).is_some(), "{text}");
    }
    secrets.assert_hidden("a masked key", "A616097E-****");
}

/// A `git` that writes down what it is given, before the one that the system has.
fn watched_git(scene: &Scene) -> String {
    let bin = scene.site.bench.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    let dump = scene.site.bench.path("children");
    fs::write(&dump, "").unwrap();
    let script = format!(
        "#!/bin/sh\n{{ env; printf '%s\\n' \"$@\"; }} >> '{}'\nPATH='{path}' exec git \"$@\"\n",
        dump.display()
    );
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{path}", bin.display())
}

fn run(scene: &Scene, mut command: Command, format: &str) -> Run {
    let tmp = scene.site.bench.path("tmp");
    fs::create_dir_all(&tmp).unwrap();
    let args = ["-vv", "--format", format, "--report", "report.json"];
    command
        .args(args)
        .env("RUST_LOG", "trace")
        .env("RUST_BACKTRACE", "full")
        .env("TMPDIR", tmp)
        .env("PATH", watched_git(scene));
    let output = command.output().expect("the program runs");
    scene.site.bench.outcome(output)
}

/// Searches what the run said, and all that it left: files, comments, commits, what its children were given.
#[track_caller]
fn search(scene: &Scene, name: &str, run: &Run) {
    let (bench, gitea) = (&scene.site.bench, scene.site.gitea());
    let secrets = Secrets::issued(scene);
    secrets.assert_hidden(&format!("stdout of {name}"), &run.stdout);
    secrets.assert_hidden(&format!("stderr of {name}"), &run.stderr);
    search_files(name, &bench.path(""), &secrets);
    for issue in gitea.issues().iter().chain(&gitea.pulls()) {
        secrets.assert_hidden("an issue", &issue.to_string());
        for comment in gitea.comments(issue["number"].as_i64().unwrap()) {
            secrets.assert_hidden("a comment", &comment.to_string());
        }
    }
    let log = git(
        &gitea.git_dir(),
        &["log", "--all", "--format=%B%an%ae", "-p"],
    );
    secrets.assert_hidden("the repository", &log);
    for request in bench.netbird().requests().iter().chain(&gitea.requests()) {
        secrets.assert_hidden("a path", &format!("{}?{}", request.path, request.query));
    }
}

fn search_files(name: &str, dir: &Path, secrets: &Secrets) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // objects of git are packed; what is new among them is in the repository's log
            if !path.ends_with(".git/objects") {
                search_files(name, &path, secrets);
            }
        } else {
            let bytes = fs::read(&path).unwrap();
            let place = format!("{} after {name}", path.display());
            secrets.assert_hidden(&place, &String::from_utf8_lossy(&bytes));
        }
    }
}

/// A pull request's job that comments.
fn plan_comment(scene: &Scene) -> Command {
    let site = &scene.site;
    let (head, base) = {
        let text = site.file().replace("\"changed\"", "\"changed again\"");
        let head = site
            .repo()
            .push("change", "netbird.json", text.as_bytes(), "a change");
        (head, site.repo().tip("main"))
    };
    let number = site.repo().open_pr("change", "main");
    site.checkout(&head);
    let pull = Pull {
        number,
        head: &head,
        base: &base,
    };
    site.job_command(&["plan", "--comment"], &Job::pull_request(site, &pull))
}

fn of_push(scene: &Scene, args: &[&str]) -> Command {
    scene.site.job_command(args, &push(&scene.site))
}

/// The owner's work, with the tokens of everybody.
fn setup(scene: &Scene) -> Command {
    let site = &scene.site;
    let mut setup = site.command(&["init", "--setup", "elsewhere"]);
    setup
        .env("GITEA_TOKEN", site.gitea().owner_token())
        .env("BOT_TOKEN", site.gitea().token())
        .env(
            "NETBIRD_PLAN_TOKEN",
            site.bench.netbird().token_for("auditor"),
        )
        .env("NETBIRD_APPLY_TOKEN", site.bench.netbird().token());
    setup
}

/// Makes a command ready to run.
type Build = fn(&Scene) -> Command;

/// Each command that talks to a server or runs git, by name.
const COMMANDS: [(&str, Build); 17] = [
    ("validate", |scene| of_push(scene, &["validate"])),
    ("plan", |scene| of_push(scene, &["plan"])),
    ("plan on a laptop", |scene| scene.site.command(&["plan"])),
    ("export", |scene| of_push(scene, &["export"])),
    ("export --raw", |scene| of_push(scene, &["export", "--raw"])),
    ("adopt --candidates", |scene| {
        of_push(scene, &["adopt", "--candidates"])
    }),
    ("drift", |scene| of_push(scene, &["drift", "--issue"])),
    ("access", |scene| of_push(scene, &["access", "g", "crew"])),
    ("doctor", |scene| of_push(scene, &["doctor"])),
    ("apply", |scene| of_push(scene, &["apply", "--comment"])),
    ("sync-events", |scene| of_push(scene, &["sync-events"])),
    ("sync-events --via-pr", |scene| {
        of_push(scene, &["sync-events", "--via-pr"])
    }),
    ("mark-enrolled", |scene| {
        of_push(scene, &["mark-enrolled", "k"])
    }),
    ("adopt", |scene| of_push(scene, &["adopt", "groups/theirs"])),
    ("init", |scene| scene.site.command(&["init", "fresh"])),
    ("init --setup", setup),
    ("plan --comment", plan_comment),
];

#[test]
fn no_command_tells_a_secret_at_the_finest_level() {
    let scene = Scene::changed();
    for format in ["json", "text", "markdown"].iter().step_by(every(3)) {
        scene.restore();
        let mut said = String::new();
        for (name, command) in COMMANDS {
            let ran = run(&scene, command(&scene), format);
            assert!((0..=4).contains(&ran.code), "{name}: {}", ran.stderr);
            search(&scene, name, &ran);
            said += &ran.stderr;
        }
        // it is the finest level, a key was sealed, and git was watched
        assert!(
            said.contains("ureq") && said.contains("BEGIN AGE"),
            "{said}"
        );
        let children = fs::read_to_string(scene.site.bench.path("children")).unwrap();
        assert!(children.contains("PATH="), "{children}");
    }
}

#[test]
fn no_command_tells_a_secret_of_servers_that_repeat_what_they_are_asked() {
    let scene = Scene::changed();
    let mut cases = Vec::new();
    for (name, command) in COMMANDS {
        for status in [400, 404, 422, 500] {
            // from the first request on, and in the middle
            cases.extend([1, 9].map(|nth| (name, command, status, nth)));
        }
    }
    for (name, command, status, nth) in cases.into_iter().step_by(every(23)) {
        scene.restore();
        let command = command(&scene);
        let echo = || {
            Fault::on("*", "/")
                .nth(nth)
                .always()
                .then(Effect::Echo(status))
        };
        scene.site.bench.netbird().fault(echo());
        scene.site.gitea().fault(echo());
        let ran = run(&scene, command, "json");
        scene.rest();
        search(
            &scene,
            &format!("{name} ({status}, from request {nth} on)"),
            &ran,
        );
    }
}

/// A thread that cannot be made panics: the program has less and less memory.
#[test]
fn a_panic_tells_no_secret() {
    let scene = Scene::changed();
    let mut panics = 0;
    for kilobytes in (24_000..64_000).step_by(2_000 * every(4)) {
        scene.restore();
        let apply = (APPLY.command)(&scene);
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("ulimit -v {kilobytes}; exec \"$0\" \"$@\"")])
            .arg(apply.get_program())
            .args(apply.get_args())
            .current_dir(scene.site.bench.path(""))
            .env_clear()
            .envs(
                apply
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            );
        let ran = run(&scene, command, "json");
        scene.rest();
        panics += usize::from(ran.stderr.contains("panicked at"));
        search(&scene, &format!("apply with {kilobytes} kB"), &ran);
    }
    assert!(panics > 0, "no run panics");
}
