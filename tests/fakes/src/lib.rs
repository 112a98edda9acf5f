//! In-process fakes of the servers that netbird-gitops talks to, for its tests and for `cargo run
//! --example sandbox`.
//!
//! [`NetBird`] is a NetBird management server on 127.0.0.1: it refuses what the real one refuses
//! and keeps its quirks, and `netbird.py`, which judges a server by the contract, finds no
//! difference that matters to us. [`Gitea`] is a Gitea or Forgejo with a real git repository, and
//! stands the test of `gitea.py` alike. What the program
//! leans on of it is told in docs/netbird-api.md and docs/gitea-api.md. Any number of fakes run side by side.
//!
//! ```
//! use fakes::{Effect, Fault, NetBird, client};
//! use serde_json::json;
//!
//! let netbird = NetBird::start();
//! // Made by hand, in the dashboard.
//! netbird.create("/groups", json!({"name": "ops"}));
//! // And the next GET of the peers meets a proxy.
//! netbird.fault(Fault::on("GET", "/peers").then(Effect::Html(502)));
//!
//! let url = netbird.url() + "/api/peers";
//! let answer = client::send("GET", &url, Some(&netbird.token()), None).unwrap();
//! assert_eq!(answer.status, 502);
//! assert_eq!(netbird.requests()[0].to_string(), "GET /peers → 502");
//! ```
//!
//! ```
//! use fakes::{Gitea, client};
//! use serde_json::json;
//!
//! let gitea = Gitea::start();
//! // Somebody pushes another file while the server is at work on our write.
//! gitea.race(|gitea| {
//!     gitea.push("main", "README.md", "hello\n", "say hello\n");
//! });
//!
//! let url = format!("{}/api/v1{}", gitea.url(), gitea.path("/contents/netbird.json"));
//! let sha = gitea.sha("main", "netbird.json");
//! let body = json!({"content": "e30K", "sha": sha, "branch": "main", "message": "empty it"});
//! let answer = client::send("PUT", &url, Some(&gitea.token()), Some(&body)).unwrap();
//! assert_eq!(answer.status, 403);
//! assert_eq!(gitea.log("main")[0].pusher, "alice");
//! ```

#![forbid(unsafe_code)]
#![recursion_limit = "256"] // a repository in one json!()

mod base64;
mod body;
pub mod client;
mod clock;
mod disk;
mod fault;
mod gitea;
pub mod http;
mod netbird;
mod url;

pub use disk::{in_memory, init};
pub use fault::{Effect, Fault, When};
pub use gitea::{Commit, Gitea, How, Push, SavedForge, Signature};
pub use http::{Request, Response};
pub use netbird::{NetBird, Saved};
