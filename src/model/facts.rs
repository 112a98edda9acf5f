//! Facts: an enum whose variants have their words beside them.

/// Makes an enum, and a method that returns what stands beside each variant: a new fact is one entry of one list. What can be said
/// in a notice is a `Fact`.
macro_rules! facts {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $(
                $(#[$about:meta])*
                $fact:ident
                $(($($part:ident: $part_type:ty),*))?
                $({ $($(#[$of:meta])* $field:ident: $field_type:ty),* $(,)? })?
                => $words:expr,
            )*
        }

        $(#[$returns:meta])*
        fn $method:ident(&self $(, $given:ident: $given_type:ty)*) -> $words_type:ty $(; impl $trait:ident)?;
    ) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$about])* $fact $(($($part_type),*))? $({ $($(#[$of])* $field: $field_type),* })?,)*
        }

        impl $name {
            $(#[$returns])*
            pub fn $method(&self $(, $given: $given_type)*) -> $words_type {
                match self {
                    $($name::$fact $(($($part),*))? $({ $($field),* })? => $words.into(),)*
                }
            }
        }

        $(impl $trait for $name {
            fn said(&self, at: &$crate::model::address::Address) -> $crate::base::code::Saying {
                $name::said(self, at)
            }
        })?
    };
}

pub(super) use facts;
