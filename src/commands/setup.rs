//! Setting up a repository: the files that belong into it (`init`, `workflows`) and what is checked (`doctor`), as plain values
//! and as text for people.

pub(crate) mod doctor;
pub(crate) mod init;
pub(crate) mod workflows;
