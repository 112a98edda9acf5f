//! Where the API has an object.

use crate::base::Id;
use crate::model::{Kind, Live};
use crate::wire::api::{ApiError, object_path};

/// Returns the path of the collection in which a kind's objects are: of those that stand in another object, in that one.
///
/// Errors where that one's id makes no path.
pub(crate) fn collection(kind: Kind, within: Option<&Id>) -> Result<String, ApiError> {
    match (kind.parent(), within) {
        (Some(parent), Some(id)) => Ok(object_path(parent.path(), &id.0)? + kind.path()),
        _ => Ok(kind.path().to_owned()),
    }
}

/// Returns the path of a live object.
///
/// Errors where an id makes no path.
pub(crate) fn object(live: &Live) -> Result<String, ApiError> {
    let kind = live.resource.kind();
    match kind.is_one() && !kind.is_listed_one() {
        true => Ok(kind.path().to_owned()),
        false => object_path(&collection(kind, live.within.as_ref())?, &live.id.0),
    }
}
