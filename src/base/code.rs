//! What a problem of the file or a notice is about, as a word for programs.

use serde::Serialize;

/// The cause of a problem or a notice; in JSON its name in small letters, which stays as it is within a `format_version`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
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
    /// A setting that this server does not have, as it is anyway.
    Ignored,
    /// There is more of the kind than is told.
    LeftOut,
    /// A section that does nothing.
    IdleSection,
    /// A group that must exist in NetBird.
    UndeclaredGroup,
    /// A network resource that must exist in NetBird.
    UndeclaredResource,
    /// Something is in a list twice.
    Repeated,
    /// Ranges of ports overlap.
    PortsOverlap,
    /// A network with bits behind its prefix.
    HostBits,
    /// A name in a DNS record that is taken otherwise than it looks.
    NameOfRecord,
    /// A nameserver group that answers for everything by default.
    EveryDomain,
    /// A route that goes to everybody by default.
    RouteForAll,
    /// NetBird's SSH without ports.
    SshEveryPort,
    /// Users who may log in as anybody.
    AnyLocalUser,
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
    /// Another object bears a declared name and is not the file's.
    Namesake,
    /// An object of ours keeps the name that it has in NetBird.
    KeepsName,
    /// An entry about which nothing is done: nobody can tell which object it means.
    Skipped,
    /// A policy of NetBird's SSH that comes or goes.
    Logins,
    /// A new name looks like a live one.
    LookAlike,
    /// `--replace` of a key that is never made again.
    ReplaceIdle,
    /// `reissue_after` in the future.
    ReissueLater,
    /// A key that an earlier run of the same commit made.
    MadeEarlier,
    /// A key of the name that is not this file's.
    KeyNamesake,
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
    /// Which peer an entry means by a name that is not the peer's own.
    PeerMeant,
    /// An entry waits for the peer that it names.
    PeerAwaited,
    /// Another peer bears a listed name.
    MemberTwin,
    /// Which peer a used key's name means cannot be told.
    MemberUnclear,
    /// The peer of a used key is gone.
    MemberGone,
    /// No peer bears a listed name.
    MemberAbsent,
    /// A peer stays though its key's entry was removed.
    PeerStays,
    /// A section that the file had and has no more.
    SectionGone,
    /// An agreement to deletions.
    Agreement,
    /// The inventory, or the changes since the last apply.
    Inventory,
    /// The plan is not quite that of the merge.
    Merge,
    /// A recipient that the base branch does not have.
    NewRecipient,
    /// A key has other recipients than the one that lives was sealed for.
    RecipientsChanged,
    /// Nobody is named who could open new keys.
    NoRecipient,
    /// `--protect` names what is not there.
    ProtectsNothing,
    /// The token is that of a person.
    PersonsToken,
    /// Something is left for the next run.
    LeftForNext,
    /// Somebody changed something while an apply ran, and what became of it.
    Meanwhile,
}
