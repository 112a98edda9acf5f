//! What kinds say of themselves, that other rooms go by.

use snapbox::{assert_data_eq, str};

use crate::model::Kind;

/// `access`, `plan::gates`, `plan` and `account::fetch` have no lists of kinds: a new kind shows its answers here.
#[test]
fn every_kind_says_its_reach_its_role_its_referrers_and_its_first_version() {
    let line = |kind: Kind| {
        let said = kind.descriptor();
        let since = said.since.unwrap_or("any");
        format!(
            "{}: {:?}, {:?}, {:?}, {since}\n",
            kind.word(),
            said.reach,
            said.least_role,
            said.referred
        )
    };
    assert_data_eq!(
        Kind::ALL.map(line).concat(),
        str![[r#"
group: Group, NetworkAdmin, ByName(Group), any
setup_key: SetupKey, Admin, Never, any
peer: Peer, Admin, ById, any
user: Nothing, Admin, Never, any
network: Network, NetworkAdmin, Never, 0.35
network_resource: Resource, NetworkAdmin, ByName(Resource), 0.46
network_router: Router, NetworkAdmin, Never, 0.46
posture_check: Nothing, NetworkAdmin, ByName(Check), any
policy: Policy, NetworkAdmin, Never, any
route: Route, NetworkAdmin, Never, any
account_settings: Nothing, Admin, Never, any
nameserver_group: Nothing, NetworkAdmin, Never, any
dns_settings: Nothing, NetworkAdmin, Never, 0.12
dns_zone: Nothing, NetworkAdmin, Never, 0.63
dns_record: Nothing, NetworkAdmin, Never, 0.63

"#]]
    );
}
