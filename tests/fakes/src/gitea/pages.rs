//! Lists in pages.

use serde_json::Value;

use super::api::{BASE, Call, ok};
use crate::http::Response;

pub(super) const DEFAULT_LIMIT: usize = 30;
pub(super) const MAX_LIMIT: usize = 50;

/// Returns the page of a list that the query asks for, with the headers that tell of the others.
pub(super) fn page(call: &Call, path: &str, items: &[Value]) -> Response {
    let number = |name| {
        let value = call.parameter(name).and_then(|text| text.parse().ok());
        value.filter(|value: &usize| *value > 0)
    };
    let page = number("page").unwrap_or(1);
    let limit = number("limit").map_or(DEFAULT_LIMIT, |limit| limit.min(MAX_LIMIT));
    let shown: Vec<Value> = items
        .iter()
        .skip((page - 1).saturating_mul(limit))
        .take(limit)
        .cloned()
        .collect();
    let last = items.len().div_ceil(limit).max(1);
    let root = call.forge().root.clone();
    let link = |page: usize, rel: &str| {
        format!("<{root}{BASE}{path}?limit={limit}&page={page}>; rel=\"{rel}\"")
    };
    let mut links = Vec::new();
    if page < last {
        links.push(link(page + 1, "next"));
        links.push(link(last, "last"));
    }
    if page > 1 {
        links.push(link(1, "first"));
        links.push(link(page - 1, "prev"));
    }
    let response = counted(ok(&Value::Array(shown)), items.len());
    if links.is_empty() {
        response
    } else {
        response.with("Link", &links.join(","))
    }
}

/// Adds the number of all items.
pub(super) fn counted(response: Response, total: usize) -> Response {
    response
        .with("X-Total-Count", &total.to_string())
        .with("Access-Control-Expose-Headers", "X-Total-Count")
}
