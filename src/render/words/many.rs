//! The sentences of many notices of one cause.

use crate::code::Code as C;

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
        C::RouteForAll => "{} new routes without \"groups\" go to every peer (All)",
        C::BlankEnd => "{} names begin or end with a blank",
        C::CaseTwin => "{} names differ only by case from others",
        C::KeyOfMany => "{} members are setup keys for many peers, which name no peer",
        C::OddMember => "{} members do not look like names of peers",
        C::KeyWithoutLimit => "{} keys have no usage_limit: each will enroll any number of peers",
        C::ShortLife => "{} keys live for less than an hour: expires_in counts seconds",
        C::IdleEnrolled => "on {} keys for many peers \"enrolled\" has no effect",
        C::DnsLabel => "{} names of setup keys are cut or taken as DNS labels",
        C::ReissueDone => "{} enrolled keys have a reissue_after that has done its work",
        C::TakesOver => "{} entries live in NetBird already: the file takes them over",
        C::Namesake => "{} entries have namesakes in NetBird that are not this file's: left alone",
        C::RenamedAlready => "{} entries are renamed already: their renamed_from can be taken out",
        C::ReissueLater => {
            "{} setup keys have a reissue_after that lies in the future: nothing until then"
        }
        C::OlderKey => {
            "{} setup keys were used, and another valid key of the name still lives in NetBird"
        }
        C::KeyByName => {
            "{} setup keys are taken for this file's by their names alone: no git history says when the file \
             declared them"
        }
        C::KeyUntold => {
            "{} setup keys were never changed since they were made, so they may be such that nobody holds the \
             secret of; without git history that cannot be told"
        }
        C::NoCopy => {
            "{} setup keys that nobody used yet have no sealed copy in the repository; where the sealed file is \
             lost, reissue_after makes a new key"
        }
        C::ExpiresSoon => "{} setup keys expire within a day and are not used yet",
        C::DeadKey => "{} setup keys cannot be used any more; remake them with reissue_after",
        C::WaitsForApproval => {
            "{} peers wait for approval in NetBird: until then they reach nobody"
        }
        C::MemberUnclear => {
            "lists {} names of which nobody can tell whose they are: nobody is added"
        }
        C::MemberGone => "lists {} names whose keys were used, but their peers are gone",
        C::MemberByName => "takes {} peers by their names: their keys are marked enrolled and gone",
        C::MemberAbsent => "lists {} names that no peer bears",
        C::MemberTooYoung => {
            "lists {} names whose peers are younger than the commit that listed them, so they are not added; \
             list them again in a new commit if they are meant"
        }
        C::MemberUnproved => {
            "lists {} names that prove nothing without git history, so their peers are not added"
        }
        C::WasKey => {
            "lists {} names which were setup keys until this change: they mean the peers of those names now, and keep them"
        }
        C::RecipientsChanged => {
            "{} setup keys have other recipients than before; the keys that live stay sealed as they are: \
             reissue_after makes new ones"
        }
        _ => return None,
    };
    Some(sentence)
}
