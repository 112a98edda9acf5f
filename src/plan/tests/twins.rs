//! A group of an identity provider that has the name of one that the API made.

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use crate::model::{Address, Kind};
use crate::testing::{
    Case, LIFE, MADE, group, groups, id, id_at, key, key_at, over, policy, table, time, used_at,
    zone,
};

/// The group that the identity provider made at the first login of a user.
fn issued(name: &str) -> Value {
    let id = id_at(Kind::Group, name, MADE + 60);
    over(group(name, &[]), json!({ "id": id, "issued": "jwt" }))
}

#[test]
fn the_one_that_the_api_made_is_meant() {
    let file = json!({ "groups": { "ops": {} }, "policies": { "p": { "sources": ["ops"], "destinations": ["ops"] } } });
    let live = |policy: Value| json!({ "groups": [group("ops", &[]), issued("ops"), group("keep", &[])], "policies": [policy] });
    let ours = policy("p", &["ops"], &["ops"]);
    let mut theirs = ours.clone();
    theirs["rules"][0]["sources"] = json!([{ "id": issued("ops")["id"], "name": "ops" }]);
    let removed = json!({ "groups": { "keep": {} }, "policies": {} });
    let history = [(MADE, file.clone()), (MADE + 7200, removed.clone())];
    let renamed = json!({ "groups": { "operators": { "renamed_from": "ops" } } });
    let rows = [
        (
            "agreement",
            Case::new(file.clone(), live(ours.clone())).outcome(),
        ),
        (
            "the policy names the other one",
            Case::new(file.clone(), live(theirs)).outcome(),
        ),
        (
            "both entries went",
            Case::new(removed.clone(), live(ours.clone()))
                .history(&history)
                .outcome(),
        ),
        (
            "--prune all",
            Case::new(removed.clone(), live(ours.clone()))
                .prune_all()
                .outcome(),
        ),
        (
            "renamed",
            Case::new(renamed, live(ours))
                .history(&[(MADE, file)])
                .outcome(),
        ),
        (
            "only theirs",
            Case::new(
                json!({ "groups": { "ops": {} } }),
                json!({ "groups": [issued("ops")] }),
            )
            .outcome(),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
agreement
    unmanaged: group keep
    unmanaged: group ops (issued by jwt, daojnf0li0f47kodblk0)
    note: group "ops" exists twice in NetBird. This file manages the group that the API created, and does not change the group daojnf0li0f47kodblk0, which is issued by jwt.
the policy names the other one
    update policy p
        sources ["ops (issued by jwt, daojnf0li0f47kodblk0)"] → ["ops"]
    unmanaged: group keep
    unmanaged: group ops (issued by jwt, daojnf0li0f47kodblk0)
    note: group "ops" exists twice in NetBird. This file manages the group that the API created, and does not change the group daojnf0li0f47kodblk0, which is issued by jwt.
both entries went
    delete policy p: it is no longer in the file
    delete group ops: it is no longer in the file
    adopts group keep as Adopted
    unmanaged: group ops (issued by jwt, daojnf0li0f47kodblk0)
--prune all
    delete policy p: it is not in the file (--prune all)
    delete group ops: it is not in the file (--prune all)
    adopts group keep as Adopted
    unmanaged: group ops (issued by jwt, daojnf0li0f47kodblk0)
renamed
    update group operators
        name "ops" → "operators"
    unmanaged: group keep
    unmanaged: group ops
    note: section "policies" is removed from the file by this change, so nothing in it is managed any more. 1 policy stays in NetBird as before: "p". To manage it again, restore the section. To delete those that this tool created, restore the section empty.
only theirs
    nothing

"#]].raw());
}

/// They end no plan: nobody here can rename them.
#[test]
fn two_groups_of_identity_providers_with_one_name() {
    let scim = || over(group("ops", &[]), json!({ "issued": "integration" }));
    let live = |policies: Value| {
        let keys = json!([key("k", &["ops"])]);
        json!({ "groups": [scim(), issued("ops"), group("keep", &[])], "policies": policies, "setup_keys": keys })
    };
    let p = |changes: Value| {
        over(
            json!({ "sources": ["ops"], "destinations": ["All"] }),
            changes,
        )
    };
    let same = json!([policy("p", &["ops"], &["All"])]);
    let k = |groups: Value| json!({ "k": { "type": "one-off", "expires_in": LIFE, "auto_groups": groups } });
    let of = |file: Value, live: Value| {
        let ids = [id(Kind::SetupKey, "k")];
        let case = Case::new(file, live).inventory(json!({ "created": { "setup_keys/k": ids } }));
        case.outcome()
    };
    let policies = |p: Value| json!({ "groups": { "keep": {} }, "policies": { "p": p } });
    let settings =
        |groups: Value| json!({ "dns": { "settings": { "disabled_management_groups": groups } } });
    let with_settings = || {
        let groups = groups(&["ops"]);
        over(
            live(json!([])),
            json!({ "dns_settings": { "disabled_management_groups": groups } }),
        )
    };
    let rows = [
        (
            "nothing refers to them",
            of(json!({ "groups": { "keep": {} } }), live(same.clone())),
        ),
        (
            "a policy that is as it should be",
            of(policies(p(json!({}))), live(same.clone())),
        ),
        (
            "a policy that changes",
            of(
                policies(p(json!({ "protocol": "icmp" }))),
                live(same.clone()),
            ),
        ),
        ("a policy that somebody renamed", {
            let renamed = over(policy("p", &["ops"], &["All"]), json!({ "name": "x" }));
            let created = json!({ "created": { "policies/p": [id(Kind::Policy, "p")] } });
            let case = Case::new(policies(p(json!({}))), live(json!([renamed])));
            case.inventory(created).outcome()
        }),
        ("a policy that --replace names", {
            let mut case = Case::new(policies(p(json!({}))), live(same.clone()));
            case.options.replace = [Address::new(Kind::Policy, "p")].into();
            case.inventory(json!({})).outcome()
        }),
        (
            "a new policy, and one of others",
            of(
                json!({ "policies": { "p": p(json!({})), "q": { "sources": ["All"], "destinations": ["All"] } } }),
                live(json!([])),
            ),
        ),
        (
            "settings that are as they should be",
            of(settings(json!(["ops"])), with_settings()),
        ),
        (
            "settings that change",
            of(settings(json!(["ops", "All"])), with_settings()),
        ),
        (
            "a key that is as it should be",
            of(
                json!({ "setup_keys": k(json!(["ops"])) }),
                live(same.clone()),
            ),
        ),
        (
            "such a key, which is asked for anew",
            of(
                json!({ "setup_keys": { "k": over(k(json!(["ops"]))["k"].clone(), json!({ "reissue_after": time(MADE + 9) })) } }),
                live(same.clone()),
            ),
        ),
        (
            "a key that did its work, whose groups are others in the file",
            of(
                json!({ "setup_keys": { "k": over(k(json!(["ops", "keep"]))["k"].clone(), json!({ "enrolled": true })) } }),
                {
                    let mut live = live(same.clone());
                    live["setup_keys"] = json!([over(key("k", &["ops"]), used_at(MADE))]);
                    live
                },
            ),
        ),
        (
            "entries that name a group besides that is not there, and a policy that has the name of such a key",
            of(
                json!({ "policies": { "p": p(json!({ "destinations": ["nowhere"] })),
                                      "k": { "sources": ["lost"], "destinations": ["All"] } },
                        "setup_keys": k(json!(["ops", "nowhere"])) }),
                live(same.clone()),
            ),
        ),
        (
            "a second key of an entry that changes, beside another entry and a policy of a group of its name",
            {
                let mut live = live(same.clone());
                live["setup_keys"] = json!([key("k", &["ops"]), key_at("k", &["ops"], MADE + 9)]);
                let created = live["setup_keys"].as_array().expect("keys").iter();
                let created: Vec<&Value> = created.map(|key| &key["id"]).collect();
                let created = json!({ "created": { "setup_keys/k": created } });
                let other = json!({ "l": { "type": "one-off", "expires_in": LIFE } });
                let keys = over(k(json!(["ops", "keep"])), other);
                let q = json!({ "sources": ["k"], "destinations": ["k"] });
                let file =
                    json!({ "groups": { "k": {} }, "policies": { "q": q }, "setup_keys": keys });
                Case::new(file, live).inventory(created).outcome()
            },
        ),
        (
            "a key that nobody recorded",
            Case::new(
                json!({ "setup_keys": k(json!(["ops", "keep"])) }),
                live(same.clone()),
            )
            .inventory(json!({}))
            .outcome(),
        ),
        (
            "two groups that the API made, beside one of an identity provider",
            {
                let second = id_at(Kind::Group, "ops", MADE + 9);
                let second = over(group("ops", &[]), json!({ "id": second }));
                let groups = json!([group("ops", &[]), second, issued("x")]);
                of(
                    json!({ "policies": { "p": p(json!({})) } }),
                    json!({ "groups": groups, "policies": [] }),
                )
            },
        ),
        (
            "a key that changes",
            of(
                json!({ "setup_keys": k(json!(["ops", "keep"])) }),
                live(same),
            ),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
nothing refers to them
    adopts group keep as Adopted
    unmanaged: group ops
    note: section "setup_keys" is no longer in the file, so nothing in it is managed any more. 1 setup key stays in NetBird as before: "k". To manage it again, restore the section. To delete those that this tool created, restore the section empty.
a policy that is as it should be
    adopts group keep as Adopted
    adopts policy p as Adopted
    unmanaged: group ops
    note: section "setup_keys" is no longer in the file, so nothing in it is managed any more. 1 setup key stays in NetBird as before: "k". To manage it again, restore the section. To delete those that this tool created, restore the section empty.
    note: policy "p" refers to the group "ops", but an identity provider gave this name to 2 groups (daojn00li0f47kodblk0, daojnf0li0f47kodblk0). Nothing has to be changed now, but any change of this entry will be skipped. Rename one of them in the identity provider, or refer to another group.
a policy that changes
    adopts group keep as Adopted
    skipped: policy p
    unmanaged: group ops
    note: section "setup_keys" is no longer in the file, so nothing in it is managed any more. 1 setup key stays in NetBird as before: "k". To manage it again, restore the section. To delete those that this tool created, restore the section empty.
    note: policy "p" is skipped: it refers to the group "ops", but an identity provider gave this name to 2 groups (daojn00li0f47kodblk0, daojnf0li0f47kodblk0). It is not known which group is meant. Rename one of them in the identity provider, or refer to another group.
a policy that somebody renamed
    adopts group keep as Adopted
    skipped: policy p
    unmanaged: group ops
    note: policy "p" is skipped: it refers to the group "ops", but an identity provider gave this name to 2 groups (daojn00li0f47kodblk0, daojnf0li0f47kodblk0). It is not known which group is meant. Rename one of them in the identity provider, or refer to another group.
a policy that --replace names
    adopts group keep as Adopted
    skipped: policy p
    unmanaged: group ops
    note: policy "p" is skipped: it refers to the group "ops", but an identity provider gave this name to 2 groups (daojn00li0f47kodblk0, daojnf0li0f47kodblk0). It is not known which group is meant. Rename one of them in the identity provider, or refer to another group.
a new policy, and one of others
    create policy q
    skipped: policy p
    note: section "setup_keys" is no longer in the file, so nothing in it is managed any more. 1 setup key stays in NetBird as before: "k". To manage it again, restore the section. To delete those that this tool created, restore the section empty.
    note: policy "p" is skipped: it refers to the group "ops", but an identity provider gave this name to 2 groups (daojn00li0f47kodblk0, daojnf0li0f47kodblk0). It is not known which group is meant. Rename one of them in the identity provider, or refer to another group.
settings that are as they should be
    note: section "setup_keys" is no longer in the file, so nothing in it is managed any more. 1 setup key stays in NetBird as before: "k". To manage it again, restore the section. To delete those that this tool created, restore the section empty.
    note: DNS settings refers to the group "ops", but an identity provider gave this name to 2 groups (daojn00li0f47kodblk0, daojnf0li0f47kodblk0). Nothing has to be changed now, but any change of this entry will be skipped. Rename one of them in the identity provider, or refer to another group.
settings that change
    skipped: DNS settings
    note: section "setup_keys" is no longer in the file, so nothing in it is managed any more. 1 setup key stays in NetBird as before: "k". To manage it again, restore the section. To delete those that this tool created, restore the section empty.
    note: DNS settings is skipped: it refers to the group "ops", but an identity provider gave this name to 2 groups (daojn00li0f47kodblk0, daojnf0li0f47kodblk0). It is not known which group is meant. Rename one of them in the identity provider, or refer to another group.
a key that is as it should be
    note: setup key "k" refers to the group "ops", but an identity provider gave this name to 2 groups (daojn00li0f47kodblk0, daojnf0li0f47kodblk0). Nothing has to be changed now, but any change of this entry will be skipped. Rename one of them in the identity provider, or refer to another group.
such a key, which is asked for anew
    skipped: setup key k
    note: setup key "k" is skipped: it refers to the group "ops", but an identity provider gave this name to 2 groups (daojn00li0f47kodblk0, daojnf0li0f47kodblk0). It is not known which group is meant. Rename one of them in the identity provider, or refer to another group.
a key that did its work, whose groups are others in the file
    note: setup key "k" refers to the group "ops", but an identity provider gave this name to 2 groups (daojn00li0f47kodblk0, daojnf0li0f47kodblk0). Nothing has to be changed now, but any change of this entry will be skipped. Rename one of them in the identity provider, or refer to another group.
entries that name a group besides that is not there, and a policy that has the name of such a key
    impossible: policy k refers to group "lost", which is neither declared nor in NetBird
a second key of an entry that changes, beside another entry and a policy of a group of its name
    create group k
    create setup key l
    create policy q
    skipped: setup key k
    unmanaged: group keep
    unmanaged: group ops
    unmanaged: policy p
    note: setup key "k" is skipped: it refers to the group "ops", but an identity provider gave this name to 2 groups (daojn00li0f47kodblk0, daojnf0li0f47kodblk0). It is not known which group is meant. Rename one of them in the identity provider, or refer to another group.
a key that nobody recorded
    skipped: setup key k
    note: setup key "k" is skipped: it refers to the group "ops", but an identity provider gave this name to 2 groups (daojn00li0f47kodblk0, daojnf0li0f47kodblk0). It is not known which group is meant. Rename one of them in the identity provider, or refer to another group.
    note: NetBird has another valid setup key with the name "k" (id daojn058v557f7ctlctg). This file does not manage it and does not change it. To use it for this entry, run apply --adopt setup_keys/k=daojn058v557f7ctlctg (in a job: the input adopt of the apply workflow).
two groups that the API made, beside one of an identity provider
    impossible: policy p refers to group "ops", but several groups in NetBird are called "ops": daojn00li0f47kodblk0, daojn28li0f47kodblk0 | rename or delete the others in NetBird
a key that changes
    skipped: setup key k
    note: setup key "k" is skipped: it refers to the group "ops", but an identity provider gave this name to 2 groups (daojn00li0f47kodblk0, daojnf0li0f47kodblk0). It is not known which group is meant. Rename one of them in the identity provider, or refer to another group.

"#]].raw());
}

#[test]
fn what_stands_in_a_skipped_one_or_beside_it_stays() {
    let scim = over(group("ops", &[]), json!({ "issued": "integration" }));
    let all = json!([scim, issued("ops"), group("keep", &[])]);
    let of = |was: Value, is: Value, live: Value| {
        let case = Case::new(is, over(json!({ "groups": all }), live));
        case.history(&[(MADE, was)]).outcome()
    };
    let zones = |domain: &str, group: &str, name: &str| {
        let records = json!([{ "name": name, "type": "A", "content": "10.0.0.1" }]);
        json!({ "dns": { "zones": { "z": { "domain": domain, "distribution_groups": [group], "records": records } } } })
    };
    let zone = zone("z", "x.example", &[("www.x.example", "10.0.0.1")], &["ops"]);
    let network = |name: &str| json!({ "id": id(Kind::Network, name), "name": name, "description": "", "routers": [], "resources": [] });
    let web = json!({ "id": id(Kind::NetworkResource, "web"), "name": "web", "description": "", "type": "host", "address": "10.0.0.1/32",
                      "enabled": true, "groups": groups(&["ops"]) });
    let router = json!({ "id": id(Kind::NetworkRouter, "lan"), "peer": "", "peer_groups": [id(Kind::Group, "keep")], "metric": 9999,
                         "masquerade": true, "enabled": true });
    let networks = |of: &str| {
        let entry = json!({ "resources": { "web": { "address": "10.0.0.1", "groups": ["ops"] } },
                            "routers": [{ "peer_groups": ["keep"] }] });
        json!({ "groups": { "keep": {} }, "networks": { of: entry } })
    };
    // nothing needs it
    let mut with_db = networks("lan");
    let mut db = with_db["networks"]["lan"]["resources"]["web"].clone();
    db["groups"] = json!(["keep"]);
    with_db["networks"]["lan"]["resources"]["db"] = db;
    let db = over(
        web.clone(),
        json!({ "id": id(Kind::NetworkResource, "db"), "name": "db", "groups": groups(&["keep"]) }),
    );
    let mut lan = network("lan");
    (lan["resources"], lan["routers"]) = (json!([web["id"], db["id"]]), json!([router["id"]]));
    let lists =
        json!({ "networks": [lan], "network_resources": [web, db], "network_routers": [router] });
    let rows = [
        (
            "a zone that gets another domain",
            of(
                zones("x.example", "ops", "www.x.example"),
                zones("y.example", "ops", "www.y.example"),
                json!({ "zones": [zone.clone()] }),
            ),
        ),
        (
            "two zones of which either may be meant, with --prune all",
            {
                let second = |mut zone: Value| {
                    zone["id"] = json!(id_at(Kind::DnsZone, "z", MADE + 9));
                    zone["records"][0]["id"] = json!("record");
                    zone
                };
                let both = json!({ "zones": [zone.clone(), second(zone.clone())] });
                let case = Case::new(
                    zones("y.example", "keep", "www.y.example"),
                    over(json!({ "groups": all }), both),
                );
                case.inventory(json!({})).prune_all().outcome()
            },
        ),
        (
            "a resource that moves to a new network",
            of(with_db, networks("new"), lists),
        ),
    ];
    assert_data_eq!(
        table(rows),
        str![[r#"
a zone that gets another domain
    held: DNS record www.x.example A: not deleted, because DNS zone "z" is skipped
    skipped: DNS zone z
    skipped: DNS record www.y.example A
    note: DNS zone "z" is skipped: it refers to the group "ops", but an identity provider gave this name to 2 groups (daojn00li0f47kodblk0, daojnf0li0f47kodblk0). It is not known which group is meant. Rename one of them in the identity provider, or refer to another group.
    note: DNS record "www.y.example A" is skipped: it refers to DNS zone "z", which is skipped, too
two zones of which either may be meant, with --prune all
    held: DNS record www.x.example A: not deleted, because DNS zone "z" is skipped
    held: DNS record www.x.example A: not deleted, because DNS zone "z" is skipped
    skipped: DNS zone z
    skipped: DNS record www.y.example A
    note: DNS zone "z" is skipped: several objects in NetBird fit this entry (daojn03u49pqte67h55g, daojn2bu49pqte67h55g). Run apply --adopt zones/z=ID (in a job: the input adopt of the apply workflow) with the id of the right one, or delete the others in NetBird.
    note: DNS record "www.y.example A" is skipped: it refers to DNS zone "z", which is skipped, too
a resource that moves to a new network
    create network new
    create network router of network new
    delete network resource db: it is no longer in the file
    held: network lan: not deleted, because it contains network resource "web" (daojn003tl4ojmekm900), network router of network "lan" (daojn04qvqtboips2e90), which are not deleted
    held: network router of network lan: not deleted, because network resource "web" is skipped
    skipped: network resource web
    unmanaged: group ops
    note: network resource "web" is skipped: it refers to the group "ops", but an identity provider gave this name to 2 groups (daojn00li0f47kodblk0, daojnf0li0f47kodblk0). It is not known which group is meant. Rename one of them in the identity provider, or refer to another group.

"#]]
        .raw()
    );
}
