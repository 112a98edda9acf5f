//! The sentences of many notices of one cause.

use crate::base::code::Code as C;

/// Returns what is said of several notices of one cause, `{}` for their number; of notices about members it follows the group.
/// `None` where each is told.
pub(crate) fn many(code: C) -> Option<&'static str> {
    let sentence = match code {
        C::UndeclaredGroup => "{} groups are not declared here, so they must exist in NetBird",
        C::UndeclaredResource => {
            "{} network resources are not declared here, so they must exist in NetBird"
        }
        C::Repeated => "{} times something is in a list twice",
        C::PortsOverlap => "in {} places ports overlap",
        C::HostBits => "{} networks have bits behind their prefix",
        C::NameOfRecord => "in {} DNS records a name is taken otherwise than it looks",
        C::EveryDomain => "{} nameserver groups have no domains, so they answer for every domain",
        C::RouteForAll => "{} new routes without \"groups\" are distributed to every peer (All)",
        C::BlankEnd => "{} names begin or end with a blank",
        C::CaseTwin => "{} names differ only by case from others",
        C::KeyOfMany => "{} members are setup keys for many peers, which name no peer",
        C::OddMember => "{} members do not look like names of peers",
        C::KeyWithoutLimit => "{} keys have no usage_limit: each will enroll any number of peers",
        C::ShortLife => "{} keys live for less than an hour: expires_in counts seconds",
        C::IdleEnrolled => "on {} keys for many peers \"enrolled\" has no effect",
        C::DnsLabel => "{} names of setup keys are cut or taken as DNS labels",
        C::ReissueDone => "{} enrolled keys have a reissue_after that has done its work",
        C::Namesake => {
            "NetBird has other objects with the names of {} entries. This file does not manage them and does not change \
             them"
        }
        C::ReissueLater => {
            "{} setup keys have a reissue_after that lies in the future: nothing until then"
        }
        C::ExpiresSoon => "{} setup keys expire within a day and are not used yet",
        C::DeadKey => "{} setup keys cannot be used any more; remake them with reissue_after",
        C::WaitsForApproval => {
            "{} peers wait for approval in NetBird: until then they reach nobody"
        }
        C::MemberUnclear => {
            "lists {} names, and nobody can tell which machines they mean: nobody is added"
        }
        C::MemberGone => "lists {} names whose keys were used, but their peers are gone",
        C::MemberAbsent => "lists {} names that no peer has",
        C::RecipientsChanged => {
            "{} setup keys have other recipients than before; the keys that live stay sealed as they are: \
             reissue_after makes new ones"
        }
        _ => return None,
    };
    Some(sentence)
}
