//! People: is said of them what the file says, by an agreement where it gives rights, and is nobody made, let in or deleted?

use fakes::{Effect, Fault, How};
use serde_json::{Value, json};

use crate::run::{Bench, Job, Pull, Run, Site};

fn file(users: Value) -> Value {
    json!({ "groups": { "ops": {}, "staff": {} }, "users": users })
}

/// A bench with the groups of [`file`], and a person in staff.
fn settled() -> (Bench, String) {
    let bench = Bench::fake();
    bench.agreed(json!({ "groups": { "ops": {}, "staff": {} } }));
    let mira = bench.netbird().person("Mira@Example.org", "user", "local");
    let staff = bench.id("/groups", "staff");
    bench.netbird().give_groups(&mira, &[&staff]);
    (bench, mira)
}

fn user(bench: &Bench, id: &str) -> Value {
    let users = bench.netbird().list("/users");
    let mut users = users.as_array().unwrap().iter();
    users.find(|user| user["id"] == id).unwrap().clone()
}

/// The names of a group's members.
fn members(bench: &Bench, group: &str) -> Vec<String> {
    let group = bench.one("/groups", group);
    let peers = group["peers"].as_array().into_iter().flatten();
    peers
        .map(|peer| peer["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn another_role_wants_an_agreement_and_the_rest_does_not() {
    let (bench, mira) = settled();
    let ops = bench.id("/groups", "ops");
    bench.file(file(
        json!({ "mira@example.org": { "auto_groups": ["ops"] } }),
    ));
    bench
        .plan(&[])
        .expect(0)
        .shows("~  user")
        .shows("auto groups  staff → ops");
    bench.apply(&[]).expect(0);
    assert_eq!(user(&bench, &mira)["auto_groups"], json!([ops]));
    bench.plan(&[]).expect(0).shows("No changes");

    let wanted = json!({ "role": "admin", "auto_groups": ["ops"], "blocked": false });
    bench.file(file(json!({ "mira@example.org": wanted })));
    let text = "this plan gives user mira@example.org the role admin";
    bench.plan(&[]).expect(0).shows(text);
    bench.apply(&[]).expect(3).says(text);
    assert_eq!(user(&bench, &mira)["role"], "user");
    bench.apply(&["--max-deletes", "9"]).expect(3);
    bench.apply(&["--allow-deletes", "1"]).expect(0);
    assert_eq!(user(&bench, &mira)["role"], "admin");
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn who_is_locked_out_is_let_in_again_by_an_agreement() {
    let (bench, mira) = settled();
    bench.netbird().enroll_for(&mira, "laptop");
    bench.file(file(json!({ "mira@example.org": { "blocked": true } })));
    bench
        .plan(&[])
        .expect(0)
        .shows("is blocked by this change, with 1 machine");
    bench.apply(&[]).expect(0);
    assert_eq!(user(&bench, &mira)["is_blocked"], true);
    bench.file(file(json!({ "mira@example.org": { "blocked": false } })));
    bench
        .apply(&[])
        .expect(3)
        .says("this plan gives user mira@example.org access again");
    bench.apply(&["--allow-deletes", "1"]).expect(0);
    let after = user(&bench, &mira);
    assert_eq!(after["is_blocked"], false);
    assert_eq!(after["auto_groups"].as_array().unwrap().len(), 1);
}

#[test]
fn nobody_is_made_and_nobody_who_waits_for_approval_is_let_in() {
    let (bench, mira) = settled();
    bench.netbird().pend(&mira);
    bench.file(file(json!({
        "mira@example.org": { "auto_groups": ["ops"] },
        "noor@example.org": { "role": "auditor" }
    })));
    bench
        .plan(&[])
        .expect(0)
        .shows("the user waits for approval in NetBird")
        .shows("user \"noor@example.org\" has not logged in to NetBird yet");
    bench.server().clear_requests();
    bench.apply(&[]).expect(0);
    bench.assert_writes(&[]);
    assert_eq!(user(&bench, &mira)["pending_approval"], true);
    bench.netbird().person("noor@example.org", "user", "local");
    bench
        .apply(&[])
        .expect(3)
        .says("user noor@example.org the role auditor");
}

#[test]
fn of_two_with_one_address_the_entry_says_which() {
    let (bench, mira) = settled();
    let other = bench.netbird().person("mira@example.org", "user", "corp");
    let entry = |provider: Option<&str>| match provider {
        Some(provider) => json!({ "auto_groups": ["ops"], "identity_provider": provider }),
        None => json!({ "auto_groups": ["ops"] }),
    };
    bench.file(file(json!({ "mira@example.org": entry(None) })));
    bench
        .plan(&[])
        .expect(1)
        .says("can mean several users: those of the identity providers corp, local");
    bench.file(file(
        json!({ "mira@example.org": entry(Some("elsewhere")) }),
    ));
    bench
        .plan(&[])
        .expect(1)
        .says("does not log in through the identity provider \"elsewhere\", but through");
    bench.file(file(json!({ "mira@example.org": entry(Some("corp")) })));
    bench.apply(&[]).expect(0);
    let ops = json!([bench.id("/groups", "ops")]);
    assert_eq!(user(&bench, &other)["auto_groups"], ops);
    assert_ne!(user(&bench, &mira)["auto_groups"], ops);
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn the_owner_and_the_tokens_own_user_are_not_changed() {
    let (bench, _) = settled();
    bench.file(file(json!({ "owner@example.com": { "role": "user" } })));
    bench
        .plan(&[])
        .expect(1)
        .says("is the owner of the account, whom this program does not change");
    bench.file(file(json!({ "owner@example.com": { "blocked": false } })));
    bench.plan(&[]).expect(0).shows("No changes");
    let token = bench.netbird().person_token("admin");
    bench.file(file(json!({ "admin@example.com": { "role": "auditor" } })));
    bench
        .run_with(&["plan"], &[("NETBIRD_API_TOKEN", &token)])
        .expect(1)
        .says("is the user of the token itself");
}

#[test]
fn groups_that_netbird_does_not_take_back_are_said() {
    let (bench, mira) = settled();
    bench
        .netbird()
        .give_groups(&mira, &["no-such-group-at-all"]);
    bench.file(file(json!({ "mira@example.org": { "blocked": true } })));
    bench.plan(&[]).expect(0).shows(
        "is skipped: the user's groups in NetBird contain (deleted group no-such-group-at-all)",
    );
    bench.file(file(
        json!({ "mira@example.org": { "blocked": true, "auto_groups": [] } }),
    ));
    bench.apply(&[]).expect(0);
    assert_eq!(user(&bench, &mira)["is_blocked"], true);
}

#[test]
fn groups_of_an_identity_provider_stay_a_users() {
    let (bench, mira) = settled();
    let issued = bench.netbird().issue_group("from-idp", "jwt");
    let staff = bench.id("/groups", "staff");
    bench.netbird().give_groups(&mira, &[&issued, &staff]);
    bench.file(file(
        json!({ "mira@example.org": { "auto_groups": ["staff"] } }),
    ));
    bench.plan(&[]).expect(0).shows("No changes");
    bench.file(file(
        json!({ "mira@example.org": { "auto_groups": ["ops"] } }),
    ));
    bench.apply(&[]).expect(0);
    let groups = user(&bench, &mira)["auto_groups"].clone();
    assert!(groups.as_array().unwrap().contains(&json!(issued)));
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn a_users_machines_follow_and_the_plan_says_who_reaches_whom() {
    let (bench, mira) = settled();
    bench.netbird().enroll_for(&mira, "laptop");
    let policies = json!({ "p": { "sources": ["ops"], "destinations": ["staff"], "protocol": "tcp", "ports": [22] } });
    let mut wanted = file(json!({ "mira@example.org": { "auto_groups": ["ops", "staff"] } }));
    wanted["policies"] = policies.clone();
    bench.delete("/policies", "Default");
    bench.agreed(wanted);
    let server = bench.peer("server");
    bench.edit("/groups", "staff", json!({ "peers": [server] }));
    let mut wanted = file(json!({ "mira@example.org": { "auto_groups": ["staff"] } }));
    wanted["policies"] = policies;
    bench.file(wanted);
    bench
        .plan(&[])
        .expect(0)
        .shows("because of user \"mira@example.org\"");
    bench.apply(&[]).expect(0);
    assert_eq!(members(&bench, "ops"), Vec::<String>::new());
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn a_group_that_lists_a_machine_and_is_taken_from_its_user_is_an_error() {
    let (bench, mira) = settled();
    bench.netbird().enroll_for(&mira, "laptop");
    let mut wanted = file(json!({ "mira@example.org": { "auto_groups": ["ops"] } }));
    wanted["groups"]["staff"] = json!({ "peers": ["laptop"] });
    bench.file(wanted);
    bench
        .plan(&[])
        .expect(1)
        .says("loses the group \"staff\", so NetBird removes the user's machine");
}

#[test]
fn an_export_names_people_only_when_it_is_asked_to() {
    let (bench, mira) = settled();
    let exported = bench.run(&["export"]).expect(0);
    assert!(!exported.stdout.contains("mira"), "{}", exported.stdout);
    assert!(!exported.stderr.contains("mira"), "{}", exported.stderr);
    let exported = bench.run(&["export", "--users"]).expect(0).stdout;
    let exported: Value = serde_json::from_str(&exported).unwrap();
    assert_eq!(
        exported["users"],
        json!({ "mira@example.org": { "role": "user", "auto_groups": ["staff"] } })
    );
    bench.file(exported);
    bench.plan(&[]).expect(0).shows("No changes");
    bench.file(json!({ "groups": { "ops": {}, "staff": {} } }));
    bench.run(&["adopt", "users/mira@example.org"]).expect(0);
    let text = std::fs::read_to_string(bench.path("netbird.json")).unwrap();
    assert!(text.contains("\"mira@example.org\""), "{text}");
    bench.plan(&[]).expect(0).shows("No changes");
    assert_eq!(user(&bench, &mira)["role"], "user");
}

#[test]
fn a_group_that_a_person_has_is_held_until_the_entry_lets_go_of_it() {
    let (bench, mira) = settled();
    bench.file(json!({ "groups": { "ops": {} } }));
    bench
        .apply(&["--allow-deletes", "1"])
        .expect(0)
        .shows("user \"mira@example.org\"");
    assert_eq!(bench.names("/groups").len(), 3);
    bench.file(json!({ "groups": { "ops": {} }, "users": { "mira@example.org": { "auto_groups": ["ops"] } } }));
    bench.apply(&[]).expect(0);
    assert_eq!(bench.names("/groups").len(), 2);
    assert_eq!(
        user(&bench, &mira)["auto_groups"],
        json!([bench.id("/groups", "ops")])
    );
}

#[test]
fn a_weaker_token_writes_no_users() {
    let (bench, _) = settled();
    let token = bench.netbird().token_for("network_admin");
    bench.file(file(
        json!({ "mira@example.org": { "auto_groups": ["ops"] } }),
    ));
    bench
        .run_with(&["apply"], &[("NETBIRD_API_TOKEN", &token)])
        .expect(3)
        .says("the token's role network_admin cannot do 1 of 1 operations");
}

/// What was agreed to once is no agreement to give it again: somebody took it back in NetBird.
#[test]
fn an_agreement_of_before_gives_no_role_again() {
    let site = Site::fake();
    let netbird = site.bench.netbird();
    let mira = netbird.person("mira@example.org", "user", "local");
    let entry = |role: &str| file(json!({ "mira@example.org": { "role": role } }));
    let push = |branch: &str, file: Value| {
        let text = site.text(file);
        site.repo()
            .push(branch, "netbird.json", text.as_bytes(), branch)
    };
    let apply = || -> Run {
        let tip = site.repo().tip("main");
        site.checkout(&tip);
        site.in_job(&["apply"], &Job::push(&site, &tip))
    };
    push("main", entry("user"));
    apply().expect(0);
    push("change", entry("admin"));
    let number = site.repo().open_pr("change", "main");
    let (head, base) = (site.repo().tip("change"), site.repo().tip("main"));
    site.checkout(&head);
    let (head, base) = (head.as_str(), base.as_str());
    let job = Job::pull_request(&site, &Pull { number, head, base });
    let args = ["plan", "--comment", "--format", "json"];
    let red = site.in_job(&args, &job).expect(3);
    let line = red.json()["agreements"][0]["line"]
        .as_str()
        .unwrap()
        .to_owned();
    let comments = site.repo().comments(number);
    let comment = comments[0]["body"].as_str().unwrap();
    let gate = "the role admin\n>   - `user mira@example.org`";
    assert!(comment.contains("apply would refuse it"), "{comment}");
    assert!(
        comment.contains(gate) && comment.contains(&line),
        "{comment}"
    );
    site.repo().describe(number, &line);
    site.in_job(&["plan"], &job).expect(0);
    site.repo().merge_by(number, How::Merge);
    apply().expect(0);
    assert_eq!(user(&site.bench, &mira)["role"], "admin");
    // nobody's address is written down
    assert!(!site.inventory().to_string().contains("mira"));
    let demoted = json!({ "role": "user", "auto_groups": [], "is_blocked": false });
    netbird.call("PUT", &format!("/users/{mira}"), demoted);
    apply().expect(3).says("the role admin");
    assert_eq!(user(&site.bench, &mira)["role"], "user");
}

#[test]
fn whoever_is_blocked_while_an_apply_runs_stays_so() {
    let (bench, mira) = settled();
    let id = mira.clone();
    bench.netbird().after("POST", "/groups", move |netbird| {
        let blocked = json!({ "role": "user", "auto_groups": [], "is_blocked": true });
        netbird.call("PUT", &format!("/users/{id}"), blocked);
    });
    let mut wanted =
        file(json!({ "mira@example.org": { "blocked": false, "auto_groups": ["new"] } }));
    wanted["groups"]["new"] = json!({});
    bench.file(wanted);
    bench
        .apply(&[])
        .says_anywhere("somebody changed the role or blocked the user meanwhile");
    assert_eq!(user(&bench, &mira)["is_blocked"], true);
}

#[test]
fn a_group_of_an_identity_provider_is_not_given_back() {
    let (bench, mira) = settled();
    bench.netbird().issue_group("from-idp", "jwt");
    bench.file(file(
        json!({ "mira@example.org": { "auto_groups": ["staff", "from-idp"] } }),
    ));
    bench.plan(&[]).expect(0).shows("No changes");
    let issued = bench.id("/groups", "from-idp");
    let staff = bench.id("/groups", "staff");
    bench.netbird().give_groups(&mira, &[&staff, &issued]);
    let exported = bench.run(&["export", "--users"]).expect(0).json();
    let groups = &exported["users"]["mira@example.org"]["auto_groups"];
    assert_eq!(*groups, json!(["staff"]));
}

/// A person made in NetBird who logs in by a provider is a second user, whom nobody let in (docs/netbird-api.md, "Users").
#[test]
fn a_second_login_that_waits_for_approval_is_not_meant() {
    let (bench, mira) = settled();
    let second = bench.netbird().person("mira@example.org", "user", "corp");
    bench.netbird().pend(&second);
    bench.file(file(
        json!({ "mira@example.org": { "auto_groups": ["ops"] } }),
    ));
    bench.apply(&[]).expect(0);
    let ops = json!([bench.id("/groups", "ops")]);
    assert_eq!(user(&bench, &mira)["auto_groups"], ops);
    assert_eq!(user(&bench, &second)["pending_approval"], true);
}

#[test]
fn a_group_of_somebody_who_waits_is_held() {
    let (bench, mira) = settled();
    bench.netbird().pend(&mira);
    bench.file(
        json!({ "groups": { "ops": {} }, "users": { "mira@example.org": { "role": "auditor" } } }),
    );
    bench
        .plan(&[])
        .expect(0)
        .shows("it is still used by user \"mira@example.org\"");
}

/// The lines of two people with one address differ.
#[test]
fn an_agreement_names_a_person_and_no_address() {
    let (bench, _) = settled();
    bench.netbird().person("mira@example.org", "user", "corp");
    let line = |provider: &str| {
        bench.file(file(
            json!({ "mira@example.org": { "role": "admin", "identity_provider": provider } }),
        ));
        let plan = bench.plan(&["--format", "json"]).expect(0).json();
        plan["agreements"][0]["line"].as_str().unwrap().to_owned()
    };
    assert_ne!(line("local"), line("corp"));
}

/// A bench where mira, who has a laptop, is in staff and ops, and policy p lets ops in to the server of staff.
fn with_laptop() -> (Bench, Value) {
    let (bench, mira) = settled();
    bench.netbird().enroll_for(&mira, "laptop");
    bench.delete("/policies", "Default");
    let mut wanted = file(json!({ "mira@example.org": { "auto_groups": ["ops", "staff"] } }));
    wanted["policies"] = json!({ "p": { "sources": ["ops"], "destinations": ["staff"], "protocol": "tcp", "ports": [22] } });
    bench.agreed(wanted.clone());
    let server = bench.peer("server");
    bench.edit("/groups", "staff", json!({ "peers": [server] }));
    (bench, wanted)
}

/// What a plan says of the machines is so once it is carried out: the account is set before users change.
#[test]
fn machines_do_not_follow_where_the_same_apply_ends_that() {
    let (bench, mut wanted) = with_laptop();
    wanted["users"] = json!({ "mira@example.org": { "auto_groups": ["staff"] } });
    wanted["account"] = json!({ "settings": { "groups_propagation_enabled": false } });
    bench.file(wanted);
    let plan = bench.plan(&[]).expect(0).shows("auto groups  -ops");
    assert!(!plan.stdout.contains("Who reaches whom"), "{}", plan.stdout);
    bench.apply(&[]).expect(0);
    assert_eq!(members(&bench, "ops"), ["laptop"]);
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn all_machines_join_the_groups_of_their_users_once_these_propagate() {
    let (bench, mut wanted) = with_laptop();
    wanted["users"] = json!({ "mira@example.org": { "auto_groups": ["staff"] } });
    let propagates = |is: bool| json!({ "settings": { "groups_propagation_enabled": is } });
    wanted["account"] = propagates(true);
    bench.agreed(wanted.clone());
    wanted["account"] = propagates(false);
    bench.agreed(wanted.clone());
    wanted["users"] = json!({ "mira@example.org": { "auto_groups": ["ops", "staff"] } });
    bench.agreed(wanted.clone());
    assert_eq!(members(&bench, "ops"), Vec::<String>::new());
    // nobody has to say the users for it
    wanted["account"] = propagates(true);
    wanted.as_object_mut().unwrap().remove("users");
    bench.file(wanted);
    bench
        .plan(&[])
        .expect(0)
        .shows(r#"group "ops" (1 machine)    → group "staff" (1 machine)  tcp 22  by policy "p", because of account settings"#);
    bench.apply(&[]).expect(0);
    assert_eq!(members(&bench, "ops"), ["laptop"]);
    bench.plan(&[]).expect(0).shows("No changes");
}

/// Of an identity provider outside of NetBird no answer has a name.
#[test]
fn an_entry_cannot_name_the_provider_of_a_user_who_has_none() {
    let (bench, _) = settled();
    let mut users = bench.server().list("/users");
    for user in &mut users {
        user.as_object_mut().unwrap().remove("idp_id");
    }
    let fault = Fault::on("GET", "/users").always();
    let answer = Effect::Status(200, Value::Array(users));
    bench.netbird().fault(fault.then(answer));
    let entry =
        json!({ "mira@example.org": { "identity_provider": "local", "auto_groups": ["ops"] } });
    bench.file(file(entry));
    bench
        .plan(&[])
        .expect(1)
        .says("does not log in through the identity provider \"local\": NetBird names no provider for this user");
    bench.file(file(
        json!({ "mira@example.org": { "auto_groups": ["ops"] } }),
    ));
    bench.plan(&[]).expect(0).shows("auto groups  staff → ops");
}

#[test]
fn nobody_adopts_a_user() {
    let (bench, mira) = settled();
    let asked = format!("users/mira@example.org={mira}");
    bench
        .apply(&["--adopt", &asked])
        .expect(1)
        .says("users are never adopted")
        .says("identity_provider says which");
}
