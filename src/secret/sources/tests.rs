//! Recipients as people write them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;
use crate::secret::test_keys::{
    ECDSA_PUBLIC, ED25519_PRIVATE, ED25519_PUBLIC, RSA_LARGE_PUBLIC, RSA_PUBLIC, RSA_SMALL_PUBLIC,
    TAG, TAG_PQ,
};

const ALICE: &str = "age1t7rxyev2z3rw82stdlrrepyc39nvn86l5078zqkf5uasdy86jp6svpy7pa"; // age's test vector
const SECRET_KEY: &str =
    "AGE-SECRET-KEY-1GQ9778VQXMMJVE8SK7J6VT8UJ4HDQAJUVSFCWCM02D8GEWQ72PVQ2Y5J33"; // its secret

fn file(text: &str) -> Result<Recipients, RecipientErrors> {
    Recipients::parse_file("r.txt", text.as_bytes())
}

/// Returns the errors as `origin: message`.
fn errors(result: Result<Recipients, RecipientErrors>) -> Vec<String> {
    let RecipientErrors(errors) = result.unwrap_err();
    errors
        .into_iter()
        .map(
            |RecipientError {
                 origin,
                 message,
                 hint: _,
             }| format!("{origin}: {message}"),
        )
        .collect()
}

#[test]
fn each_class_of_wrong_line_has_its_message() {
    let checksum = "a mistyped or cut off age key (its checksum is wrong)";
    let data = ED25519_PUBLIC.split(' ').nth(1).unwrap();
    for (line, message) in [
        ("alice@example.com", "not an age or SSH public key"),
        (&format!("\"{ALICE}\""), "not an age or SSH public key"),
        ("alice and AAAA", "not an age or SSH public key"),
        ("my ssh-key is lost", "not an age or SSH public key"),
        (
            "4CDAC1B3-1894-45B6-B00A-65CCD081A3D4",
            "not an age or SSH public key",
        ),
        (&ALICE.replace('7', "8"), checksum),
        (&ALICE[..50], checksum),
        (&ALICE.replacen("t7r", "t1r", 1), checksum),
        (&ALICE.replacen("7rxyev2", "1rxyev1", 1)[..40], checksum),
        (&TAG.replacen("qt8", "qt9", 1), checksum),
        (&TAG_PQ[..200], checksum),
        ("age1x/../../tmp/evil1qqqqqq", checksum),
        ("age11qqqqqq", checksum),
        (
            "age1my-plugin1qqqqqq",
            "a key of a plugin (age1my-plugin1…), and plugins are never started",
        ),
        (
            "age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq5negm4uj9ghv0snvdd3yysf5yw3rhl3t",
            "a key of a plugin (age1yubikey1…), and plugins are never started",
        ),
        (
            "age1pq1qqqqqqqqqqqqqqqqq",
            "a post-quantum key (age1pq1…), which this version cannot seal for",
        ),
        (
            &format!("{ALICE} {ALICE}"),
            "more than one key, or text behind the key",
        ),
        (
            &format!("{ALICE},{ALICE}"),
            "more than one key, or text behind the key",
        ),
        (
            &format!("{ALICE} alice"),
            "more than one key, or text behind the key",
        ),
        (
            &format!("{ED25519_PUBLIC} {RSA_PUBLIC}"),
            "more than one key, or text behind the key",
        ),
        (
            &format!("{ED25519_PUBLIC},{ALICE}"),
            "more than one key, or text behind the key",
        ),
        (
            &format!("{ED25519_PUBLIC}\r{ALICE}"),
            "more than one key, or text behind the key",
        ),
        (
            &format!("restrict,command=\"echo hi\" {ED25519_PUBLIC}"),
            "an SSH key with options or a host name in front of it",
        ),
        (
            &format!("git.example.com {ED25519_PUBLIC}"),
            "an SSH key with options or a host name in front of it",
        ),
        (
            &format!("cert-authority {ED25519_PUBLIC}"),
            "an SSH key with options or a host name in front of it",
        ),
        (
            &format!("ssh-ed25519 {}", &data[..40]),
            "an SSH key that is mistyped or cut off",
        ),
        ("ssh-rsa", "an SSH key that is mistyped or cut off"),
        (
            "ssh-dss AAAAB3NzaC1kc3M= old",
            "an SSH key of a type that age cannot seal for",
        ),
        (
            ECDSA_PUBLIC,
            "an SSH key of a type that age cannot seal for",
        ),
        (
            "sk-ssh-ed25519@openssh.com AAAAGnNr",
            "an SSH key of a type that age cannot seal for",
        ),
        (
            "ssh-ed25519-cert-v01@openssh.com AAAAIHNz",
            "an SSH key of a type that age cannot seal for",
        ),
        (
            "ssh-xmss@openssh.com AAAA",
            "an SSH key of a type that age cannot seal for",
        ),
        (
            RSA_SMALL_PUBLIC,
            "an ssh-rsa key of less than 2048 bits, which is weak",
        ),
        (RSA_LARGE_PUBLIC, "an ssh-rsa key of more than 4096 bits"),
        (
            SECRET_KEY,
            "a SECRET key, where public ones belong (it is not repeated here)",
        ),
        (
            "-----BEGIN OPENSSH PRIVATE KEY-----",
            "a SECRET key, where public ones belong (it is not repeated here)",
        ),
        (
            &SECRET_KEY[..25],
            "a SECRET key, where public ones belong (it is not repeated here)",
        ),
        (
            "AGE-PLUGIN-YUBIKEY-1QQQQ",
            "a SECRET key, where public ones belong (it is not repeated here)",
        ),
        (
            "# AGE-PLUGIN-YUBIKEY-1QGFXQ5QZPDRA7KPYQ5CDE7V2SLHHFQQQQ",
            "a SECRET key, where public ones belong (it is not repeated here)",
        ),
        (
            "-----BEGIN PUBLIC KEY-----",
            "a block of another format, no age or SSH public key",
        ),
        (
            "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----",
            "a SECRET key, where public ones belong (it is not repeated here)",
        ),
        (
            "---- BEGIN SSH2 PUBLIC KEY ----",
            "a block of another format, no age or SSH public key",
        ),
    ] {
        assert_eq!(
            errors(file(line)),
            [format!("r.txt:1: {message}")],
            "{line}"
        );
    }
}

/// Two good keys, and three that cannot be used: all three are told.
#[test]
fn all_wrong_lines_are_told_at_once_and_none_is_skipped() {
    let text = format!(
        "# the admins\n{ALICE}\n\n  {ED25519_PUBLIC}\r\nssh-dss AAAAB3NzaC1kc3M= old\n{}\nage1yubikey1qqqq\n",
        ALICE.replace('7', "8")
    );
    let error = file(&text).unwrap_err().to_string();
    assert_eq!(
        error,
        "3 recipients cannot be used\n\n\
         r.txt:5\n    an SSH key of a type that age cannot seal for\n    \
         hint: age can seal for ssh-ed25519 keys, and for ssh-rsa keys of 2048 to 4096 bits\n\n\
         r.txt:6\n    a mistyped or cut off age key (its checksum is wrong)\n    hint: copy the whole key again\n\n\
         r.txt:7\n    a key of a plugin (age1yubikey1…), and plugins are never started\n    \
         hint: add another public key of the same person"
    );
    // a block is one error, and a line of dashes is no block
    let block = "---- BEGIN SSH2 PUBLIC KEY ----\nAAAAC3Nz\n---- END SSH2 PUBLIC KEY ----";
    let unknown = "not an age or SSH public key";
    assert_eq!(
        errors(file(&format!("{block}\n---- us ----\nalice"))),
        [
            "r.txt:1: a block of another format, no age or SSH public key".to_owned(),
            format!("r.txt:4: {unknown}"),
            format!("r.txt:5: {unknown}"),
        ]
    );
    // nor is what is in one line
    let [block, secret] = ["PUBLIC", "PRIVATE"]
        .map(|word| format!("-----BEGIN {word} KEY-----AAAA-----END {word} KEY-----"));
    for line in [&block, &secret, SECRET_KEY] {
        let errors = errors(file(&format!("{line}\nalice")));
        assert_eq!(errors.len(), 2, "{errors:?}");
    }
    let quoted = file("\"alice\"").unwrap_err().to_string();
    assert!(quoted.contains("hint: leave out the quotes"), "{quoted}");
    let one = file("alice").unwrap_err().to_string();
    assert_eq!(
        one,
        "cannot use the recipient of r.txt:1: not an age or SSH public key\n\
         hint: a recipient begins with age1, ssh-ed25519 or ssh-rsa"
    );
}

/// A private key pasted by mistake is one loud error, and no part of it is repeated.
#[test]
fn a_secret_key_is_never_repeated() {
    let age_keygen = format!("# created: 2026-01-01\n# public key: {ALICE}\n{SECRET_KEY}\n");
    let putty = "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\nc2VjcmV0\n";
    let ssh_line = ED25519_PRIVATE.lines().nth(3).unwrap();
    for (text, line, secret) in [
        (age_keygen.clone(), 3, &SECRET_KEY[20..30]),
        (age_keygen.to_lowercase(), 3, &SECRET_KEY[20..30]),
        (format!("# {SECRET_KEY}\n{ALICE}"), 1, &SECRET_KEY[20..30]),
        (format!("{ALICE}\n{ED25519_PRIVATE}"), 2, &ssh_line[20..30]),
        (putty.into(), 1, "c2VjcmV0"),
    ] {
        let error = file(&text).unwrap_err();
        assert_eq!(error.0.len(), 1, "{error}");
        assert_eq!(error.0[0].origin, format!("r.txt:{line}"));
        assert!(text.to_lowercase().contains(&secret.to_lowercase()));
        let shown = format!("{error} {error:?}").to_lowercase();
        assert!(!shown.contains(&secret.to_lowercase()), "{shown}");
    }
    for harmless in [
        "# an AGE-SECRET-KEY-1 does not belong here, nor into any other file of a repository",
        "# the private key is in the safe",
        "# ops - begin here: the private key is in the safe",
        &ED25519_PUBLIC.replace("test@", "BEGIN@"),
    ] {
        assert!(file(&format!("{harmless}\n{ALICE}")).is_ok(), "{harmless}");
    }
}

#[test]
fn a_key_counts_once_wherever_it_is_named() {
    let sources = Sources {
        keys: vec![ALICE.into(), format!(" {} ", ALICE.to_uppercase())],
        files: vec![],
        merged: BTreeMap::new(),
        environment: Some(format!(
            "{ALICE}, {TAG},\n# bob\n{ED25519_PUBLIC}\n{}",
            ED25519_PUBLIC.replace("test@", "bob@")
        )),
    };
    let described = sources.read().unwrap().describe();
    assert_eq!(described.len(), 3);
    assert_eq!(
        described[2].comment.as_deref(),
        Some("test@netbird-gitops"),
        "the first one's"
    );
}

#[test]
fn each_source_names_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let (missing, utf16, latin, nothing, long) = ["missing", "utf16", "latin", "nothing", "long"]
        .map(|name| dir.path().join(name))
        .into();
    std::fs::write(&long, vec![b'\n'; 1 << 21]).unwrap();
    std::fs::write(&utf16, b"\xff\xfea\0g\0e\0").unwrap();
    std::fs::write(&latin, b"# us\n\n# B\xfcro\n").unwrap();
    std::fs::write(&nothing, "\u{feff}# nobody yet\n").unwrap();
    let sources = Sources {
        keys: vec![ALICE.into(), "x".into(), " ".into()],
        merged: BTreeMap::new(),
        files: vec![
            missing.clone(),
            dir.path().into(),
            utf16.clone(),
            latin.clone(),
            nothing.clone(),
            long.clone(),
        ],
        environment: Some(format!("\n{ALICE}\n{ALICE}, y\nssh-ed25519")),
    };
    assert_eq!(
        errors(sources.read()),
        [
            "-r, number 2: not an age or SSH public key".into(),
            "-r, number 3: empty".into(),
            format!(
                "{}: a file that cannot be read (no such file or directory)",
                missing.display()
            ),
            format!(
                "{}: a file that cannot be read (it is a directory)",
                dir.path().display()
            ),
            format!("{}: UTF-16, not UTF-8", utf16.display()),
            format!("{}:3: not UTF-8 text", latin.display()),
            format!("{}: no recipient in it", nothing.display()),
            format!("{}: longer than 1 MiB", long.display()),
            "AGE_PUBLIC_KEY, line 3, key 2: not an age or SSH public key".into(),
            "AGE_PUBLIC_KEY, line 4: an SSH key that is mistyped or cut off".into(),
        ]
    );
    let from = |key: &str, environment: &str| {
        Sources {
            keys: vec![key.into()],
            environment: Some(environment.into()),
            ..Sources::default()
        }
        .read()
    };
    assert_eq!(
        errors(from(ALICE, "z")),
        ["AGE_PUBLIC_KEY: not an age or SSH public key"]
    );
    assert!(from(RSA_PUBLIC, "").is_ok(), "a slash is no sign of a path");
    assert_eq!(
        errors(from(&format!("{ALICE},{TAG}"), "")),
        ["-r: more than one key, or text behind the key"]
    );
    assert_eq!(
        errors(from("x", " \n")),
        ["-r: not an age or SSH public key"]
    );
    assert!(
        Sources {
            environment: Some(" \n\t".into()),
            ..Sources::default()
        }
        .read()
        .unwrap()
        .is_empty()
    );
}

#[test]
fn a_byte_order_mark_and_carriage_returns_are_no_part_of_a_key() {
    assert_eq!(
        file(&format!("\u{feff}{ALICE}\r\n\r\n"))
            .unwrap()
            .describe()[0]
            .key,
        ALICE
    );
    assert_eq!(
        errors(Recipients::parse_file("r.txt", &vec![b'\n'; 1 << 21])),
        ["r.txt: longer than 1 MiB"]
    );
    assert_eq!(
        errors(Recipients::parse_file("r.txt", &vec![b'\n'; 1 << 20])),
        ["r.txt: no recipient in it"]
    );
    assert_eq!(
        errors(Recipients::parse_file("r.txt", b"\xfe\xff\0a")),
        ["r.txt: UTF-16, not UTF-8"]
    );
}

#[test]
fn post_quantum_keys_are_not_mixed_with_others() {
    let message = "a post-quantum key (age1tagpq1…) beside keys of other kinds, which age does not seal for together";
    assert_eq!(
        errors(file(&format!("{ALICE}\n{TAG_PQ}\nx"))),
        [
            "r.txt:3: not an age or SSH public key".to_owned(),
            format!("r.txt:2: {message}"),
        ]
    );
    assert!(file(TAG_PQ).is_ok());
}

#[test]
fn a_semicolon_separates_nothing() {
    let sources = Sources {
        environment: Some(format!("{ALICE};{ALICE}")),
        ..Sources::default()
    };
    let told = sources.read().unwrap_err().to_string();
    assert!(told.contains("hint: separate keys by a comma"), "{told}");
}
