//! Users: people who log in, of whom an entry says settings (docs/netbird-api.md, "Users").
//!
//! No entry makes, invites, lets in or deletes anybody. A user is named by the e-mail address, in lower case.

use super::prelude::*;
use super::spec::read;

/// A user's part that we change. `None` = not ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct User {
    /// What the user may do in NetBird; of a live one `None` is a role that is not known here.
    #[serde(deserialize_with = "word::answered")]
    pub role: Option<UserRole>,
    /// Groups that the user's machines are in.
    #[serde(deserialize_with = "ids")]
    pub auto_groups: Option<BTreeSet<String>>,
    /// Whether the user is locked out.
    #[serde(rename(deserialize = "is_blocked"))]
    pub blocked: Option<bool>,
    /// The identity provider that the user comes by: in the file its name, of a live one its id.
    #[serde(rename(deserialize = "idp_id"), skip_serializing)]
    pub identity_provider: Option<String>,
    /// Which one an entry means, once that is known; of a live one nothing.
    #[serde(skip)]
    pub id: Option<Id>,
}

/// The roles of NetBird.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UserRole {
    /// Sees and changes nothing.
    User,
    /// Sees everything.
    Auditor,
    /// Changes all but machines, setup keys, users and settings.
    NetworkAdmin,
    /// Changes everything.
    Admin,
    /// Sees the bills of NetBird's cloud.
    BillingAdmin,
    /// The one user to whom the account belongs.
    Owner,
}

impl Word for UserRole {
    const WHAT: &'static str = "role";
    const WORDS: &'static [(&'static str, UserRole)] = &[
        ("user", UserRole::User),
        ("auditor", UserRole::Auditor),
        ("network_admin", UserRole::NetworkAdmin),
        ("admin", UserRole::Admin),
        ("billing_admin", UserRole::BillingAdmin),
        ("owner", UserRole::Owner),
    ];
    const REFUSED: &'static [(UserRole, &'static str)] = &[
        (
            UserRole::BillingAdmin,
            "a self-hosted NetBird takes billing_admin and then refuses such a user everything",
        ),
        (
            UserRole::Owner,
            "no file makes an owner: whoever owns the account hands it over in NetBird",
        ),
    ];
}

const TABLE: Table<User> = Table {
    what: "a user",
    fields: fields![
        /// What the user may do in NetBird: user, auditor, network_admin or admin. Somebody has to agree to another role.
        word role: Takes(Shape::Schema(ROLES), word::read::<UserRole>),
        /// Groups that the user's machines are in; never All. Those of an identity provider stay, whether they are listed or not.
        own(groups) auto_groups: names::GRANTED,
        /// Whether the user is locked out of NetBird, with the user's machines. Somebody has to agree to false.
        own blocked in "is_blocked": FLAG,
        /// The name of the identity provider, or "local" for NetBird's own, where two users have the address.
        may identity_provider: TEXT,
    ],
    refused: refused![
        ["name", "email", "renamed_from", "id"] => "a user is named by the e-mail address, which is the name of the entry",
            "the identity provider says who has which address";
        ["password", "invite", "invited"] => "nobody is made or invited by an entry", "invite the user in NetBird; the entry then says settings";
        ["pending_approval", "approved", "status"] => "nobody is let in by an entry", "approve the user in NetBird";
        ["is_service_user", "service_user", "tokens"] => "service users and tokens are not managed here",
            "they have secrets that NetBird shows once: make them in NetBird";
        ["groups"] => auto_groups;
        ["is_blocked", "block"] => blocked;
        ["idp", "idp_id", "provider"] => identity_provider;
    ],
    rules: "{}",
};

const ROLES: &str = r#"{"enum": ["user", "auditor", "network_admin", "admin"]}"#;

/// Two entries of one address, which case does not tell apart.
fn check(users: &[&InFile<'_>], log: &mut Log) {
    let mut first = BTreeMap::new();
    for one in users {
        let here = one.cursor.key_place();
        if let Some(line) = first.insert(&one.address, here.line) {
            let text = format!("the same user is in line {line} already: case makes no difference");
            log.error(here, text).coded(Code::Duplicate);
        }
    }
}

impl Spec for User {
    const KIND: Descriptor = Descriptor {
        called: ["user", "users", "user"],
        section: &["users"],
        about: "Settings of people, by e-mail address. Nobody is made or deleted. What is left out stays as it is.",
        collection: "/users",
        entries: Entries::People,
        name_field: "email",
        moves: &[("role", Moves::Role), ("blocked", Moves::Unblocked)],
        check,
        ..Descriptor::of(Reach::Nothing, Role::Admin, Referred::Never)
    };

    const TABLE: &'static Table<Self> = &TABLE;

    fn unseen(&self) -> Value {
        json!(self.identity_provider)
    }

    fn settle(self, entry: &Cursor<'_>, _: Option<&Resource>, log: &mut Log) -> Option<Self> {
        if !entry.name().contains('@') {
            let wanted = "is not an e-mail address, by which users are named";
            log.error(
                entry.key_place(),
                format!("{} {wanted}", quote(entry.name())),
            );
        }
        Some(self)
    }

    fn read(wire: Entry, groups: &Groups) -> Result<Live, serde_json::Error> {
        let mut live = read::<Self>(wire, groups)?;
        live.name = live.name.to_lowercase();
        Ok(live)
    }

    /// All three: without `is_blocked` the server lets the user in again, without the others it refuses the request.
    fn request(&self, sent: Sent) -> Result<Value, Unresolved> {
        let live = |field: &str| sent.live.map_or(Value::Null, |live| live[field].clone());
        Ok(json!({
            "role": self.role.map_or_else(|| live("role"), |role| json!(role)),
            "auto_groups": match &self.auto_groups {
                Some(groups) => sent.groups.resolve(groups)?,
                None => embedded_ids(Some(&live("auto_groups"))),
            },
            "is_blocked": self.blocked.unwrap_or(live("is_blocked") == json!(true)),
        }))
    }

    fn export(&self, mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        match self.role {
            Some(UserRole::Owner) => {
                return Err("it is the owner, who is never changed here".into());
            }
            None | Some(UserRole::BillingAdmin) => drop(fields.remove("role")),
            Some(_) => {}
        }
        fields.retain(|_, value| ![json!(false), json!([])].contains(value));
        Ok(fields)
    }
}
