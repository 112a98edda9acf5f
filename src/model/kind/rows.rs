//! The rows of the tables of fields: each has the name of a field of the form that it is read into.

/// Makes the rows of a table. A row has what there is to say of the field to people; how it stands; its name, as in the form
/// that it is read into, in the file (`as`) and in NetBird's API (`in`) where that is another; what it takes; and what creation takes where it is left
/// out, as JSON.
///
/// How it stands: `own` is an `Option`, and what the file leaves out is not ours; `word` likewise, and an answer without it has
/// one that is not known here; `needs` cannot be left out; `may` can, which
/// says something by itself. What names groups in a list has `(groups)` behind that, as names of members
/// `(members)`; what names posture checks in a list `(checks)`, and what names a network resource `(resource)`. Fields that are made elsewhere come last.
macro_rules! fields {
    (
        $(
            $(#[doc = $doc:literal])+
            $how:ident $(($of:ident))? $($name:ident).+ $(as $word:literal)? $(in $wire:literal)?: $takes:expr $(=> $default:tt)?
        ),+ $(,)?
        $(; $($more:expr),+ $(,)?)?
    ) => {
        &[
            $(
                $crate::file::Field {
                    row: $crate::file::Row {
                        name: $crate::model::kind::rows::part!(name $($name).+ $($word)?),
                        presence: $crate::model::kind::rows::part!(presence $how),
                        wire: $crate::model::kind::rows::part!(name $($name).+ $($word)? $($wire)?),
                        shape: $takes.0,
                        default: $crate::model::kind::rows::part!(default $($default)?),
                        doc: concat!($($doc),+).trim_ascii(),
                        names: $crate::model::kind::rows::part!(names $($of)?),
                    },
                    read: |it, value, log| it.$($name).+ = ($takes.1)(value, log),
                    keep: $crate::model::kind::rows::part!(keep $how $($name).+),
                    zero: $crate::model::kind::rows::part!(zero $how $($name).+),
                    groups: $crate::model::kind::rows::part!(groups $how $($name).+ $($of)?),
                    groups_mut: $crate::model::kind::rows::part!(groups_mut $how $($name).+ $($of)?),
                },
            )+
            $($($more),+)?
        ]
    };
}
pub(crate) use fields;

/// Makes the parts of a row that are not the same for all.
macro_rules! part {
    (name $($name:ident).+ $word:literal) => {
        $word
    };
    (name $name:ident) => {
        stringify!($name)
    };
    (presence needs) => {
        $crate::file::Presence::Required
    };
    (presence $how:ident) => {
        $crate::file::Presence::Optional
    };
    (default $default:tt) => {
        Some(stringify!($default))
    };
    (default) => {
        None
    };
    (names groups) => {
        Some($crate::file::Names::Groups)
    };
    (names checks) => {
        Some($crate::file::Names::Checks)
    };
    (names members) => {
        Some($crate::file::Names::GroupsByMember)
    };
    (names resource) => {
        Some($crate::file::Names::Resource)
    };
    (names) => {
        None
    };
    (keep own $name:ident) => {
        Some(|it, live| $crate::model::kind::keep(&mut it.$name, &live.$name))
    };
    (keep word $name:ident) => {
        $crate::model::kind::rows::part!(keep own $name)
    };
    (keep $how:ident $($name:ident).+) => {
        None
    };
    (zero own $name:ident) => {
        Some(|it| {
            it.$name.get_or_insert_default();
        })
    };
    (zero $how:ident $($name:ident).+) => {
        None
    };
    (groups own $name:ident groups) => {
        Some(|it| it.$name.as_ref())
    };
    (groups $how:ident $name:ident groups) => {
        Some(|it| Some(&it.$name))
    };
    (groups_mut own $name:ident groups) => {
        Some(|it| it.$name.as_mut())
    };
    (groups_mut $how:ident $name:ident groups) => {
        Some(|it| Some(&mut it.$name))
    };
    ($groups:ident $how:ident $($name:ident).+ $($other:ident)?) => {
        None
    };
}
pub(crate) use part;

/// Makes the list of fields that people may try. A row has their names and what to say of them, with what to do, if
/// anything; or the one field that is meant by them. Rows that stand elsewhere have a path.
macro_rules! refused {
    ($($($known:path)? $([$($name:literal),+] => $said:tt $(, $hint:tt)?)?;)+) => {
        &[$(
            $($known)?
            $($crate::model::kind::rows::refused_row!([$($name),+] $said $($hint)?))?
        ),+]
    };
}
pub(crate) use refused;

/// Makes one row of it.
macro_rules! refused_row {
    ([$($name:literal),+] $said:tt $hint:tt) => {
        $crate::file::Refused::new(&[$($name),+], $said, Some($hint))
    };
    ([$($name:literal),+] $said:literal) => {
        $crate::file::Refused::new(&[$($name),+], $said, None)
    };
    ([$($name:literal),+] $field:ident) => {
        $crate::file::Refused::meaning(stringify!($field), &[$($name),+])
    };
}
pub(crate) use refused_row;
