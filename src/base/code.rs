//! What a problem of the file or a notice is about, as a word for programs, and what is said of many notices of one cause.

use serde::Serialize;

/// Makes the enum of the list, and the sentence for many of each that has one.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident $(=> $many:literal)?,)*) => {
        /// The cause of a problem or a notice; in JSON its name in small letters, which stays as it is within a `format_version`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Code {
            $($(#[$doc])* $code,)*
        }

        impl Code {
            /// Returns it with what a notice of this cause says, as it follows the object.
            pub fn says(self, text: impl Into<String>) -> Saying {
                Saying { code: self, text: text.into(), is_whole: false }
            }

            /// Returns it with what a notice of this cause says, which names its object.
            pub fn whole(self, text: impl Into<String>) -> Saying {
                Saying { is_whole: true, ..self.says(text) }
            }

            /// Returns what is said of several notices of this cause, `{}` for their number; of notices about members it
            /// follows the group. `None` where each is told.
            pub fn many(self) -> Option<&'static str> {
                match self {
                    $($(Code::$code => Some($many),)?)*
                    _ => None,
                }
            }
        }
    };
}

/// What a notice says: its cause, the sentence, and whether that names its object.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Saying {
    pub(crate) code: Code,
    pub(crate) text: String,
    pub(crate) is_whole: bool,
}

codes! {
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
    UndeclaredGroup => "{} groups are not declared here, so they must exist in NetBird",
    /// A network resource that must exist in NetBird.
    UndeclaredResource => "{} network resources are not declared here, so they must exist in NetBird",
    /// Something is in a list twice.
    Repeated => "{} times something is in a list twice",
    /// Ranges of ports overlap.
    PortsOverlap => "in {} places ports overlap",
    /// A network with bits behind its prefix.
    HostBits => "{} networks have host bits",
    /// A name in a DNS record that is taken otherwise than it looks.
    NameOfRecord => "in {} DNS records NetBird reads a name otherwise than it looks",
    /// A nameserver group that answers for everything by default.
    EveryDomain => "{} nameserver groups have no domains, so they answer for every domain",
    /// A route that goes to everybody by default.
    RouteForAll => "{} new routes without \"groups\" are distributed to every peer (All)",
    /// NetBird's SSH without ports.
    SshEveryPort,
    /// Users who may log in as anybody.
    AnyLocalUser,
    /// A name in a list with a blank at its end.
    BlankEnd => "{} names begin or end with a space",
    /// Names that differ only by case.
    CaseTwin => "{} names differ only by case from others",
    /// A member that is a key of many peers.
    KeyOfMany => "{} names are reusable or ephemeral setup keys, which name no peer",
    /// A member that looks like no name of a peer.
    OddMember => "{} members do not look like names of peers",
    /// A reusable key without a limit by default.
    KeyWithoutLimit => "{} keys have no usage_limit: each will enroll any number of peers",
    /// A key that lives for less than an hour.
    ShortLife => "{} keys expire in less than an hour: expires_in counts seconds",
    /// `enrolled: false` where it means nothing.
    IdleEnrolled => "on {} keys for many peers \"enrolled\" has no effect",
    /// A name that makes another DNS label than it seems, or one that is taken.
    DnsLabel => "{} names of setup keys are shortened as DNS labels, or another peer has the DNS label",
    /// `reissue_after` that has done its work.
    ReissueDone => "{} enrolled keys have a reissue_after that has no effect any more",

    // notices of a plan
    /// Another object has a declared name and is not the file's.
    Namesake => "NetBird has other objects with the names of {} entries. This file does not manage them and does not change \
        them",
    /// An entry refers to a name that several groups have, and nothing has to be changed of it.
    GroupUnclear => "{} entries refer to a group whose name an identity provider gave to several groups: nothing has to be changed now, \
        but any change of these entries will be skipped",
    /// A group of an identity provider lists members.
    IssuedPeers => "{} groups of an identity provider have a list \"peers\", which has no effect: delete the list",
    /// The same, where this change lists them.
    #[serde(rename = "issued_peers")]
    IssuedPeersNow => "{} groups of an identity provider get a list \"peers\" by this change, which has no effect: delete the list",
    /// An object of ours keeps the name that it has in NetBird.
    KeepsName,
    /// An entry that is skipped, since it could mean several objects.
    Skipped,
    /// A policy of NetBird's SSH that comes or goes.
    Logins,
    /// A posture check that machines fail which it does not name.
    Stricter,
    /// A new name looks like a live one.
    LookAlike,
    /// An entry waits for the user that it names.
    UserAwaited => "{} users have not logged in to NetBird yet, so their entries are skipped until then",
    /// A user is locked out by this change.
    UserBlocked,
    /// `--replace` of a key that is never made again.
    ReplaceIdle,
    /// `reissue_after` in the future.
    ReissueLater => "{} setup keys have a reissue_after in the future: no new keys are created before that time",
    /// A key that an earlier run of the same commit made.
    MadeEarlier,
    /// A key of the name that is not this file's.
    KeyNamesake,
    /// A pending key that will soon be of no use.
    ExpiresSoon => "{} setup keys expire within a day and are not used yet",
    /// A key that is in use expires at another time than the file says.
    LivesOtherwise => "{} setup keys expire at another time than expires_in says, but machines used them, so they are not \
        replaced; for new keys, set reissue_after",
    /// A pending key that nobody can use.
    DeadKey => "{} setup keys cannot be used any more: set reissue_after for new keys, or \"enrolled\": true if the machines enrolled",
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
    WaitsForApproval => "{} peers wait for approval in NetBird: until they are approved, they cannot reach any peer",
    /// Which peer an entry means by a name that is not the peer's own.
    PeerMeant,
    /// An entry waits for the peer that it names.
    PeerAwaited,
    /// Another peer has a listed name.
    MemberTwin,
    /// Which peer a used key's name means cannot be told.
    MemberUnclear => "lists {} names whose machine is not known, so no peers are added for them",
    /// The peer of a used key is gone.
    MemberGone => "lists {} setup keys whose peers were deleted, so no peers are added for them",
    /// No peer has a listed name.
    MemberAbsent => "lists {} names that no peer has, so no peers are added for them",
    /// A peer stays though its key's entry was removed.
    PeerStays,
    /// A section that the file had and has no more.
    SectionGone,
    /// An entry says less than before, and nothing follows from it.
    SaysLess,
    /// An agreement to deletions.
    Agreement,
    /// The inventory, or the changes since the last apply.
    Inventory,
    /// The same, where the plan or the inventory lacks something because of it.
    #[serde(rename = "inventory")]
    InventoryLacks,
    /// The plan is not quite that of the merge.
    Merge,
    /// A recipient that the base branch does not have.
    NewRecipient,
    /// Who reaches whom would take too long to find out.
    ReachUntold,
    /// A key has other recipients than the one that lives was sealed for.
    RecipientsChanged => "{} setup keys have other recipients than before, but their secrets stay sealed for the old ones; for \
        new keys, set reissue_after",
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
