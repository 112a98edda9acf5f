//! What a release does, run: `.ci/release` against a server that has releases, `.ci/images` with stand-ins for the tools. That the
//! images run was seen by hand: docs/releasing.md says where.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use fakes::http::Server;
use fakes::{Request, Response};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::root;
use super::scripts::bash;

const LICENCES: &str = "netbird-gitops-licences.txt";
const BILL: &str = "netbird-gitops.cdx.json";
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];

/// The releases of acme/x, as Gitea 1.26.3 was seen to have them, but that it takes no second asset of a name.
#[derive(Default)]
struct Releases {
    made: usize,
    assets: Vec<(String, Vec<u8>)>,
    /// Where downloads are sent to, if not answered here.
    storage: Option<String>,
}

impl Releases {
    fn answer(&mut self, request: &Request) -> Response {
        let refused = |status: u16| Response::json(status, &json!({ "message": "no" }));
        if request.header("authorization") != Some("token s3cret") {
            return refused(401);
        }
        let release =
            r#"{"id":7,"tag_name":"v1.2.3","name":"v1.2.3","author":{"id":1},"assets":[]}"#;
        let release = |status| Response::new(status, "application/json", release);
        match (&*request.method, &*request.path) {
            ("GET", "/repos/acme/x/releases/tags/v1.2.3") if self.made == 0 => refused(404),
            ("GET", "/repos/acme/x/releases/tags/v1.2.3") => release(200),
            ("POST", "/repos/acme/x/releases") if self.made > 0 => refused(409),
            ("POST", "/repos/acme/x/releases") => {
                assert_eq!(
                    request.body,
                    Some(json!({ "tag_name": "v1.2.3", "name": "v1.2.3" }))
                );
                self.made += 1;
                release(201)
            }
            ("GET", "/repos/acme/x/releases/7/assets") => {
                let assets = self.assets.iter().enumerate().map(|(id, (name, _))| {
                    // what a server says that is known under another name
                    let url = format!("http://elsewhere.invalid/download/{name}");
                    json!({ "id": id, "name": name, "browser_download_url": url })
                });
                Response::json(200, &assets.collect::<Value>())
            }
            ("POST", "/repos/acme/x/releases/7/assets") => {
                let name = request.query.strip_prefix("name=").unwrap().to_owned();
                if self.assets.iter().any(|(there, _)| *there == name) {
                    return refused(409);
                }
                self.assets.push((name, uploaded(&request.bytes)));
                Response::json(201, &json!({}))
            }
            ("GET", path) if self.storage.is_some() => {
                let storage = self.storage.as_ref().unwrap();
                Response::new(302, "", "").with("Location", &format!("{storage}{path}"))
            }
            ("GET", path) => {
                let name = path.strip_prefix("/acme/x/releases/download/v1.2.3/");
                let asset = self.assets.iter().find(|(there, _)| Some(&**there) == name);
                asset.map_or_else(
                    || refused(404),
                    |(_, bytes)| Response::new(200, "application/octet-stream", bytes.clone()),
                )
            }
            _ => refused(405),
        }
    }
}

/// The one part of a multipart body.
fn uploaded(body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(body.to_vec()).unwrap();
    let (_, rest) = text.split_once("\r\n\r\n").unwrap();
    let (part, _) = rest.rsplit_once("\r\n--").unwrap();
    part.as_bytes().to_vec()
}

fn digest(text: &str) -> String {
    let bytes = Sha256::digest(text);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A server with releases, and what a run of the script for it comes to.
struct Forge {
    releases: Arc<Mutex<Releases>>,
    server: Server,
}

impl Forge {
    fn start() -> Forge {
        let releases = Arc::<Mutex<Releases>>::default();
        let shared = releases.clone();
        let answer = move |request: &Request| Some(shared.lock().unwrap().answer(request));
        let error = Response::new(500, "text/plain", "");
        let server = Server::start(0, "/api/v1", error, Box::new(answer)).unwrap();
        Forge { releases, server }
    }

    /// Runs `.ci/release` with binaries that a build of this name made.
    fn releases(&self, build: &str, token: &str) -> (bool, String) {
        let directory = tempfile::tempdir().unwrap();
        for target in TARGETS {
            let binary = directory.path().join(format!("netbird-gitops-{target}"));
            fs::write(binary, format!("{target} of {build}")).unwrap();
        }
        fs::write(directory.path().join(LICENCES), "MIT").unwrap();
        fs::write(directory.path().join(BILL), "{}").unwrap();
        let came = bash(
            &format!("{}/.ci/release .", root().display()),
            directory.path(),
            &[
                ("GITHUB_API_URL", &format!("{}/api/v1", self.server.url())),
                ("GITHUB_REPOSITORY", "acme/x"),
                ("GITHUB_REF_NAME", "v1.2.3"),
                ("TOKEN", token),
                ("TMPDIR", directory.path().to_str().unwrap()),
            ],
        );
        // what was published is what the images are made of
        for target in TARGETS.iter().filter(|_| came.0) {
            let name = format!("netbird-gitops-{target}");
            let here = fs::read(directory.path().join(&name)).unwrap();
            assert_eq!(Some(here), self.asset(&name), "{name}");
        }
        let left = fs::read_dir(directory.path()).unwrap();
        let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(left.filter(|name| name.starts_with("tmp")).count(), 0);
        came
    }

    fn asset(&self, name: &str) -> Option<Vec<u8>> {
        let releases = self.releases.lock().unwrap();
        let asset = releases.assets.iter().find(|(there, _)| there == name);
        asset.map(|(_, bytes)| bytes.clone())
    }

    fn assert_has(&self, target: &str, text: &str) {
        let name = format!("netbird-gitops-{target}");
        assert_eq!(self.asset(&name).unwrap(), text.as_bytes());
        let sum = format!("{}  {name}\n", digest(text));
        let attached = self.asset(&format!("{name}.sha256")).unwrap();
        assert_eq!(String::from_utf8(attached).unwrap(), sum);
    }
}

#[test]
fn a_release_has_each_binary_and_its_checksum() {
    let forge = Forge::start();
    let (ok, said) = forge.releases("a", "s3cret");
    assert!(ok, "{said}");
    for target in TARGETS {
        forge.assert_has(target, &format!("{target} of a"));
    }
    assert_eq!(forge.asset(LICENCES).unwrap(), b"MIT");
    assert_eq!(forge.asset(BILL).unwrap(), b"{}");
    assert!(!said.contains("s3cret"));
}

#[test]
fn a_second_run_leaves_what_was_published_and_attaches_the_rest() {
    let forge = Forge::start();
    assert!(forge.releases("a", "s3cret").0);
    let (ok, said) = forge.releases("b", "s3cret");
    assert!(ok, "{said}");
    assert_eq!(forge.releases.lock().unwrap().assets.len(), 6);
    // one that was killed between two uploads, and one right after the release was made
    for keeps in [3, 1, 0] {
        forge.releases.lock().unwrap().assets.truncate(keeps);
        let (ok, said) = forge.releases("c", "s3cret");
        assert!(ok, "{said}");
        let first = if keeps > 0 { "a" } else { "c" };
        forge.assert_has(TARGETS[1], &format!("{} of {first}", TARGETS[1]));
        let second = if keeps > 1 { "a" } else { "c" };
        forge.assert_has(TARGETS[0], &format!("{} of {second}", TARGETS[0]));
        assert_eq!(forge.releases.lock().unwrap().made, 1);
    }
}

/// Somebody with the right to releases put another binary beside the checksum that people have.
#[test]
fn a_binary_that_is_not_the_one_that_was_published_ends_the_run() {
    let forge = Forge::start();
    assert!(forge.releases("a", "s3cret").0);
    for (name, bytes) in &mut forge.releases.lock().unwrap().assets {
        if name.ends_with(TARGETS[1]) {
            *bytes = b"evil".to_vec();
        }
    }
    let (ok, said) = forge.releases("b", "s3cret");
    assert!(!ok);
    let told = format!(
        "netbird-gitops-{} is not the one that was published",
        TARGETS[1]
    );
    assert!(said.contains(&told), "{said}");
}

#[test]
fn a_download_from_another_host_gets_no_token() {
    let forge = Forge::start();
    assert!(forge.releases("a", "s3cret").0);
    let assets = forge.releases.lock().unwrap().assets.clone();
    let answer = move |request: &Request| {
        assert_eq!(request.header("authorization"), None, "{request:?}");
        let asset = assets.iter().find(|(name, _)| request.path.ends_with(name));
        let bytes = asset.map(|(_, bytes)| bytes.clone());
        Some(Response::new(
            200,
            "application/octet-stream",
            bytes.unwrap(),
        ))
    };
    let error = Response::new(500, "text/plain", "");
    let storage = Server::start(0, "/storage", error, Box::new(answer)).unwrap();
    forge.releases.lock().unwrap().storage = Some(format!("{}/storage", storage.url()));
    let (ok, said) = forge.releases("b", "s3cret");
    assert!(ok, "{said}");
    forge.assert_has(TARGETS[0], &format!("{} of a", TARGETS[0]));
}

#[test]
fn the_licences_of_all_that_is_linked_are_listed() {
    let directory = tempfile::tempdir().unwrap();
    let script = format!("{}/.ci/licences .", root().display());
    let home = std::env::var("HOME").unwrap();
    let mut variables = vec![("HOME", home.as_str()), ("CARGO_NET_OFFLINE", "true")];
    let of_cargo = ["CARGO_HOME", "RUSTUP_HOME"].map(|name| (name, std::env::var(name)));
    for (name, value) in &of_cargo {
        variables.extend(value.as_ref().ok().map(|value| (*name, value.as_str())));
    }
    let (ok, said) = bash(&script, directory.path(), &variables);
    assert!(ok, "{said}");
    let list = fs::read_to_string(directory.path().join(LICENCES)).unwrap();
    let (names, texts) = list.split_once("\n====").unwrap();
    for line in [
        "age 0.",
        "ureq 3.",
        "ring 0.",
        "musl: MIT",
        "the Rust standard library 1.",
    ] {
        assert!(names.contains(&format!("\n{line}")), "{line}: {names}");
    }
    assert!(!names.contains(": ? ("), "{names}");
    for part in ["Permission is hereby granted", "Apache License"] {
        assert!(texts.contains(part), "{part}");
    }
}

#[test]
fn a_release_that_cannot_be_made_is_red_and_says_why() {
    let forge = Forge::start();
    let (ok, said) = forge.releases("a", "another");
    assert!(
        !ok && said.contains("the release cannot be read: 401"),
        "{said}"
    );
}

/// Runs `.ci/images` with stand-ins for the tools; returns the calls of buildah.
fn images(env: &[(&str, &str)], push: &str) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let bin = directory.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let stand_ins = [
        (
            "buildah",
            "echo \"$*\" >> \"$CALLS\"\ncase \"$*\" in\n*' login '*) cat >> \"$CALLS\" ;;\n*'manifest exists'*) exit 1 ;;\nesac\n",
        ),
        (
            "mmdebstrap",
            "mkdir -p \"$5/etc\" \"$5/usr/share/ca-certificates/mozilla\"\necho root > \"$5/usr/share/ca-certificates/mozilla/a.crt\"\n",
        ),
    ];
    for (name, text) in stand_ins {
        let path = bin.join(name);
        fs::write(&path, format!("#!/usr/bin/env bash\n{text}")).unwrap();
        make_executable(&path);
    }
    for target in TARGETS {
        fs::write(
            directory.path().join(format!("netbird-gitops-{target}")),
            target,
        )
        .unwrap();
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let calls = directory.path().join("calls");
    let script = format!(
        "export PATH='{path}'; {}/.ci/images . git.example.com/acme/x v1.2.3 {push}",
        root().display()
    );
    let environment = [env, &[("CALLS", calls.to_str().unwrap())]].concat();
    let (ok, said) = bash(&script, directory.path(), &environment);
    assert!(ok, "{said}");
    let calls = fs::read_to_string(&calls).unwrap();
    calls.lines().map(str::to_owned).collect()
}

pub(super) fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn two_images_of_both_architectures_are_pushed_by_a_token_that_nobody_sees() {
    for (plain, tls) in [("", "--tls-verify=true"), ("true", "--tls-verify=false")] {
        let calls = images(&[("LOGIN", "alice:s3cret"), ("PLAIN_HTTP", plain)], "push");
        let of = |what: &str| {
            let calls = calls.iter().filter(|call| call.contains(what));
            calls.cloned().collect::<Vec<String>>()
        };
        let built = of(" build ");
        for (arch, kind, list) in [
            ("amd64", "plain", "v1.2.3"),
            ("amd64", "git", "v1.2.3-git"),
            ("arm64", "plain", "v1.2.3"),
            ("arm64", "git", "v1.2.3-git"),
        ] {
            let wanted = [
                format!("--platform linux/{arch} "),
                format!("--target {kind} "),
                format!("--manifest git.example.com/acme/x:{list} "),
            ];
            let is_it = |call: &&String| wanted.iter().all(|part| call.contains(part));
            assert_eq!(
                built.iter().filter(is_it).count(),
                1,
                "{arch} {kind}: {built:#?}"
            );
        }
        let pushed = of("manifest push --all");
        assert_eq!(pushed.len(), 2, "{calls:#?}");
        assert!(pushed.iter().all(|call| call.contains(tls)), "{pushed:?}");
        assert!(pushed[1].ends_with("docker://git.example.com/acme/x:v1.2.3-git"));
        let login = of(" login ");
        assert!(login[0].contains("--username alice --password-stdin git.example.com"));
        assert_eq!(of("s3cret"), ["s3cret"], "by stdin, in no argument");
    }
    let calls = images(&[], "");
    assert!(
        !calls
            .iter()
            .any(|call| call.contains("push") || call.contains("login"))
    );
}

#[test]
fn the_plain_image_has_nothing_but_roots_and_the_program_and_nothing_is_run() {
    let text = fs::read_to_string(root().join(".ci/Containerfile")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let words = |line: &str| line.split(' ').next().unwrap().to_owned();
    let of = |stage: &str| {
        let from = format!("FROM scratch AS {stage}");
        let rest = lines.iter().skip_while(|line| **line != from).skip(1);
        rest.take_while(|line| !line.starts_with("FROM"))
            .copied()
            .collect::<Vec<&str>>()
    };
    let copies = |stage: &str| {
        let lines = of(stage).into_iter();
        lines
            .filter(|line| ["COPY", "ADD"].contains(&&*words(line)))
            .collect::<Vec<&str>>()
    };
    assert_eq!(
        copies("plain"),
        [
            "COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt",
            "COPY netbird-gitops /usr/local/bin/netbird-gitops"
        ]
    );
    assert_eq!(copies("git")[0], "ADD root.tar /");
    assert_eq!(copies("git")[1..], copies("plain"));
    let known = ["FROM", "COPY", "ADD", "ENV", "ENTRYPOINT"];
    assert!(
        lines.iter().all(|line| known.contains(&&*words(line))),
        "{text}"
    );
}
