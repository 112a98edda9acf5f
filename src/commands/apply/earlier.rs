//! Keys that an earlier run of the same commit made: their sealed text is not in this run's result.

use super::{Notice, Plan, Result, Session};
use crate::base::Id;
use crate::inventory::RecordedAs;
use crate::model::{Address, Kind, OfKey};

/// Says in a job where the sealed text of a key is that nobody used yet and that a run made since the commit that changed the file
/// last: a run that was killed did not say it. Times decide only whether it is said.
pub(super) fn made_earlier(session: &Session, plan: &Plan) -> Result<Vec<Notice>> {
    let (Some((git, path)), Some(tip)) = (session.history.checkout(), session.history.tip()) else {
        return Ok(Vec::new());
    };
    if !session.run.context.is_ci || plan.waiting_keys.is_empty() {
        return Ok(Vec::new());
    }
    let Some((_, changed)) = git.changes(None, tip, &[path], 1)?.pop() else {
        return Ok(Vec::new());
    };
    let inventory = &session.options.ours.inventory;
    let is_made = |id: &Id| inventory.origin(id) == Some(RecordedAs::Created);
    let is_newer = |id: &Id| id.created_at().is_some_and(|made| made >= changed);
    let keys = plan.waiting_keys.iter();
    let keys = keys.filter(|(id, _)| is_made(id) && is_newer(id));
    let keys: Vec<(&str, &Id)> = keys.map(|(id, name)| (name.as_str(), id)).collect();
    let place = &session.place;
    let kept = place.with_copy(keys.clone())?;
    let notice = |(name, id): (&str, &Id)| {
        let has_copy = kept.contains(&(name, id));
        let of = OfKey::MadeEarlier(has_copy.then(|| place.copy_of(name, id)));
        Notice::about(&Address::new(Kind::SetupKey, name), of)
    };
    Ok(keys.into_iter().map(notice).collect())
}
