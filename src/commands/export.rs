//! `export`: the live account as a netbird.json, or as the server's own answers.

pub(crate) mod entries;

use super::adopt::recorded;
use super::cli::ExportArgs;
use super::export::entries::{Export, export};
use super::session::notices::of_token;
use super::{Body, Ending, Failure, Result, Run, Say, connect, of_netbird, readable};
use crate::account::actual::optional_lists;
use crate::account::fetch::fetch_parts;
use crate::account::{Actual, More, Needs, Snapshot, absent, beside_the_kinds, complete, fetch};
use crate::base::{count, json, visible};
use crate::check::validate::validate;
use crate::file;
use crate::inventory::Inventory;
use crate::model::{Address, Desired, Live, problem};
use crate::wire::api::Api;

pub(super) fn run(run: &Run, args: &ExportArgs) -> Ending {
    let text = |text| Ending::done(Body::Text(text));
    let made = make(run, args, run.say).map(text);
    made.unwrap_or_else(|failure| text(String::new()).failed(failure))
}

/// Fetches the whole account: every key may have moved, and the events show which peer enrolled by which.
pub(super) fn whole(api: &Api, has_parts: bool) -> Result<Snapshot> {
    let snapshot = fetch(api, &Needs::everything(), &Desired::default());
    let mut snapshot = snapshot.map_err(|error| of_netbird(api, error))?;
    let more = More {
        referrers: false,
        events: true,
    };
    complete(api, more, &mut snapshot)?;
    if has_parts {
        fetch_parts(api, &Vec::from_iter(optional_lists()), &mut snapshot)?;
    }
    Ok(snapshot)
}

/// Reads it into actual state, and says what there is to say of the token. Errors where a list lacks what others name: `api` is asked,
/// where there is one.
pub(super) fn read(api: Option<&Api>, snapshot: &Snapshot, say: Say) -> Result<Actual> {
    let actual = Actual::read(snapshot)?;
    let incomplete = actual.incomplete().map(|(_, problem)| problem);
    if let Some((problem, text, hint)) = problem::told(&Vec::from_iter(incomplete)).first() {
        let error = format!("{} {text}", problem.address.quoted());
        return Err(Failure::error(error).aside(hint.clone()));
    }
    if let Some(api) = api {
        let members = Vec::from_iter(actual.unlisted_members());
        absent::confirm(api, &members, &actual, &Inventory::default())?;
    }
    if let Some(notice) = of_token(&actual) {
        say.note(&visible(&notice.words()));
    }
    Ok(actual)
}

fn make(run: &Run, args: &ExportArgs, say: Say) -> Result<String> {
    readable()?;
    let api = connect(run)?;
    let snapshot = whole(&api, args.raw)?;
    if args.raw {
        let answers = serde_json::to_value(&snapshot);
        let answers = answers.map_err(|error| {
            Failure::error(format!("an answer cannot be read: {}", json::why(&error)))
        })?;
        return Ok(json::text(&answers));
    }
    let mut actual = read(Some(&api), &snapshot, say)?;
    if args.managed_only {
        let ours = recorded(run, &actual).0;
        let is_recorded = |live: &Live| ours.origin(&live.id).is_some();
        // an entry means its own object, whatever else has its name
        for namesakes in actual.objects.values_mut() {
            if namesakes.iter().any(is_recorded) {
                namesakes.retain(is_recorded);
            }
        }
    }
    let mut export = export(&actual);
    if args.managed_only {
        let valid = validate(&file::load(&run.file)?)?;
        let is_ours = |address: &Address| valid.desired.declares(address);
        export.entries.retain(|address, _| is_ours(address));
        export.left_out.retain(|(address, _)| is_ours(address));
        export.unlisted.retain(|(address, _)| is_ours(address));
    }
    // who is in the file already stands in the repository
    if !args.users && !args.managed_only {
        export.forget_people();
    }
    if args.no_members {
        export.forget_members();
    }
    say_what_is_not_there(&export, say);
    for what in beside_the_kinds(&api) {
        let what = format!("{what}: not managed by this program (docs/coming-from.md)");
        say.note(&visible(&what));
    }
    let number = count(export.entries.len(), "object", "objects");
    say.note(&format!("{number} exported"));
    Ok(json::escape(&export.text()))
}

/// Returns the account as a file has it, and says what has no place there.
pub(super) fn of_account(api: &Api, say: Say) -> Result<Export> {
    let actual = read(Some(api), &whole(api, false)?, say)?;
    let mut export = export(&actual);
    export.forget_people();
    say_what_is_not_there(&export, say);
    Ok(export)
}

fn say_what_is_not_there(export: &Export, say: Say) {
    for (address, what) in &export.unlisted {
        if export.entries.contains_key(address) {
            say.note(&visible(&format!("{address}: {what}")));
        }
    }
    for (address, why) in &export.left_out {
        say.note(&visible(&format!("{address} is left out: {why}")));
    }
}
