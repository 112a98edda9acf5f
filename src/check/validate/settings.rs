//! Settings of the account and of peers that NetBird would refuse, as far as the file tells.

use crate::base::code::Code;
use crate::file::{Log, quote};
use crate::model::desired::Desired;
use crate::model::kind::{AccountSettings, EXPIRY, InFile, Peer, Resource};

/// Notes settings that NetBird would refuse: what lives may be in the way of more, which a plan tells.
pub(super) fn check(entries: &[InFile<'_>], desired: &Desired, log: &mut Log) {
    for entry in entries {
        match &entry.resource {
            Some(Resource::AccountSettings(settings)) => account(entry, settings, entries, log),
            Some(Resource::Peer(of)) => peer(entry, of, desired, log),
            _ => {}
        }
    }
}

/// The domain of machines is none of a zone, and who may expose services is said by groups (docs/netbird-api.md, "Account
/// settings").
fn account(entry: &InFile<'_>, settings: &AccountSettings, entries: &[InFile<'_>], log: &mut Log) {
    let domain = settings.dns_domain.as_ref();
    let domain = domain.filter(|domain| !domain.is_empty());
    let is_of = |zone: &&InFile<'_>| matches!(&zone.resource, Some(Resource::DnsZone(zone)) if Some(&zone.domain) == domain);
    let zone = domain.and_then(|_| entries.iter().find(is_of));
    if let Some(zone) = zone {
        let message = format!(
            "the DNS zone {} in line {} has that domain: NetBird does not take both",
            quote(zone.cursor.name()),
            zone.cursor.key_place().line
        );
        log.error(entry.cursor.place_of("dns_domain"), message)
            .coded(Code::Overlap)
            .suggest("give the machines, or the zone, another one");
    }
    let nobody = settings.peer_expose_groups.as_ref();
    let nobody = nobody.is_some_and(|groups| groups.is_empty());
    if settings.peer_expose_enabled == Some(true) && nobody {
        let message =
            "machines cannot expose services without a group of those that may: NetBird refuses it";
        log.error(entry.cursor.place_of("peer_expose_groups"), message)
            .suggest("name one, or write \"peer_expose_enabled\": false");
    }
}

/// The peer of a setup key has no person who could log in again (docs/netbird-api.md, "Peers").
fn peer(entry: &InFile<'_>, peer: &Peer, desired: &Desired, log: &mut Log) {
    if desired.setup_key(entry.cursor.name()).is_none() {
        return;
    }
    let wanted = [
        peer.login_expiration_enabled,
        peer.inactivity_expiration_enabled,
    ];
    for (field, wanted) in EXPIRY.into_iter().zip(wanted) {
        if wanted == Some(true) {
            let message = "it enrolls with a setup key, and only machines of people log in again";
            log.error(entry.cursor.place_of(field), message)
                .suggest("leave the field out");
        }
    }
}
