//! Gitea and Forgejo: the repository on the server (`gitea`) and the job that runs us (`ci`).

pub(crate) mod ci;
pub(crate) mod gitea;
