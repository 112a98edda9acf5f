//! What a plan's reader is told beside the plan: the file's notices, new recipients, agreements to deletions.

use super::super::history::History;
use crate::cli::Sealing;
use crate::code::Code;
use crate::notice::Notice;
use crate::secret::Recipients;
use crate::validate::Valid;

/// The notices of a valid file.
pub(in crate::commands) fn of_file(valid: &Valid) -> impl Iterator<Item = Notice> + '_ {
    let notices = valid.notices.iter();
    notices.map(|notice| Notice::of_file(&valid.file, notice))
}

/// Says of the notices of a plan where in the file stands what they are about.
pub(super) fn place(notices: &mut [Notice], valid: &Valid) {
    for notice in notices {
        let Some(address) = &notice.about else {
            continue;
        };
        let member = |name| valid.places.name(address, "peers", name);
        let place = notice.name.as_deref().and_then(member);
        notice.place = place.or_else(|| valid.position_of(address)).cloned();
    }
}

/// Names the recipients in files of the checkout that the base branch does not have: who could open new keys after this.
pub(super) fn new_recipients(sealing: &Sealing, history: &History) -> Vec<Notice> {
    let mut notices = Vec::new();
    if !history.ledger.is_known() {
        return notices;
    }
    for file in &sealing.recipients_file {
        let now = std::fs::read(file).ok();
        let now =
            now.and_then(|text| Recipients::parse_file(&file.display().to_string(), &text).ok());
        let base = history.base_version(file).unwrap_or_default();
        let base = Recipients::parse_file("the base branch", &base).unwrap_or_default();
        let new = now.map(|now| now.not_in(&base)).unwrap_or_default();
        notices.extend(new.iter().map(|recipient| {
            let text = format!(
                "recipient {recipient} in {} is new: the base branch does not have it",
                file.display()
            );
            Notice::general(Code::NewRecipient, text)
        }));
    }
    notices
}
