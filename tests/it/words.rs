//! What people and programs are told: codes, folded lists, and nothing that cannot be seen.

mod failures;

use serde_json::{Value, json};

use crate::run::{Bench, Job, Pull, Site};

/// Of 110 keys without a limit one notice, in every format; the file's order; programs get all of them with their places.
#[test]
fn many_notices_of_one_cause_are_one() {
    let bench = Bench::fake();
    let keys: serde_json::Map<String, Value> = (0..110)
        .map(|n| {
            (
                format!("key-{n:03}"),
                json!({ "type": "reusable", "expires_in": 86400 }),
            )
        })
        .collect();
    bench.file(json!({ "groups": { "All ": {} }, "setup_keys": keys }));
    let json = bench
        .run(&["validate", "--format", "json"])
        .expect(1)
        .json();
    assert_eq!(json["problems"][0]["code"], "name");
    assert_eq!(json["problems"][0]["path"], "groups[\"All \"]");
    assert_eq!(json["notices"].as_array().unwrap().len(), 110);
    assert_eq!(json["notices"][0]["code"], "key_without_limit");
    assert!(json["notices"][0]["line"].as_u64() < json["notices"][109]["line"].as_u64());

    bench.file(json!({ "groups": { "a": {} }, "setup_keys": keys }));
    let run = bench.run(&["validate"]).expect(0);
    let told = "110 keys have no usage_limit: each will enroll any number of peers";
    assert_eq!(
        run.stderr.matches("usage_limit").count(),
        1,
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains(told) && run.stderr.contains("and 100 more"),
        "{}",
        run.stderr
    );
    let plan = bench.plan(&["--format", "json"]).expect(0).json();
    let said: Vec<&str> = plan["notices"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(
        said.iter()
            .filter(|text| text.contains("usage_limit"))
            .count(),
        1,
        "{said:?}"
    );
    let details = plan["notice_details"].as_array().unwrap();
    let folded = details
        .iter()
        .find(|entry| entry["code"] == "key_without_limit")
        .unwrap();
    assert_eq!(folded["count"], 110);
    assert_eq!(folded["about"][109]["path"], "setup_keys.key-109");
}

/// A value that is written out is no news; a default is.
#[test]
fn what_the_file_says_itself_is_not_told() {
    let bench = Bench::fake();
    let key = json!({ "type": "reusable", "expires_in": 0, "usage_limit": 0 });
    bench.file(json!({ "groups": {}, "setup_keys": { "fleet": key } }));
    bench.run(&["validate"]).expect(0);
    assert_eq!(bench.run(&["validate"]).stderr, "");
}

/// What cannot be seen is refused in the file, and escaped in JSON where a server has it.
#[test]
fn hidden_characters_are_escaped_in_json_and_refused_in_names() {
    let bench = Bench::fake();
    for hidden in [
        "\u{200b}",
        "\u{200d}",
        "\u{feff}",
        "\u{2060}",
        "\u{ad}",
        "\u{e0041}",
        "\u{a0}",
        "\u{2007}",
    ] {
        bench.file(json!({ "groups": { "ops": {}, format!("o{hidden}ps"): {} } }));
        let run = bench.run(&["validate", "--format", "json"]).expect(1);
        assert!(
            !run.stdout.contains(hidden) && !run.stderr.contains(hidden),
            "{hidden:?}"
        );
        run.says("a character that is invisible");
    }
    bench
        .server()
        .write("POST", "/groups", json!({ "name": "o\u{200b}ps" }));
    bench.file(json!({ "groups": { "a": {} } }));
    for format in ["json", "text", "markdown"] {
        let run = bench.plan(&["--format", format]).expect(0);
        assert!(!run.stdout.contains('\u{200b}'), "{format}: {}", run.stdout);
    }
    let json = bench.plan(&["--format", "json"]);
    assert!(json.stdout.contains("o\\u200bps"), "{}", json.stdout);
    bench
        .run(&["export"])
        .expect(0)
        .says("a character that is invisible");
}

/// Four hundred unmanaged groups are ten names and a count, in text too.
#[test]
fn long_lists_are_folded_in_text() {
    let bench = Bench::fake();
    for n in 0..40 {
        bench.server().write(
            "POST",
            "/groups",
            json!({ "name": format!("theirs-{n:02}") }),
        );
    }
    bench.file(json!({ "groups": { "ours": {} } }));
    let plan = bench.plan(&[]).expect(0);
    assert!(
        plan.stdout.contains("\"theirs-09\" and 30 more"),
        "{}",
        plan.stdout
    );
}

fn pending(more: &[(&str, Value)]) -> Value {
    let mut key = json!({ "type": "one-off", "expires_in": 604_800, "enrolled": false });
    for (field, value) in more {
        key[*field] = value.clone();
    }
    key
}

/// The whole of a reissue: asked for by review, made, used, marked by the bot. The file stays valid.
#[test]
fn a_key_that_was_made_anew_can_be_marked_enrolled() {
    let site = Site::fake();
    let key = pending(&[("reissue_after", json!("2026-01-01T00:00:00Z"))]);
    let text = site.commit(json!({ "setup_keys": { "node-1": key } }));
    site.run(&["mark-enrolled", "node-1"]).expect(0);
    assert_eq!(site.file(), text.replace("false", "true"));
    site.bench.text(&site.file());
    for command in ["validate", "plan"] {
        let run = site.run(&[command]).expect(0);
        let all = run.stdout + &run.stderr;
        assert!(all.contains("this has done its work"), "{command}: {all}");
    }
}

/// A pull request that lists a pending key in an existing group is a change to review, though nothing is written now.
#[test]
fn who_will_join_is_shown_against_the_base_branch() {
    let site = Site::fake();
    let base = json!({ "groups": { "ops": { "peers": [] }, "pilots": {} },
        "setup_keys": { "node-1": pending(&[("auto_groups", json!(["pilots"]))]) } });
    let commit = site.repo().push(
        "main",
        "netbird.json",
        format!("{base:#}\n").as_bytes(),
        "start",
    );
    site.checkout(&commit);
    site.in_job(&["apply"], &Job::push(&site, &commit))
        .expect(0);
    let plan = |change: &Value, format: &str| {
        let text = format!("{change:#}\n");
        let head = site
            .repo()
            .push("change", "netbird.json", text.as_bytes(), "change");
        site.checkout(&head);
        let pull = Pull {
            number: 1,
            head: &head,
            base: &commit,
        };
        site.in_job(
            &["plan", "--format", format],
            &Job::pull_request(&site, &pull),
        )
        .expect(0)
    };
    site.repo().push("change", "netbird.json", b"{}", "begin");
    site.repo().open_pr("change", "main");

    let mut listed = base.clone();
    listed["groups"]["ops"]["peers"] = json!(["node-1"]);
    let json = plan(&listed, "json").json();
    assert_eq!(json["operations"], json!([]));
    assert_eq!(
        json["memberships"],
        json!([{ "setup_key": "node-1", "group": "ops", "change": "joins", "groups": ["ops", "pilots"] }])
    );
    plan(&listed, "text")
        .shows("NetBird plan: nothing to do now, 1 membership after enrollment")
        .shows("\"node-1\" will join \"ops\" when it enrolls; all its groups then: \"ops\", \"pilots\"")
        .hides("No changes");
    plan(&listed, "markdown")
        .shows("### NetBird plan: nothing to do now, **1 membership after enrollment**")
        .shows("`node-1` will join `ops` when it enrolls; all its groups then: `ops`, `pilots`")
        .hides("No changes");

    // a new key's row names all groups: those that it grants and those that list it
    let mut new = listed.clone();
    new["setup_keys"]["node-2"] = pending(&[("auto_groups", json!(["pilots"]))]);
    new["groups"]["ops"]["peers"] = json!(["node-2"]);
    plan(&new, "text")
        .shows("joins ops, pilots")
        .hides("joins no group")
        .hides("node-1");
    assert_eq!(
        plan(&new, "json").json()["memberships"][0]["setup_key"],
        "node-2"
    );

    // the same file is no change
    plan(&base, "markdown").hides("not enrolled yet");
}

/// A group of an identity provider is never changed, so nobody could put a peer into it that comes later: that is said at once.
#[test]
fn a_pending_key_in_a_group_of_an_identity_provider_is_told_at_once() {
    let bench = Bench::fake();
    bench.netbird().issue_group("staff", "jwt");
    bench.netbird().issue_group("scim", "integration");
    let file = |auto: Value, peers: Value| {
        json!({ "groups": { "staff": { "peers": peers } },
                "setup_keys": { "node-1": pending(&[("auto_groups", auto)]) } })
    };
    bench.file(file(json!([]), json!(["node-1"])));
    for args in [&["plan"][..], &["apply"]] {
        bench
            .run(args)
            .expect(0)
            .shows("In the file, but no members in NetBird: \"node-1\".")
            .shows("To add a machine, name the group in \"auto_groups\" of its setup key");
    }
    // by the key the server puts the peer there itself
    bench.file(json!({ "setup_keys": { "node-1": pending(&[("auto_groups", json!(["scim"]))]) } }));
    bench.plan(&[]).expect(0);
}

/// A person's token dies with their access: each command that asks NetBird says so, once.
#[test]
fn a_persons_token_is_worth_a_word() {
    let bench = Bench::in_git();
    bench.file(json!({ "groups": { "a": {} } }));
    bench.commit(crate::run::history::second(1.0), "start");
    let token = bench.netbird().person_token("admin");
    let service = bench.server().token();
    bench.create("/groups", json!({ "name": "theirs" }));
    for args in [
        &["plan"][..],
        &["drift"],
        &["export"],
        &["adopt", "--candidates"],
        &["apply"],
    ] {
        let with = |token: &str| bench.run_with(args, &[("NETBIRD_API_TOKEN", token)]);
        let run = with(&token);
        let all = run.stdout + &run.stderr;
        assert_eq!(
            all.matches("the token belongs to a person").count(),
            1,
            "{args:?}: {all}"
        );
        let run = with(&service);
        assert!(
            !(run.stdout + &run.stderr).contains("of a person"),
            "{args:?}"
        );
    }
}

/// A member that means nobody is told with its place and with what may be meant.
#[test]
fn a_member_that_is_nobody_has_a_place_and_a_way_out() {
    let bench = Bench::fake();
    let peer = bench.peer("edge-amsterdam");
    bench.file(json!({ "groups": { "g": { "peers": ["edge-amsterdan", peer] } } }));
    let json = bench.plan(&["--format", "json"]).expect(0).json();
    let notices: Vec<&str> = json["notices"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let told = |text: &str| {
        notices
            .iter()
            .any(|notice| notice.starts_with("netbird.json:") && notice.contains(text))
    };
    assert!(told("did you mean \"edge-amsterdam\"?"), "{notices:#?}");
    // validate, which cannot ask, said of the id what it looks like: told once is enough
    assert!(!told("does not look like"), "{notices:#?}");
    assert!(
        told("write \"edge-amsterdam\", which is that peer's name"),
        "{notices:#?}"
    );
}

/// What a plan found is no news: a group that lives, a key that was made for a day.
#[test]
fn nothing_true_is_told_as_if_it_were_news() {
    let bench = Bench::fake();
    bench.create("/groups", json!({ "name": "theirs" }));
    let file = json!({ "groups": { "a": {} },
        "setup_keys": { "day": { "type": "one-off", "expires_in": 86400 }, "week": { "type": "one-off", "expires_in": 604_800 } },
        "policies": { "p": { "sources": ["a"], "destinations": ["theirs"] } } });
    bench.file(file);
    bench
        .run(&["validate"])
        .expect(0)
        .says("an apply fails if NetBird does not have it");
    bench.apply(&[]).expect(0);
    for args in [
        &["plan"][..],
        &["plan", "--format", "markdown"],
        &["plan", "--format", "json"],
    ] {
        bench
            .run(args)
            .expect(0)
            .hides("unless NetBird has it")
            .hides("within a day");
    }
    // an apply says each notice once, though it shows the plan before and the result after
    bench.create(
        "/setup-keys",
        json!({ "name": "day", "type": "reusable", "expires_in": 86400, "auto_groups": [] }),
    );
    let run = bench.apply(&["--replace", "setup_keys/week"]).expect(0);
    let all = run.stdout + &run.stderr;
    assert_eq!(
        all.matches("another valid setup key with the name \"day\"")
            .count(),
        1,
        "{all}"
    );
}

/// The label that a name makes is said where it is not the name: by validate, and by plan where a live peer has it.
#[test]
fn dns_labels_that_surprise_are_said() {
    let bench = Bench::fake();
    bench.peer("pump3");
    bench.file(
        json!({ "setup_keys": { "pump3.hall4": pending(&[]), "pump3.hall5": pending(&[]) } }),
    );
    let told = bench.run(&["validate"]).expect(0);
    told.says("the DNS label of this key's peer will be \"pump3\"")
        .says("\"pump3.hall5\" and \"pump3.hall4\" in line");
    bench
        .plan(&[])
        .expect(0)
        .shows("both make the DNS label \"pump3\"")
        .shows("gives its machine the DNS label \"pump3\", but the peer \"pump3\" has this label");
}

/// A filler is a letter to Unicode: in a path it would be no more to be seen than in a name.
#[test]
fn a_path_shows_what_is_hidden() {
    let bench = Bench::fake();
    for filler in ['\u{3164}', '\u{115f}', '\u{ffa0}'] {
        bench.file(json!({ "groups": { format!("ops{filler}"): {} } }));
        let run = bench.run(&["validate"]).expect(1);
        assert!(!run.stderr.contains(filler), "{}", run.stderr);
        run.says(&format!("groups[\"ops{}\"]", filler.escape_unicode()));
    }
}

/// In one sentence about many, each says what a reader needs: the group and what is meant, the label that results.
#[test]
fn what_is_told_of_many_names_each() {
    let bench = Bench::fake();
    let policy = json!({ "sources": ["*", "pilts", "a", "b"], "destinations": ["pilots"] });
    let keys = ["pump3.hall4", "pump3.hall5", "F2-Cam", "f2-cam", "disp.1"].map(|name| {
        (
            name.to_owned(),
            json!({ "type": "one-off", "expires_in": 604_800 }),
        )
    });
    bench.file(json!({
        "groups": { "pilots": { "peers": [] } },
        "policies": { "p": policy },
        "setup_keys": serde_json::Map::from_iter(keys),
    }));
    bench
        .run(&["validate"])
        .expect(0)
        .says("4 groups are not declared here, so they must exist in NetBird: \"*\" (the group of every peer is called \"All\") (line ")
        .says(", \"pilts\" (did you mean \"pilots\"?) (line ")
        .says(", \"a\" (line ")
        .says("4 names of setup keys are shortened as DNS labels, or another peer has the DNS label: ")
        .says("\"disp.1\" → \"disp\" (line ")
        .says("\"pump3.hall5\" → \"pump3\", as \"pump3.hall4\" (line ");
}
