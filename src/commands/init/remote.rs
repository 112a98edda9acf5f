//! The repository that a checkout's remote names.

/// A repository on some forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Remote {
    /// The server, where the address has one: `https://git.example.com`, maybe with a path.
    pub(super) server: Option<String>,
    /// The full name, as in `owner/name`.
    pub(super) name: String,
}

/// Servers that people mirror to.
const ELSEWHERE: [&str; 3] = ["github.com", "gitlab.com", "bitbucket.org"];

/// Reads an address as git has it: `https://HOST/OWNER/NAME.git`, `ssh://git@HOST:PORT/OWNER/NAME.git` or
/// `git@HOST:OWNER/NAME.git`. `None` where it names no repository of a forge. What stands before an `@` is left out: it may be a
/// password.
pub(super) fn read(address: &str) -> Option<Remote> {
    let address = address.trim();
    let (scheme, (host, path)) = match address.split_once("://") {
        Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest.split_once('/')?),
        None => ("ssh".to_owned(), address.split_once(':')?),
    };
    let host = host.rsplit('@').next().unwrap_or(host);
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let segments: Vec<&str> = path.split('/').collect();
    let [before @ .., owner, name] = &segments[..] else {
        return None;
    };
    // git takes it for a path where a slash comes before the colon
    if host.is_empty() || host.contains('/') || segments.contains(&"") {
        return None;
    }
    let server = match scheme.as_str() {
        "http" | "https" => {
            let below: String = before.iter().map(|part| format!("/{part}")).collect();
            Some(format!("{scheme}://{host}{below}"))
        }
        "ssh" => None,
        _ => return None,
    };
    // no Gitea: the owner's token has no business there
    let is_elsewhere = ELSEWHERE.contains(&host.to_ascii_lowercase().as_str());
    Some(Remote {
        server: server.filter(|_| !is_elsewhere),
        name: format!("{owner}/{name}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_git_has_them() {
        for (address, server, name) in [
            (
                "https://git.example.com/acme/network.git",
                "https://git.example.com",
                "acme/network",
            ),
            (
                "https://git.example.com/acme/network/",
                "https://git.example.com",
                "acme/network",
            ),
            (
                "https://me:secret@git.example.com:8443/git/acme/network",
                "https://git.example.com:8443/git",
                "acme/network",
            ),
            (
                "http://127.0.0.1:3000/acme/network",
                "http://127.0.0.1:3000",
                "acme/network",
            ),
            (
                "ssh://git@git.example.com:2222/acme/network.git",
                "",
                "acme/network",
            ),
            ("git@git.example.com:acme/network.git", "", "acme/network"),
            ("https://GitHub.com/acme/network.git", "", "acme/network"),
        ] {
            let remote = read(address).unwrap();
            assert_eq!(
                (remote.server.unwrap_or_default(), remote.name),
                (server.to_owned(), name.to_owned()),
                "{address}"
            );
        }
        for none in [
            "",
            "../network.git",
            "/srv/git/network.git",
            "file:///srv/acme/network.git",
            "https://git.example.com/network",
            "a/b:c/d",
        ] {
            assert_eq!(read(none), None, "{none}");
        }
    }
}
