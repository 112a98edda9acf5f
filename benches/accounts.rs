//! Plans of accounts of three sizes by the real binary, against fetching the same lists with curl and throwing them away.
//!
//! Then plans of a file with changes, with and without saying who reaches whom.
//!
//! `cargo bench --bench accounts`. The ratios are what counts: the machine is in both numbers. NetBird's lists come from
//! the memory of this process; the file equals the account and the inventory has all of it, so that the plan is empty and everything
//! is compared.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::ser::PrettyFormatter;
use serde_json::{Map, Serializer, Value, json};

const PEERS: [usize; 3] = [1_000, 10_000, 100_000];
const ROUNDS: usize = 5;
/// The second in which the first objects were made: 2026-09-21T14:13:20Z.
const MADE: i64 = 1_790_000_000;

/// The lists that a plan of these files fetches.
const LISTS: [&str; 7] = [
    "groups",
    "setup-keys",
    "peers",
    "policies",
    "routes",
    "dns/nameservers",
    "users",
];

fn main() {
    let mut out = std::io::stdout();
    let head = "  peers  answers MB     plan     curl  ratio  peak MiB  peak ÷ answers\n";
    out.write_all(head.as_bytes()).expect("somebody reads this");
    for peers in PEERS {
        let account = Account::of(peers);
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::write(dir.path().join("netbird.json"), text(&account.file())).expect("writable");
        let lists = account.lists();
        drop(account);
        let bytes: usize = lists.values().map(Vec::len).sum();
        let url = serve(lists);
        adopt(dir.path(), &url);
        let pair = |_| (time(|| floor(&url)), time(|| plan(dir.path(), &url)));
        // the first of each is not counted
        let pairs: Vec<(Duration, Duration)> = (0..=ROUNDS).map(pair).skip(1).collect();
        let ratio = |(floor, plan): &(Duration, Duration)| plan.as_secs_f64() / floor.as_secs_f64();
        let floor = median(pairs.iter().map(|(floor, _)| floor.as_secs_f64()));
        let plan = median(pairs.iter().map(|(_, plan)| plan.as_secs_f64()));
        let peak = peak(dir.path(), &url);
        let row = format!(
            "{peers:>7} {:>11.1} {:>5.0} ms {:>5.0} ms {:>6.1} {:>9.1} {:>15.1}\n",
            bytes as f64 / 1e6,
            plan * 1e3,
            floor * 1e3,
            median(pairs.iter().map(ratio)),
            peak as f64 / 1024.0,
            peak as f64 * 1024.0 / bytes as f64,
        );
        out.write_all(row.as_bytes()).expect("somebody reads this");
    }
    let head = "\n  peers  changed plan  without who reaches whom  ratio\n";
    out.write_all(head.as_bytes()).expect("somebody reads this");
    for peers in [PEERS[0], PEERS[1]] {
        let account = Account::of(peers);
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = account.changed();
        let url = serve(account.lists());
        fs::write(dir.path().join("netbird.json"), text(&account.file())).expect("writable");
        adopt(dir.path(), &url);
        fs::write(dir.path().join("netbird.json"), text(&file)).expect("writable");
        let pair = |_| {
            let without = time(|| changed_plan(dir.path(), &url, "none"));
            (without, time(|| changed_plan(dir.path(), &url, "groups")))
        };
        let pairs: Vec<(Duration, Duration)> = (0..=2 * ROUNDS).map(pair).skip(1).collect();
        let ratio =
            |(without, with): &(Duration, Duration)| with.as_secs_f64() / without.as_secs_f64();
        let row = format!(
            "{peers:>7} {:>10.0} ms {:>22.0} ms {:>6.2}\n",
            median(pairs.iter().map(|(_, with)| with.as_secs_f64())) * 1e3,
            median(pairs.iter().map(|(without, _)| without.as_secs_f64())) * 1e3,
            median(pairs.iter().map(ratio)),
        );
        out.write_all(row.as_bytes()).expect("somebody reads this");
    }
}

/// A file as people write it; with an indent of one blank the largest one is below the limit.
fn text(file: &Value) -> Vec<u8> {
    let mut text = Vec::new();
    let form = PrettyFormatter::with_indent(b" ");
    let mut serializer = Serializer::with_formatter(&mut text, form);
    file.serialize(&mut serializer).expect("JSON");
    text
}

fn time(what: impl FnOnce()) -> Duration {
    let start = Instant::now();
    what();
    start.elapsed()
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// The same lists, at once, into nothing.
fn floor(url: &str) {
    let mut curl = Command::new("curl");
    curl.args(["-s", "-Z"]);
    for list in LISTS {
        curl.args(["-o", "/dev/null", &format!("{url}/api/{list}")]);
    }
    let quiet = curl.stdout(Stdio::null()).stderr(Stdio::null());
    let status = quiet.status().expect("curl is installed");
    assert!(status.success(), "{status}");
}

fn command(name: &str, dir: &Path, url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_netbird-gitops"));
    command.arg(name).current_dir(dir).env_clear();
    command.args(["--inventory", "inventory.json"]);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("NETBIRD_API_URL", url);
    command.env("NETBIRD_API_TOKEN", format!("nbp_{}", "a".repeat(36)));
    command
}

/// Writes the inventory: an apply adopts all that is there, and changes nothing.
fn adopt(dir: &Path, url: &str) {
    let output = command("apply", dir, url).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

fn plan(dir: &Path, url: &str) {
    let output = command("plan", dir, url).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("No changes"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A plan with changes; `access` says whether it tells who reaches whom.
fn changed_plan(dir: &Path, url: &str, access: &str) {
    let output = command("plan", dir, url)
        .args(["--access", access])
        .output();
    let output = output.expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let is_told = said.contains("Who reaches whom");
    assert!(
        output.status.success() && said.contains("to change") && is_told == (access != "none"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The most memory that a run had, in KiB, as Linux tells; 0 elsewhere.
fn peak(dir: &Path, url: &str) -> u64 {
    let mut command = command("plan", dir, url);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it runs");
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().expect("a child").is_none() {
        let status = fs::read_to_string(&status).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        most = most.max(kib.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(1));
    }
    most
}

/// Serves the lists until this process ends; returns the URL.
fn serve(lists: BTreeMap<&'static str, Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let lists = Arc::new(lists);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let lists = lists.clone();
            // whoever goes away early is nobody's error
            std::thread::spawn(move || drop(answer(stream, &lists)));
        }
    });
    format!("http://{address}")
}

fn answer(stream: TcpStream, lists: &BTreeMap<&str, Vec<u8>>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let mut first = String::new();
        if reader.by_ref().take(8 << 10).read_line(&mut first)? == 0 {
            return Ok(());
        }
        let mut line = String::new();
        while reader.by_ref().take(8 << 10).read_line(&mut line)? > 2 {
            line.clear();
        }
        let path = first.split(' ').nth(1).unwrap_or_default();
        let path = path.split('?').next().unwrap_or_default();
        let list = path.strip_prefix("/api/").and_then(|list| lists.get(list));
        let (status, body) = match list {
            Some(body) => ("200 OK", body.as_slice()),
            None => ("404 Not Found", b"404 page not found\n".as_slice()),
        };
        let length = body.len();
        let kind = "application/json; charset=UTF-8";
        write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
        )?;
        stream.write_all(body)?;
    }
}

/// An account of so many peers, with a tenth as many groups, policies and keys, a fiftieth of routes, and 20 nameserver
/// groups.
struct Account {
    peers: usize,
    /// Names and ids of the groups of each peer, `All` last.
    groups: Vec<String>,
    all: String,
}

impl Account {
    fn of(peers: usize) -> Self {
        let group = |n: usize| id(MADE + n as i64, n);
        Account {
            peers,
            groups: (0..peers / 10).map(group).collect(),
            all: id(MADE - 9, 0),
        }
    }

    fn peer(&self, n: usize) -> (String, i64) {
        // the first ones came by keys
        let made = match n < self.groups.len() {
            true => MADE + 1_060 + 10 * n as i64,
            false => MADE + 500_000 + 2 * n as i64,
        };
        (id(made, n), made)
    }

    fn groups_of(&self, n: usize) -> Vec<usize> {
        let mut groups = vec![n % self.groups.len(), (n * 7 + 3) % self.groups.len()];
        groups.dedup();
        groups
    }

    fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.groups.len()];
        for n in 0..self.peers {
            for group in self.groups_of(n) {
                members[group].push(n);
            }
        }
        members
    }

    /// The answers, in the form of NetBird 0.77.
    fn lists(&self) -> BTreeMap<&'static str, Vec<u8>> {
        let short = |n: usize| {
            let (id, _) = self.peer(n);
            json!({ "id": id, "name": machine(n) })
        };
        let whole = |id: &str, name: &str, members: Vec<Value>| {
            json!({ "id": id, "name": name, "issued": "api", "peers_count": members.len(), "peers": members,
                    "resources_count": 0, "resources": [] })
        };
        let members = self.members();
        let mini = |n: usize| json!({ "id": self.groups[n], "name": group(n), "peers_count": members[n].len(), "resources_count": 0 });
        let all = json!({ "id": self.all, "name": "All", "peers_count": self.peers, "resources_count": 0 });
        let groups = members.iter().enumerate().map(|(n, members)| {
            let members = members.iter().map(|member| short(*member)).collect();
            whole(&self.groups[n], &group(n), members)
        });
        let everybody = whole(&self.all, "All", (0..self.peers).map(short).collect());
        let groups: Vec<Value> = groups.chain([everybody]).collect();
        let tenth = 0..self.groups.len();
        let count = self.groups.len();
        let keys = tenth.clone().map(|n| {
            let made = MADE + 1_000 + 10 * n as i64;
            json!({ "id": id(made, n), "key": "0A1B2****", "name": machine(n), "type": "one-off", "expires": time_of(made + 604_800),
                    "valid": false, "revoked": false, "used_times": 1, "last_used": time_of(made + 60), "state": "overused",
                    "auto_groups": [self.groups[n % count]], "updated_at": time_of(made + 1), "usage_limit": 1,
                    "ephemeral": false, "allow_extra_dns_labels": false })
        });
        let peers = (0..self.peers).map(|n| {
            let (id, made) = self.peer(n);
            let groups = self.groups_of(n).into_iter().map(mini).chain([all.clone()]);
            json!({ "id": id, "name": machine(n), "created_at": time_of(made), "connection_ip": "203.0.113.7", "connected": n % 3 > 0,
                    "ip": format!("100.{}.{}.{}", 64 + (n >> 16), n >> 8 & 255, n & 255), "last_seen": time_of(MADE + 900_000),
                    "os": "Debian GNU/Linux 12", "kernel_version": "6.1.0-18-amd64", "geoname_id": 2_950_159, "version": "0.77.1",
                    "groups": groups.collect::<Vec<_>>(), "ssh_enabled": false, "user_id": "", "hostname": machine(n),
                    "ui_version": "", "dns_label": format!("{}.netbird.selfhosted", machine(n)), "extra_dns_labels": [],
                    "login_expiration_enabled": false, "login_expired": false, "last_login": time_of(made),
                    "inactivity_expiration_enabled": false, "approval_required": false, "country_code": "DE",
                    "city_name": "Berlin", "serial_number": "", "ephemeral": false, "accessible_peers_count": self.peers,
                    "disapproval_reason": "", "local_flags": {
                        "rosenpass_enabled": false, "rosenpass_permissive": false, "server_ssh_allowed": false,
                        "disable_client_routes": false, "disable_server_routes": false, "disable_dns": false,
                        "disable_firewall": false, "block_lan_access": false, "block_inbound": false,
                        "lazy_connection_enabled": false } })
        });
        let policies = tenth.map(|n| {
            let (id, name, text) = (id(MADE + 5_000 + n as i64, n), policy(n), reach(n));
            json!({ "id": id, "name": name, "description": text, "enabled": true, "source_posture_checks": [], "rules": [{
                        "id": id, "name": name, "description": text, "enabled": true, "action": "accept", "bidirectional": n % 2 == 0,
                        "protocol": "tcp", "ports": ["22", "443"], "sources": [mini(n)], "destinations": [mini((n + 1) % count)] }] })
        });
        let routes = (0..self.peers / 50).map(|n| {
            json!({ "id": id(MADE + 7_000 + n as i64, n), "network_id": route(n), "network_type": "IPv4", "description": "",
                    "enabled": true, "peer": "", "peer_groups": [self.groups[n % count]], "network": network(n), "domains": null,
                    "metric": 9999, "masquerade": true, "groups": [self.all], "keep_route": false, "skip_auto_apply": false,
                    "access_control_groups": null })
        });
        let nameservers = (0..20).map(|n: usize| {
            json!({ "id": id(MADE + 8_000 + n as i64, n), "name": format!("ns-{n}"), "description": "", "primary": false,
                    "domains": [format!("d{n}.example")], "enabled": true, "groups": [self.all],
                    "nameservers": [{ "ip": "10.20.0.53", "ns_type": "udp", "port": 53 }], "search_domains_enabled": false })
        });
        let accounts = json!({ "id": "acc-1", "settings": {}, "domain": "example.com", "domain_category": "private", "created_at": time_of(MADE - 60), "created_by": "u-1" });
        let user = json!({ "id": "u-1", "email": "", "name": "robot", "role": "admin", "status": "active", "auto_groups": [],
                           "is_current": true, "is_service_user": true, "is_blocked": false, "issued": "api" });
        let text = |list: Vec<Value>| serde_json::to_vec(&list).expect("JSON");
        BTreeMap::from([
            ("accounts", text(vec![accounts])),
            ("groups", text(groups)),
            ("setup-keys", text(keys.collect())),
            ("peers", text(peers.collect())),
            ("policies", text(policies.collect())),
            ("routes", text(routes.collect())),
            ("dns/nameservers", text(nameservers.collect())),
            ("users", text(vec![user])),
            ("events", text(Vec::new())),
        ])
    }

    /// The file with changes of each sort that opens or closes something: ports of twenty policies, one from All, ten new ones, a
    /// new member, a route for fewer.
    fn changed(&self) -> Value {
        let mut file = self.file();
        for n in 0..20 {
            file["policies"][policy(n)]["ports"] = json!([22, 443, 8443]);
        }
        file["policies"][policy(20)]["sources"] = json!(["All"]);
        for n in 0..10 {
            let new = json!({ "sources": [group(n + 30)], "destinations": [group(n + 50)], "protocol": "udp" });
            file["policies"][format!("new {n}")] = new;
        }
        let members = file["groups"][group(70)]["peers"].as_array_mut();
        members.expect("a list").push(json!(machine(5)));
        file["routes"][route(0)]["groups"] = json!([group(60)]);
        file
    }

    /// The file that declares all of it.
    fn file(&self) -> Value {
        let count = self.groups.len();
        let groups = self.members().into_iter().enumerate().map(|(n, members)| {
            let members: Vec<String> = members.into_iter().map(machine).collect();
            (group(n), json!({ "peers": members }))
        });
        let keys = (0..count).map(|n| {
            let key = json!({ "type": "one-off", "expires_in": 604_800, "auto_groups": [group(n)], "enrolled": true });
            (machine(n), key)
        });
        let policies = (0..count).map(|n| {
            let policy = json!({ "description": reach(n), "sources": [group(n)], "destinations": [group((n + 1) % count)],
                                 "bidirectional": n % 2 == 0, "protocol": "tcp", "ports": [22, 443] });
            (self::policy(n), policy)
        });
        let routes = (0..self.peers / 50).map(|n| {
            let route = json!({ "network": network(n), "peer_groups": [group(n % count)], "groups": ["All"] });
            (self::route(n), route)
        });
        let nameservers = (0..20).map(|n| {
            let group = json!({ "nameservers": [{ "ip": "10.20.0.53" }], "groups": ["All"], "domains": [format!("d{n}.example")] });
            (format!("ns-{n}"), group)
        });
        json!({ "groups": groups.collect::<Map<_, _>>(), "setup_keys": keys.collect::<Map<_, _>>(),
                "policies": policies.collect::<Map<_, _>>(), "routes": routes.collect::<Map<_, _>>(),
                "dns": { "nameserver_groups": nameservers.collect::<Map<_, _>>() } })
    }
}

fn machine(n: usize) -> String {
    format!("machine-{n:06}")
}

fn group(n: usize) -> String {
    format!("group-{n:06}")
}

fn policy(n: usize) -> String {
    format!("policy-{n:06}")
}

fn route(n: usize) -> String {
    format!("route-{n:06}")
}

fn reach(n: usize) -> String {
    format!("Reach number {n}")
}

fn network(n: usize) -> String {
    format!("10.{}.{}.0/24", n >> 8 & 255, n & 255)
}

fn time_of(second: i64) -> String {
    let time = Timestamp::from_second(second).expect("a second of this century");
    time.to_string()
}

/// An id as NetBird makes them: the second, five bytes that are always the same, and a number, in base32hex.
fn id(second: i64, number: usize) -> String {
    let bits = (second as u128) << 64 | 0x01_0203_0405 << 24 | number as u128;
    let digit = |at: u32| char::from_digit(((bits << 4) >> (95 - 5 * at) & 31) as u32, 32);
    (0..20)
        .map(|at| digit(at).expect("a digit of base32hex"))
        .collect()
}
