//! A NetBird server to play with, on this machine and in memory: nothing it holds outlives it.
//!
//!     cargo run --example sandbox                     serve on any free port until Ctrl-C
//!     cargo run --example sandbox -- --port 8080      serve on this port
//!     cargo run --example sandbox -- enroll URL KEY HOSTNAME
//!                                                     register a peer with a setup key
//!
//! The two `export` lines are all there is on stdout, so a script can read them from there.

use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;

use fakes::{NetBird, client};
use serde_json::json;

const USAGE: &str = "usage: sandbox [--port PORT]
       sandbox enroll URL KEY HOSTNAME";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        [] => serve(0),
        ["--port", port] => match port.parse() {
            Ok(port) => serve(port),
            Err(_) => Err(format!("{port} is no port\n\n{USAGE}")),
        },
        ["enroll", url, key, hostname] => enroll(url, key, hostname),
        ["-h" | "--help"] => {
            eprintln!("{USAGE}");
            Ok(())
        }
        _ => Err(format!(
            "what is meant by `{}`?\n\n{USAGE}",
            words.join(" ")
        )),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn serve(port: u16) -> Result<(), String> {
    let netbird =
        NetBird::start_on(port).map_err(|error| format!("cannot serve on port {port}: {error}"))?;
    let url = netbird.url();

    eprintln!(
        "A NetBird server of your own, at {url}. It holds the group All and the policy Default, nothing else,"
    );
    eprintln!("and forgets everything when it ends. Ctrl-C ends it.\n");
    eprintln!("Paste this into another terminal:\n");
    let exports = format!(
        "export NETBIRD_API_URL={url}\nexport NETBIRD_API_TOKEN={}\n",
        netbird.token()
    );
    let mut stdout = io::stdout();
    stdout
        .write_all(exports.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| format!("cannot write to stdout: {error}"))?;
    eprintln!("\nThen, there:\n");
    eprintln!("    netbird-gitops plan     what would change");
    eprintln!("    netbird-gitops apply    change it\n");
    eprintln!("A machine that enrolls with a setup key:\n");
    eprintln!("    cargo run --example sandbox -- enroll {url} KEY HOSTNAME\n");
    eprintln!("A look at what is there:\n");
    eprintln!("    curl -H \"Authorization: Token $NETBIRD_API_TOKEN\" {url}/api/peers");
    loop {
        thread::park();
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
