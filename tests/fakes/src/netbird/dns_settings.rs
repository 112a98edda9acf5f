//! DNS settings: one list.

use serde_json::json;

use super::api::{Call, Outcome, Route, route};
use super::auth::Module;
use super::refusal::{invalid, missing};

pub(super) const ROUTES: &[Route] = &[
    route("GET", "/dns/settings", Module::Dns, get),
    route("PUT", "/dns/settings", Module::Dns, put),
];

fn get(call: &mut Call) -> Outcome {
    Ok(json!({"disabled_management_groups": call.account.disabled_management_groups}))
}

fn put(call: &mut Call) -> Outcome {
    let Some(groups) = call.body()?.optional_texts("disabled_management_groups")? else {
        return Err(missing(format!("account not found: {}", call.account.id)));
    };
    call.account
        .check_groups(&groups, |id| invalid(format!("group id {id} not found")))?;
    let before = std::mem::replace(&mut call.account.disabled_management_groups, groups.clone());
    for (code, these, those) in [("add", &groups, &before), ("delete", &before, &groups)] {
        for id in these.iter().filter(|id| !those.contains(id)) {
            let name = call.account.groups.get(id).map(|group| group.name.clone());
            let (target, meta) = (
                call.account.id.clone(),
                json!({"group": name, "group_id": id}),
            );
            call.record(
                &format!("dns.setting.disabled.management.group.{code}"),
                &target,
                meta,
            );
        }
    }
    Ok(json!({"disabled_management_groups": groups}))
}
