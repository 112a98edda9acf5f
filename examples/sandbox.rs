//! A NetBird and a Gitea server to play with, on this machine: nothing they hold outlives them.
//!
//!     cargo run --example sandbox                     serve on any free ports until Ctrl-C
//!     cargo run --example sandbox -- --port 8080      serve NetBird on this port, Gitea on the next
//!     cargo run --example sandbox -- --forgejo        answer as Forgejo does, not as Gitea
//!     cargo run --example sandbox -- enroll URL KEY HOSTNAME
//!                                                     register a peer with a setup key
//!
//! The `export` lines are all there is on stdout, so a script can read them from there.

use std::io::{self, Write};
use std::process::ExitCode;

use fakes::{Gitea, NetBird, client};
use serde_json::json;

const USAGE: &str = "usage: sandbox [--port PORT] [--forgejo]
       sandbox enroll URL KEY HOSTNAME";

/// What the repository holds.
const NETBIRD_JSON: &str = include_str!("../netbird.json");

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["enroll", url, key, hostname] => enroll(url, key, hostname),
        ["-h" | "--help"] => {
            eprintln!("{USAGE}");
            Ok(())
        }
        _ => options(&words).and_then(|(port, forgejo)| serve(port, forgejo)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Reads the port, 0 for any, and whether Forgejo is wanted.
fn options(words: &[&str]) -> Result<(u16, bool), String> {
    match words {
        [] => Ok((0, false)),
        ["--forgejo", rest @ ..] => Ok((options(rest)?.0, true)),
        ["--port", port, rest @ ..] => {
            let number = port.parse().ok().filter(|port| *port < u16::MAX);
            let number = number.ok_or_else(|| format!("{port} is not a port\n\n{USAGE}"))?;
            Ok((number, options(rest)?.1))
        }
        _ => Err(format!(
            "what is meant by `{}`?\n\n{USAGE}",
            words.join(" ")
        )),
    }
}

/// Serves both until the end, and tells where.
fn serve(port: u16, forgejo: bool) -> Result<(), String> {
    let taken = |port, error| format!("cannot serve on port {port}: {error}");
    let netbird = NetBird::start_on(port).map_err(|error| taken(port, error))?;
    let next = if port == 0 { 0 } else { port + 1 };
    let gitea = if forgejo {
        Gitea::start_forgejo_on(next)
    } else {
        Gitea::start_on(next)
    };
    let gitea = gitea.map_err(|error| taken(next, error))?;
    gitea.push(
        "main",
        "netbird.json",
        NETBIRD_JSON,
        "the network of the project itself\n",
    );
    let (url, git_url, repo) = (netbird.url(), gitea.url(), gitea.repo());
    let git_dir = gitea.git_dir();
    let git_dir = git_dir.display();

    eprintln!(
        "A NetBird server of your own, at {url}. It holds the group All and the policy Default, nothing else."
    );
    eprintln!(
        "A {} server, at {git_url}. It holds the repository {repo} with a netbird.json.",
        if forgejo { "Forgejo" } else { "Gitea" }
    );
    eprintln!("Both forget everything when they end. Ctrl-C ends them.\n");
    eprintln!("Paste this into another terminal:\n");
    let exports = format!(
        "export NETBIRD_API_URL={url}\nexport NETBIRD_API_TOKEN={}\n\
         export GITEA_URL={git_url}\nexport GITEA_TOKEN={}\nexport GITEA_REPO={repo}\n\
         export GITEA_BRANCH=main\nexport GITEA_ADMIN_TOKEN={}\nexport SANDBOX_REPOSITORY={git_dir}\n",
        netbird.token(),
        gitea.token(),
        gitea.admin_token(),
    );
    let mut stdout = io::stdout();
    stdout
        .write_all(exports.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| format!("cannot write to stdout: {error}"))?;
    eprintln!("\nThen, there:\n");
    eprintln!(
        "    age-keygen -o identity.txt                            who may open new setup keys"
    );
    eprintln!("    export AGE_PUBLIC_KEY=$(age-keygen -y identity.txt)");
    eprintln!("    cargo run -- plan                                     what would change");
    eprintln!("    cargo run -- apply                                    change it");
    eprintln!(
        "    age -d -i identity.txt sealed-keys/NAME.age           the KEY of the next command\n"
    );
    eprintln!("A machine that enrolls with a setup key:\n");
    eprintln!("    cargo run --example sandbox -- enroll {url} KEY HOSTNAME");
    eprintln!("    cargo run -- sync-events\n");
    eprintln!("A look at what is there:\n");
    eprintln!("    curl -H \"Authorization: Token $NETBIRD_API_TOKEN\" {url}/api/peers");
    eprintln!(
        "    curl -H \"Authorization: token $GITEA_TOKEN\" {git_url}/api/v1/repos/{repo}/contents\n"
    );
    eprintln!("The repository is a bare one in a folder; clone it, change it, push:\n");
    eprintln!("    git clone $SANDBOX_REPOSITORY network\n");
    eprintln!(
        "GITEA_TOKEN is a bot's and can make no repositories; GITEA_ADMIN_TOKEN is that of the site's administrator."
    );
    wait().map_err(|error| format!("cannot wait for Ctrl-C: {error}"))
}

/// Waits for Ctrl-C or SIGTERM, so that the servers are dropped and the folder of the repository
/// goes with them.
#[cfg(unix)]
fn wait() -> io::Result<()> {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::low_level::pipe;

    let (mut reader, writer) = UnixStream::pair()?;
    pipe::register(SIGINT, writer.try_clone()?)?;
    pipe::register(SIGTERM, writer)?;
    reader.read_exact(&mut [0])
}

#[cfg(not(unix))]
fn wait() -> io::Result<()> {
    loop {
        std::thread::park();
    }
}

/// Registers a peer with a sandbox that runs elsewhere.
fn enroll(url: &str, key: &str, hostname: &str) -> Result<(), String> {
    let url = format!("{}/sandbox/enroll", url.trim_end_matches('/'));
    let answer = client::send(
        "POST",
        &url,
        None,
        Some(&json!({"key": key, "hostname": hostname})),
    )
    .map_err(|error| format!("no sandbox at {url}: {error}"))?;
    match (answer.status, answer.json["peer_id"].as_str()) {
        (200, Some(peer)) => {
            eprintln!("{hostname} is enrolled: peer {peer}");
            Ok(())
        }
        _ => Err(answer.json["message"].as_str().map_or_else(
            || format!("{url} is no sandbox: status {}", answer.status),
            |message| format!("{hostname} is not enrolled: {message}"),
        )),
    }
}
