//! What a problem of the file or a notice is about: a word for programs, and how many of one cause are told in one sentence.

/// The cause of a problem or a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    // problems of the file
    /// It is no JSON.
    Syntax,
    /// A name stands twice in an object.
    Duplicate,
    /// A field that there is not.
    UnknownField,
    /// A field that has to be there.
    MissingField,
    /// A value of another type.
    WrongType,
    /// A value that cannot be.
    Value,
    /// A name that cannot be, or that looks like another one.
    Name,
    /// A group that cannot be meant.
    Reference,
    /// Members that contradict a key.
    Members,
    /// Two entries that are in each other's way.
    Overlap,
    /// A rename that cannot be.
    Rename,
    /// The file manages nothing, or wants nothing.
    NothingManaged,

    // notices of the file
    /// A section that does nothing.
    IdleSection,
    /// A group that must exist in NetBird.
    UndeclaredGroup,
    /// Something is in a list twice.
    Repeated,
    /// Ranges of ports overlap.
    PortsOverlap,
    /// A network with bits behind its prefix.
    HostBits,
    /// A nameserver group that answers for everything by default.
    EveryDomain,
    /// A route that goes to everybody by default.
    RouteForAll,
    /// A name in a list with a blank at its end.
    BlankEnd,
    /// Names that differ only by case.
    CaseTwin,
    /// A member that is a key of many peers.
    KeyOfMany,
    /// A member that looks like no name of a peer.
    OddMember,
    /// A reusable key without a limit by default.
    KeyWithoutLimit,
    /// A key that lives for less than an hour.
    ShortLife,
    /// `enrolled: false` where it means nothing.
    IdleEnrolled,
    /// A name that makes another DNS label than it seems, or one that is taken.
    DnsLabel,
    /// `reissue_after` that has done its work.
    ReissueDone,

    // notices of a plan
    /// What lives in NetBird is declared for the first time.
    TakesOver,
    /// Another object bears a declared name and is not the file's.
    Namesake,
    /// A policy of NetBird's SSH that comes or goes.
    Logins,
    /// `renamed_from` that has done its work.
    RenamedAlready,
    /// A new name looks like a live one.
    LookAlike,
    /// `--replace` of a key that is never made again.
    ReplaceIdle,
    /// `reissue_after` in the future.
    ReissueLater,
    /// Another valid key of the name lives.
    OlderKey,
    /// A key is taken for this file's by its name alone.
    KeyByName,
    /// A key of the name that is not provably this file's.
    KeyNamesake,
    /// An unused key of the name of which nobody can tell who made it.
    KeyUnclear,
    /// A key of which nobody can tell whether it was sealed.
    KeyUntold,
    /// An unused key has no sealed copy in the repository.
    NoCopy,
    /// Where the sealed copy of an unused key is.
    Copy,
    /// A pending key that will soon be of no use.
    ExpiresSoon,
    /// A pending key that nobody can use.
    DeadKey,
    /// A valid key of an enrolled name, not ours.
    UnusedKey,
    /// A key that was used, and nothing can be done about it.
    EnrollmentOpen,
    /// Who used a key is told by times, not by the event log.
    BoundByTime,
    /// `enrolled` was taken back, which alone means nothing.
    FlippedBack,
    /// The key was asked for anew, and the peer of its older life is there.
    ToBeReplaced,
    /// A peer that nobody let in yet.
    WaitsForApproval,
    /// Another peer bears a listed name.
    MemberTwin,
    /// Which peer a used key's name means cannot be told.
    MemberUnclear,
    /// The peer of a used key is gone.
    MemberGone,
    /// A peer is taken by its name alone.
    MemberByName,
    /// No peer bears a listed name.
    MemberAbsent,
    /// The peer is younger than the listing of its name.
    MemberTooYoung,
    /// Without history a name proves nothing.
    MemberUnproved,
    /// A peer stays though its key's entry was removed.
    PeerStays,
    /// A section that the file had and has no more.
    SectionGone,
    /// A name that groups list was a setup key before.
    WasKey,
    /// An agreement to deletions.
    Agreement,
    /// The file's history cannot be used, or not all of it.
    History,
    /// The plan is not quite that of the merge.
    Merge,
    /// A recipient that the base branch does not have.
    NewRecipient,
    /// A key has other recipients than the one that lives was sealed for.
    RecipientsChanged,
    /// Nobody is named who could open new keys.
    NoRecipient,
    /// The token is that of a person.
    PersonsToken,
    /// Something is left for the next run.
    LeftForNext,
    /// A second group of a name that something needs.
    TwinStays,
    /// Somebody changed something while an apply ran, and what became of it.
    Meanwhile,
}

impl Code {
    /// The word for programs. It stays as it is within a `format_version`.
    pub fn word(self) -> &'static str {
        self.row().0
    }

    /// What is said of several with one cause, `{}` for their number; of notices about members it follows the group. `None`
    /// where each is told.
    pub fn many(self) -> Option<&'static str> {
        self.row().1
    }

    fn row(self) -> (&'static str, Option<&'static str>) {
        use Code as C;
        match self {
            C::Syntax => ("syntax", None),
            C::Duplicate => ("duplicate", None),
            C::UnknownField => ("unknown_field", None),
            C::MissingField => ("missing_field", None),
            C::WrongType => ("wrong_type", None),
            C::Value => ("value", None),
            C::Name => ("name", None),
            C::Reference => ("reference", None),
            C::Members => ("members", None),
            C::Overlap => ("overlap", None),
            C::Rename => ("rename", None),
            C::NothingManaged => ("nothing_managed", None),
            C::IdleSection => ("idle_section", None),
            C::UndeclaredGroup => (
                "undeclared_group",
                Some("{} groups are not declared here, so they must exist in NetBird"),
            ),
            C::Repeated => ("repeated", Some("{} times something is in a list twice")),
            C::PortsOverlap => ("ports_overlap", Some("in {} places ports overlap")),
            C::HostBits => (
                "host_bits",
                Some("{} networks have bits behind their prefix"),
            ),
            C::EveryDomain => (
                "every_domain",
                Some("{} nameserver groups have no domains, so they answer for every domain"),
            ),
            C::RouteForAll => (
                "route_for_all",
                Some("{} new routes without \"groups\" go to every peer (All)"),
            ),
            C::BlankEnd => ("blank_end", Some("{} names begin or end with a blank")),
            C::CaseTwin => (
                "case_twin",
                Some("{} names differ only by case from others"),
            ),
            C::KeyOfMany => (
                "key_of_many",
                Some("{} members are setup keys for many peers, which name no peer"),
            ),
            C::OddMember => (
                "odd_member",
                Some("{} members do not look like names of peers"),
            ),
            C::KeyWithoutLimit => (
                "key_without_limit",
                Some("{} keys have no usage_limit: each will enroll any number of peers"),
            ),
            C::ShortLife => (
                "short_life",
                Some("{} keys live for less than an hour: expires_in counts seconds"),
            ),
            C::IdleEnrolled => (
                "idle_enrolled",
                Some("on {} keys for many peers \"enrolled\" has no effect"),
            ),
            C::DnsLabel => (
                "dns_label",
                Some("{} names of setup keys are cut or taken as DNS labels"),
            ),
            C::ReissueDone => (
                "reissue_done",
                Some("{} enrolled keys have a reissue_after that has done its work"),
            ),
            C::TakesOver => (
                "takes_over",
                Some("{} entries live in NetBird already: the file takes them over"),
            ),
            C::Namesake => (
                "namesake",
                Some("{} entries have namesakes in NetBird that are not this file's: left alone"),
            ),
            C::Logins => ("logins", None),
            C::RenamedAlready => (
                "renamed_already",
                Some("{} entries are renamed already: their renamed_from can be taken out"),
            ),
            C::LookAlike => ("look_alike", None),
            C::ReplaceIdle => ("replace_idle", None),
            C::ReissueLater => (
                "reissue_later",
                Some(
                    "{} setup keys have a reissue_after that lies in the future: nothing until then",
                ),
            ),
            C::OlderKey => (
                "older_key",
                Some(
                    "{} setup keys were used, and another valid key of the name still lives in NetBird",
                ),
            ),
            C::KeyByName => (
                "key_by_name",
                Some(
                    "{} setup keys are taken for this file's by their names alone: no git history says when the file \
                     declared them",
                ),
            ),
            C::KeyNamesake => ("key_namesake", None),
            C::KeyUnclear => ("key_unclear", None),
            C::KeyUntold => (
                "key_untold",
                Some(
                    "{} setup keys were never changed since they were made, so they may be such that nobody holds the \
                     secret of; without git history that cannot be told",
                ),
            ),
            C::NoCopy => (
                "no_copy",
                Some(
                    "{} setup keys that nobody used yet have no sealed copy in the repository; where the sealed file is \
                     lost, reissue_after makes a new key",
                ),
            ),
            C::Copy => ("copy", None),
            C::ExpiresSoon => (
                "expires_soon",
                Some("{} setup keys expire within a day and are not used yet"),
            ),
            C::DeadKey => (
                "dead_key",
                Some("{} setup keys cannot be used any more; remake them with reissue_after"),
            ),
            C::UnusedKey => ("unused_key", None),
            C::EnrollmentOpen => ("enrollment_open", None),
            C::BoundByTime => ("bound_by_time", None),
            C::FlippedBack => ("flipped_back", None),
            C::ToBeReplaced => ("to_be_replaced", None),
            C::WaitsForApproval => (
                "waits_for_approval",
                Some("{} peers wait for approval in NetBird: until then they reach nobody"),
            ),
            C::MemberTwin => ("member_twin", None),
            C::MemberUnclear => (
                "member_unclear",
                Some("lists {} names of which nobody can tell whose they are: nobody is added"),
            ),
            C::MemberGone => (
                "member_gone",
                Some("lists {} names whose keys were used, but their peers are gone"),
            ),
            C::MemberByName => (
                "member_by_name",
                Some("takes {} peers by their names: their keys are marked enrolled and gone"),
            ),
            C::MemberAbsent => ("member_absent", Some("lists {} names that no peer bears")),
            C::MemberTooYoung => (
                "member_too_young",
                Some(
                    "lists {} names whose peers are younger than the commit that listed them, so they are not added; \
                     list them again in a new commit if they are meant",
                ),
            ),
            C::MemberUnproved => (
                "member_unproved",
                Some(
                    "lists {} names that prove nothing without git history, so their peers are not added",
                ),
            ),
            C::PeerStays => ("peer_stays", None),
            C::SectionGone => ("section_gone", None),
            C::WasKey => (
                "was_key",
                Some(
                    "lists {} names which were setup keys until this change: they mean the peers of those names now, and keep them",
                ),
            ),
            C::Agreement => ("agreement", None),
            C::History => ("history", None),
            C::Merge => ("merge", None),
            C::NewRecipient => ("new_recipient", None),
            C::RecipientsChanged => (
                "recipients_changed",
                Some(
                    "{} setup keys have other recipients than before; the keys that live stay sealed as they are: \
                     reissue_after makes new ones",
                ),
            ),
            C::NoRecipient => ("no_recipient", None),
            C::PersonsToken => ("persons_token", None),
            C::LeftForNext => ("left_for_next", None),
            C::TwinStays => ("twin_stays", None),
            C::Meanwhile => ("meanwhile", None),
        }
    }
}
