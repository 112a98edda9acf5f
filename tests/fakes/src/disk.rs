//! Where tests have their files, and empty repositories there.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs, io};

/// Returns the directory of temporary files: one in memory where the system has one from which programs can be run and where
/// `TMPDIR` names no other. On a disk it takes longer to make and to remove the many small files of a test than to run it.
pub fn in_memory() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let shared = "/dev/shm";
        let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
        let mut mounts = mounts.lines().map(|line| line.split(' '));
        let options =
            mounts.find_map(|mut line| (line.nth(1)? == shared).then(|| line.nth(1)).flatten());
        let can_run = options.is_some_and(|options| {
            options
                .split(',')
                .all(|option| option != "noexec" && option != "ro")
        });
        match env::var_os("TMPDIR").is_none() && can_run {
            true => shared.into(),
            false => env::temp_dir(),
        }
    })
}

/// Makes an empty git repository with this branch, as `git init` does: a directory `.git`, or without a work tree the folder itself.
pub fn init(repository: &Path, branch: &str, bare: bool) -> io::Result<()> {
    for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags"] {
        fs::create_dir_all(repository.join(folder))?;
    }
    fs::write(
        repository.join("HEAD"),
        format!("ref: refs/heads/{branch}\n"),
    )?;
    let config =
        format!("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = {bare}\n");
    fs::write(repository.join("config"), config)
}

/// Where git is: by its path it starts without a fork of the process that has all tests.
pub(crate) fn git() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let path = env::var_os("PATH").unwrap_or_default();
        let mut programs = env::split_paths(&path).map(|dir| dir.join("git"));
        programs
            .find(|git| git.is_file())
            .unwrap_or_else(|| "git".into())
    })
}
