//! The server of a bench: the fake, or a real one, where all names get a prefix and leave with the bench.

use std::process::Command;

use fakes::{NetBird, Request, Response, client, http};
use serde_json::{Map, Value, json};

use super::id;

/// A fake or a real server.
pub(crate) enum Server {
    Fake(NetBird),
    Real(Real),
}

/// A real server, of which a bench touches only what has its prefix.
pub(crate) struct Real {
    url: String,
    token: String,
    /// The token of a person, who does by hand what the bench does by hand, where there is one.
    person: Option<String>,
    /// The command that enrolls a machine, where there is one.
    enroll: Option<String>,
    prefix: String,
    /// What stands between the program and the server, where requests are to be counted and shown.
    proxy: Option<http::Server>,
}

/// Lists in the order in which their objects can be deleted.
const LISTS: [&str; 10] = [
    "/users",
    "/policies",
    "/routes",
    "/dns/nameservers",
    "/dns/zones",
    "/setup-keys",
    "/networks",
    "/peers",
    "/groups",
    "/posture-checks",
];

impl Server {
    pub(crate) fn fake() -> Server {
        Server::Fake(NetBird::start())
    }

    /// The real server that the environment names, where it says that it may be used.
    pub(crate) fn real() -> Option<Server> {
        let variable = |name: &str| {
            std::env::var(name).unwrap_or_else(|_| {
                panic!("NETBIRD_GITOPS_TEST_REAL is set, so {name} must be too")
            })
        };
        if std::env::var("NETBIRD_GITOPS_TEST_REAL").as_deref() != Ok("1") {
            return None;
        }
        let given = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        let identity = age::x25519::Identity::generate().to_public().to_string();
        Some(Server::Real(Real {
            url: without_api(&variable("NETBIRD_API_URL")),
            token: variable("NETBIRD_API_TOKEN"),
            person: given("NETBIRD_GITOPS_TEST_PERSON"),
            enroll: given("NETBIRD_GITOPS_TEST_ENROLL"),
            // the only source of chance at hand
            prefix: format!("it-{}-", &identity[10..16]),
            proxy: None,
        }))
    }

    /// The same, where machines can be enrolled there. Whoever needs that is skipped without: it runs on the fake.
    pub(crate) fn real_that_enrolls() -> Option<Server> {
        Server::real().filter(|server| match server {
            Server::Real(real) => real.enroll.is_some(),
            Server::Fake(_) => true,
        })
    }

    /// The same, where a person has a token, so that NetBird knows what is done by hand.
    pub(crate) fn real_with_person() -> Option<Server> {
        Server::real_that_enrolls().filter(|server| match server {
            Server::Real(real) => real.person.is_some(),
            Server::Fake(_) => true,
        })
    }

    /// The same, where `NETBIRD_GITOPS_TEST_ACCOUNT=1` says that all that is in the account may be deleted: names get no prefix,
    /// and what the program asks for passes a proxy.
    pub(crate) fn real_account() -> Option<Server> {
        if std::env::var("NETBIRD_GITOPS_TEST_ACCOUNT").as_deref() != Ok("1") {
            return None;
        }
        let Some(Server::Real(mut real)) = Server::real_with_person() else {
            panic!(
                "NETBIRD_GITOPS_TEST_ACCOUNT is set, so the variables of the server, a person and enrolling must be too"
            )
        };
        real.prefix.clear();
        real.proxy = Some(proxy(&real.url));
        let server = Server::Real(real);
        let nothing = json!({ "disabled_management_groups": [] });
        server.write("PUT", "/dns/settings", nothing);
        if let Server::Real(real) = &server {
            real.clean();
        }
        Some(server)
    }

    pub(crate) fn netbird(&self) -> Option<&NetBird> {
        match self {
            Server::Fake(netbird) => Some(netbird),
            Server::Real(_) => None,
        }
    }

    /// What the program talks to, which counts and shows its requests: the fake, or the proxy of [`Server::real_account`].
    pub(crate) fn http(&self) -> &http::Server {
        match self {
            Server::Fake(netbird) => netbird.server(),
            Server::Real(real) => real.proxy.as_ref().expect("a proxy"),
        }
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Server::Fake(netbird) => netbird.url(),
            Server::Real(real) => match &real.proxy {
                Some(proxy) => proxy.url(),
                None => real.url.clone(),
            },
        }
    }

    pub(crate) fn token(&self) -> String {
        match self {
            Server::Fake(netbird) => netbird.token(),
            Server::Real(real) => real.token.clone(),
        }
    }

    fn prefix(&self) -> &str {
        match self {
            Server::Fake(_) => "",
            Server::Real(real) => &real.prefix,
        }
    }

    pub(crate) fn clear_requests(&self) {
        if let Server::Fake(netbird) = self {
            netbird.clear_requests();
        }
    }

    /// What an object of the bench is called on the server.
    pub(crate) fn name(&self, name: &str) -> String {
        match name {
            "All" => name.to_owned(),
            _ => format!("{}{name}", self.prefix()),
        }
    }

    /// What the bench calls an object of the server, if it is the bench's own.
    pub(crate) fn own_name(&self, entry: &Value) -> Option<String> {
        let name = entry.get("name").or(entry.get("network_id"))?.as_str()?;
        match name {
            "All" => Some(name.to_owned()),
            _ => name.strip_prefix(self.prefix()).map(str::to_owned),
        }
    }

    /// Puts the prefix before every name of a file.
    pub(crate) fn prefixed(&self, mut file: Value) -> Value {
        let entries = |section: &mut Value| {
            let Value::Object(entries) = section else {
                return;
            };
            for (name, mut entry) in std::mem::take(entries) {
                if name == "$comment" {
                    entries.insert(name, entry);
                    continue;
                }
                // an entry of routes can be a list of them
                if let Value::Array(objects) = &mut entry {
                    objects
                        .iter_mut()
                        .for_each(|object| self.prefix_names(object));
                } else {
                    self.prefix_names(&mut entry);
                }
                entries.insert(self.name(&name), entry);
            }
        };
        if !self.prefix().is_empty() {
            let networks = file.get_mut("networks").and_then(Value::as_object_mut);
            for network in networks.into_iter().flat_map(|all| all.values_mut()) {
                network.get_mut("resources").map(entries);
                for router in network
                    .get_mut("routers")
                    .and_then(Value::as_array_mut)
                    .into_iter()
                    .flatten()
                {
                    for field in ["peer_groups", "peer"] {
                        match router.get_mut(field) {
                            Some(Value::Array(names)) => names.iter_mut().for_each(|name| {
                                *name = json!(self.name(name.as_str().expect("a name")))
                            }),
                            Some(name) => *name = json!(self.name(name.as_str().expect("a name"))),
                            None => {}
                        }
                    }
                }
            }
            file.get_mut("networks").map(entries);
            let sections = [
                "groups",
                "setup_keys",
                "peers",
                "posture_checks",
                "policies",
                "routes",
            ];
            for section in sections {
                file.get_mut(section).map(entries);
            }
            file.pointer_mut("/dns/nameserver_groups").map(entries);
            file.pointer_mut("/dns/zones").map(entries);
            // there is one of them in the account, and other tests run beside this one
            if let Some(Value::Object(dns)) = file.get_mut("dns") {
                dns.remove("settings");
            }
            // so are people
            if let Some(file) = file.as_object_mut() {
                file.remove("account");
                file.remove("users");
            }
        }
        file
    }

    /// Puts the prefix before every name in the fields of an entry.
    fn prefix_names(&self, entry: &mut Value) {
        for field in [
            "peers",
            "auto_groups",
            "sources",
            "destinations",
            "peer_groups",
            "groups",
            "access_control_groups",
            "distribution_groups",
            "source_posture_checks",
        ] {
            let names = entry.get_mut(field).and_then(Value::as_array_mut);
            for name in names.into_iter().flatten() {
                *name = json!(self.name(name.as_str().expect("a name")));
            }
        }
        for place in [
            "/peer",
            "/destination_resource",
            "/destination_resource/peer",
            "/source_resource/peer",
        ] {
            if let Some(Value::String(name)) = entry.pointer_mut(place) {
                *name = self.name(name);
            }
        }
        if let Some(Value::Object(users)) = entry.get_mut("authorized_groups") {
            let named = std::mem::take(users).into_iter();
            *users = named
                .map(|(group, logins)| (self.name(&group), logins))
                .collect();
        }
        for (list, place) in [("records", "/content/peer"), ("nameservers", "/peer")] {
            for one in entry[list].as_array_mut().into_iter().flatten() {
                if let Some(Value::String(name)) = one.pointer_mut(place) {
                    *name = self.name(name);
                }
            }
        }
        if let Some(domain) = entry["domain"].as_str().map(str::to_owned) {
            for record in entry["records"].as_array_mut().into_iter().flatten() {
                for field in ["name", "content"] {
                    if let Value::String(text) = &mut record[field] {
                        *text = text.replace(&domain, &self.name(&domain));
                    }
                }
            }
            entry["domain"] = json!(self.name(&domain));
        }
        entry
            .as_object_mut()
            .expect("an entry")
            .retain(|_, value| !value.is_null());
    }

    pub(crate) fn unprefixed(&self, text: &str) -> String {
        match self.prefix() {
            "" => text.to_owned(),
            prefix => text.replace(prefix, ""),
        }
    }

    pub(crate) fn list(&self, path: &str) -> Vec<Value> {
        match self.call("GET", path, Value::Null) {
            (200, Value::Array(entries)) => entries,
            (200, Value::Null) => Vec::new(),
            // a real server's list while another test makes or deletes a policy; the next look is a later one
            (500, answer) if answer["message"] == "no rules in the policy" => self.list(path),
            (status, answer) => panic!("GET {path}: {status} {answer}"),
        }
    }

    /// Makes a call by hand: as the owner on the fake, on a real server as the person, or by the program's own token.
    pub(crate) fn call(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        match self {
            Server::Fake(netbird) => netbird.call(method, path, body),
            Server::Real(real) => {
                let url = format!("{}/api{path}", real.url);
                let body = (!body.is_null()).then_some(&body);
                let token = real.person.as_ref().unwrap_or(&real.token);
                let answer = client::send(method, &url, Some(token), body).unwrap();
                (answer.status, answer.json)
            }
        }
    }

    /// Writes by hand, which must succeed. Names in the body get the prefix.
    #[track_caller]
    pub(crate) fn write(&self, method: &str, path: &str, mut body: Value) -> Value {
        // the name of a record ends in the domain of its zone, which the test read
        let fields = match path.contains("/records") {
            true => &[][..],
            false => &["name", "network_id", "domain"],
        };
        for field in fields {
            if let Some(name) = body.get_mut(*field)
                && !name.as_str().is_some_and(|name| {
                    name.starts_with(self.prefix()) && !self.prefix().is_empty()
                })
            {
                *name = json!(self.name(name.as_str().expect("a name")));
            }
        }
        let (status, answer) = self.call(method, path, body.clone());
        assert_eq!(status, 200, "{method} {path} {body}: {answer}");
        answer
    }

    /// Changes fields of a live object: its answer becomes a request, as a careful person's script would do it.
    #[track_caller]
    pub(crate) fn edit(&self, path: &str, live: &Value, changes: Value) {
        let body = Server::edited(path, live, changes);
        self.write("PUT", &format!("{path}/{}", id(live)), body);
    }

    /// The request of such a change.
    pub(crate) fn edited(path: &str, live: &Value, changes: Value) -> Value {
        let mut body = live.as_object().expect("an object").clone();
        let ids = |list: &Value| -> Value {
            let entries = list.as_array().map(Vec::as_slice).unwrap_or_default();
            entries.iter().map(|entry| entry["id"].clone()).collect()
        };
        match path {
            "/groups" => {
                body["peers"] = ids(&live["peers"]);
                if body["resources"].is_null() {
                    body["resources"] = json!([]);
                }
            }
            "/policies" => {
                for rule in body["rules"].as_array_mut().expect("rules") {
                    for side in ["sources", "destinations"] {
                        if rule[side].is_array() {
                            rule[side] = ids(&rule[side]);
                        }
                    }
                    for field in changes["rule"].as_object().into_iter().flatten() {
                        rule[field.0] = field.1.clone();
                    }
                }
            }
            "/routes" => {
                let by_domain = body["network_type"] == "Domain";
                body.remove(if by_domain { "network" } else { "domains" });
                let by_peer = body["peer"] != "";
                body.remove(if by_peer { "peer_groups" } else { "peer" });
            }
            _ if path.ends_with("/resources") => body["groups"] = ids(&live["groups"]),
            _ => {}
        }
        let changes: Map<String, Value> = changes.as_object().expect("changes").clone();
        body.extend(changes.into_iter().filter(|(field, _)| field != "rule"));
        Value::Object(body)
    }

    /// Registers a machine with a key, as a client does; returns the peer's id, or what the client is told.
    pub(crate) fn enroll(&self, key: &str, hostname: &str) -> Result<String, String> {
        match self {
            Server::Fake(netbird) => netbird.enroll(key, hostname),
            Server::Real(real) => real.enroll(key, &self.name(hostname)),
        }
    }
}

impl Real {
    fn enroll(&self, key: &str, hostname: &str) -> Result<String, String> {
        let command = self.enroll.as_deref();
        let command = command.expect("a test that enrolls begins with scenario_that_enrolls()");
        let words = command.split_whitespace().map(|word| {
            let word = word.replace("{url}", &self.url).replace("{key}", key);
            word.replace("{hostname}", hostname)
        });
        let words: Vec<String> = words.collect();
        let output = Command::new(&words[0]).args(&words[1..]).output().unwrap();
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let answer = client::send(
            "GET",
            &format!("{}/api/peers", self.url),
            Some(&self.token),
            None,
        )
        .unwrap();
        let peers = answer.json.as_array().cloned().unwrap_or_default();
        let newest = peers
            .iter()
            .filter(|peer| peer["hostname"] == hostname)
            .map(id)
            .max();
        Ok(newest.expect("the peer that enrolled"))
    }

    /// Deletes what has the prefix; whatever happened in the test.
    fn clean(&self) {
        let send = |method: &str, path: &str| {
            client::send(
                method,
                &format!("{}/api{path}", self.url),
                Some(&self.token),
                None,
            )
        };
        for list in LISTS {
            let Ok(answer) = send("GET", list) else {
                continue;
            };
            for entry in answer.json.as_array().into_iter().flatten() {
                let named = |field: &str| {
                    entry[field]
                        .as_str()
                        .is_some_and(|name| name.starts_with(&self.prefix))
                };
                if named("name") || named("network_id") || named("hostname") {
                    let _ = send("DELETE", &format!("{list}/{}", id(entry)));
                }
            }
        }
    }
}

/// A server that hands each request on to another one.
fn proxy(url: &str) -> http::Server {
    let api = format!("{url}/api");
    let hand_on = move |request: &Request| {
        let url = format!("{api}{}?{}", request.path, request.query);
        let (_, token) = request.header("authorization")?.split_once(' ')?;
        let body = request.body.as_ref();
        let answer = client::send(&request.method, &url, Some(token), body).ok()?;
        Some(Response::new(
            answer.status,
            "application/json",
            answer.text,
        ))
    };
    http::Server::start(0, "/api", Response::default(), Box::new(hand_on))
        .expect("a free port on the loopback interface")
}

/// The program takes the URL with `/api` and without; the tests add it themselves.
fn without_api(url: &str) -> String {
    let url = url.trim_end_matches('/');
    url.strip_suffix("/api").unwrap_or(url).to_owned()
}

#[test]
fn urls_with_and_without_api() {
    for url in [
        "http://h:1",
        "http://h:1/",
        "http://h:1/api",
        "http://h:1/api/",
    ] {
        assert_eq!(without_api(url), "http://h:1");
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        self.clean();
    }
}
