//! Parts of one-line descriptions.

use crate::base::text::{self, visible};

/// Returns names as `a, b, c`, of many `a, b and 70 more`, of nothing `none`.
pub(crate) fn named(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let names = names.into_iter();
    let names: Vec<String> = names
        .map(|name| visible(name.as_ref()).into_owned())
        .collect();
    listed(&names)
}

/// Returns texts as `named` does, as they are.
pub(crate) fn listed(texts: &[String]) -> String {
    match texts {
        [] => "none".into(),
        texts => text::listed(texts),
    }
}

/// Returns an address with its port, where that is not 53.
pub(crate) fn address(ip: &str, port: i64) -> String {
    match port {
        53 => ip.to_owned(),
        _ if ip.contains(':') => format!("[{ip}]:{port}"),
        _ => format!("{ip}:{port}"),
    }
}
