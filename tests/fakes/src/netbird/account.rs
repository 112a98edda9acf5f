//! All that the server knows: one account. The kinds' own modules say what they hold and how they
//! change it.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::collection::Collection;
use super::events::Events;
use super::groups::{self, Group};
use super::ids::Ids;
use super::nameservers::NameserverGroup;
use super::networks::{Network, Resource, Router};
use super::peers::Peer;
use super::policies::{self, Policy};
use super::posture::PostureCheck;
use super::refusal::Refusal;
use super::routes::Route;
use super::settings::Settings;
use super::setup_keys::SetupKey;
use super::users::{Token, User};
use super::zones::Zone;
use crate::clock::{self, Clock};

const TOKEN_DAYS: i64 = 365;

#[derive(Clone)]
pub(super) struct Account {
    pub(super) id: String,
    created_at: Timestamp,
    pub(super) clock: Clock,
    /// Requests that take their time: method, path, seconds.
    pub(super) lasting: Vec<(String, String, i64)>,
    pub(super) ids: Ids,
    /// The person who set the account up, and who does what tests do by hand.
    pub(super) owner: String,
    pub(super) users: Collection<User>,
    pub(super) tokens: Collection<Token>,
    pub(super) groups: Collection<Group>,
    pub(super) setup_keys: Collection<SetupKey>,
    pub(super) peers: Collection<Peer>,
    pub(super) policies: Collection<Policy>,
    pub(super) posture_checks: Collection<PostureCheck>,
    pub(super) routes: Collection<Route>,
    pub(super) nameserver_groups: Collection<NameserverGroup>,
    pub(super) zones: Collection<Zone>,
    pub(super) networks: Collection<Network>,
    pub(super) resources: Collection<Resource>,
    pub(super) routers: Collection<Router>,
    pub(super) disabled_management_groups: Vec<String>,
    pub(super) settings: Settings,
    /// Where a PUT is compared with the range that the last one stored: that one; none at first.
    pub(super) stored_range: Option<Option<String>>,
    /// What the program does not manage: entries, by the path of their list.
    pub(super) unmanaged: Vec<(String, Value)>,
    pub(super) events: Events,
    /// Every plain setup key and token that was ever issued.
    pub(super) secrets: Vec<String>,
    /// Whether creations are not written one after the other, as on PostgreSQL: none sees what another one makes.
    pub(super) blind: bool,
}

impl Account {
    /// A new account: its owner, the group All and the policy Default.
    pub(super) fn new() -> Account {
        let (mut clock, mut ids) = (Clock::default(), Ids::new());
        let created_at = clock.now();
        // With a `|`, as identity providers have it: whoever puts the id into a path has to escape
        // it.
        let owner = format!("local|{}", ids.uuid());
        let all = ids.xid(created_at.as_second());
        let mut account = Account {
            id: ids.xid(created_at.as_second()),
            created_at,
            clock,
            lasting: Vec::new(),
            ids,
            owner: owner.clone(),
            users: Collection::default(),
            tokens: Collection::default(),
            groups: Collection::default(),
            setup_keys: Collection::default(),
            peers: Collection::default(),
            policies: Collection::default(),
            posture_checks: Collection::default(),
            routes: Collection::default(),
            nameserver_groups: Collection::default(),
            zones: Collection::default(),
            networks: Collection::default(),
            resources: Collection::default(),
            routers: Collection::default(),
            disabled_management_groups: Vec::new(),
            settings: Settings::new(&all),
            stored_range: None,
            unmanaged: Vec::new(),
            events: Events::default(),
            secrets: Vec::new(),
            blind: false,
        };
        account
            .users
            .insert(&owner, User::person("Owner", "owner@example.com", "owner"));
        let id = account.id.clone();
        account.record(&owner, "account.create", &id, json!({}));
        account
            .groups
            .insert(&all, Group::named(groups::ALL, "api"));
        let default = account.new_id();
        account
            .policies
            .insert(&default, policies::default_policy(&default, &all));
        account
    }

    pub(super) fn now(&mut self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn new_id(&mut self) -> String {
        let seconds = self.clock.now().as_second();
        self.ids.xid(seconds)
    }

    /// Writes an event. `meta` holds texts only.
    pub(super) fn record(&mut self, initiator: &str, code: &str, target: &str, meta: Value) {
        let now = self.clock.now();
        self.events.record(now, initiator, code, target, meta);
    }

    /// Makes a user and returns the id.
    pub(super) fn add_user(&mut self, user: User) -> String {
        let id = if user.is_service {
            self.ids.uuid()
        } else {
            format!("local|{}", self.ids.uuid())
        };
        self.users.insert(&id, user);
        id
    }

    /// Makes a token that speaks for a user, and returns it.
    pub(super) fn issue_token(&mut self, user: &str) -> String {
        let owner = self.owner.clone();
        self.add_token(user, "ci", TOKEN_DAYS, &owner).1
    }

    /// The account as `GET /accounts` shows it.
    pub(super) fn show(&self) -> Value {
        json!({
            "id": self.id,
            "domain": "",
            "domain_category": "",
            "created_at": clock::show(self.created_at),
            "created_by": self.owner,
            "onboarding": {"onboarding_flow_pending": true, "signup_form_pending": true},
            "settings": self.settings.show(),
        })
    }

    /// Sees that groups exist; `refuse` says how the kind puts it.
    pub(super) fn check_groups(
        &self,
        ids: &[String],
        refuse: impl Fn(&str) -> Refusal,
    ) -> Result<(), Refusal> {
        match ids.iter().find(|id| !self.groups.contains(id)) {
            Some(id) => Err(refuse(id)),
            None => Ok(()),
        }
    }
}
