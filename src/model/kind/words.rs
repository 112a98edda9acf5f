//! Parts of one-line descriptions.

use std::fmt::Display;

use serde_json::Value;

use crate::base::{text, visible};

/// Returns names as `a, b, c`, of many `a, b and 70 more`, of nothing `none`.
pub(crate) fn named(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let names = names.into_iter();
    listed(names.map(|name| visible(name.as_ref()).into_owned()))
}

/// Returns texts as `named` does, as they are.
pub(crate) fn listed(texts: impl IntoIterator<Item = impl Display>) -> String {
    match text::listed(texts) {
        text if text.is_empty() => "none".into(),
        text => text,
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

/// Returns one value of a field: names as they are, free text in quotes, and in words what a number or nothing means.
pub(crate) fn value(field: &str, value: &Value) -> String {
    match (field, value) {
        ("usage_limit", Value::Number(number)) if number.as_i64() == Some(0) => "unlimited".into(),
        ("expires_in", Value::Number(number)) => match number.as_i64() {
            Some(0) | None => "never".into(),
            Some(secs) => text::duration(secs),
        },
        ("ports", Value::Array(ports)) if ports.is_empty() => "all".into(),
        (_, Value::Null) => "none".into(),
        (_, Value::String(text)) if text.is_empty() => "none".into(),
        ("description", Value::String(text)) => format!("\"{}\"", visible(text)),
        (_, Value::String(text)) => visible(text).into_owned(),
        (_, Value::Array(entries)) => listed(entries.iter().map(|entry| self::value(field, entry))),
        ("authorized_groups", Value::Object(groups)) => {
            let entry = |(group, logins): (&String, &Value)| {
                let logins = match logins.as_array().is_some_and(Vec::is_empty) {
                    true => "any local user".to_owned(),
                    false => self::value(field, logins),
                };
                format!("{} as {logins}", visible(group))
            };
            listed(groups.iter().map(entry))
        }
        (_, Value::Object(target)) if target.contains_key("peer") => {
            format!("the peer {}", self::value("peer", &target["peer"]))
        }
        (_, Value::Object(_)) => match (value["ip"].as_str(), value["port"].as_i64()) {
            (Some(ip), Some(port)) => address(&visible(ip), port),
            _ => visible(&value.to_string()).into_owned(),
        },
        (_, other) => other.to_string(),
    }
}
