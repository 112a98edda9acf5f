//! Rows of the tables of fields, where a field's name is that of the canonical form.

/// A row for a field of that name, an `Option`: what the file leaves out is not ours.
macro_rules! own {
    ($field:ident, $shape:expr, $default:expr, $doc:expr, $read:expr) => {
        $crate::kind::rows::own!($field, $shape, $default, $doc, $read, None)
    };
    ($field:ident, $shape:expr, $default:expr, $doc:expr, $read:expr, $groups:expr) => {
        $crate::config::Field {
            name: stringify!($field),
            presence: $crate::config::Presence::Optional,
            shape: $shape,
            default: $default,
            doc: $doc,
            read: |it, value, log| it.$field = $read(value, log),
            keep: Some(|it, live| {
                if it.$field.is_none() {
                    it.$field.clone_from(&live.$field);
                }
            }),
            forget: Some(|it| it.$field = None),
            groups: $groups,
        }
    };
}
pub(super) use own;

/// A row for a set of names of groups, an `Option` too.
macro_rules! own_groups {
    ($field:ident, $shape:expr, $default:expr, $doc:expr, $read:expr) => {
        $crate::kind::rows::own!(
            $field,
            $shape,
            $default,
            $doc,
            $read,
            Some(|it| it.$field.as_ref())
        )
    };
}
pub(super) use own_groups;

/// A row for a set of names of groups that cannot be left out, nor be empty.
macro_rules! groups {
    ($field:ident, $doc:expr, $why:expr) => {
        $crate::config::Field {
            name: stringify!($field),
            presence: $crate::config::Presence::Required,
            shape: $crate::config::Shape::SomeGroups,
            default: None,
            doc: $doc,
            read: |it, value, log| {
                it.$field = $crate::kind::values::names::some_groups(value, log, $why)
            },
            keep: None,
            forget: None,
            groups: Some(|it| Some(&it.$field)),
        }
    };
}
pub(super) use groups;
