//! What is linked: from crates.io with a checksum, under licences that .deny.toml allows.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

const DENY: &str = include_str!("../../.deny.toml");
const LOCK: &str = include_str!("../../Cargo.lock");

/// The licences that are allowed.
fn allowed() -> Vec<&'static str> {
    let (_, rest) = DENY.split_once("\nallow = [").unwrap();
    let (list, _) = rest.split_once(']').unwrap();
    let names = list.split(',').map(|name| name.trim().trim_matches('"'));
    names.filter(|name| !name.is_empty()).collect()
}

/// Whether an SPDX expression is satisfied by what is allowed. Parentheses stand around `A OR B` only.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let one_of = |part: &str| {
        let part = part.trim().trim_start_matches('(').trim_end_matches(')');
        let mut ways = part.split(" OR ").flat_map(|way| way.split('/'));
        ways.any(|way| allowed.contains(&way.trim()))
    };
    expression.split(" AND ").all(one_of)
}

#[test]
fn every_licence_is_allowed() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let allowed = allowed();
    assert!(packages.len() > 100 && allowed.len() > 3);
    for package in packages
        .iter()
        .filter(|package| !package["source"].is_null())
    {
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(
            is_allowed(licence, &allowed),
            "{}: {licence:?}",
            package["name"]
        );
    }
}

#[test]
fn expressions() {
    let allowed = ["MIT", "ISC"];
    for (expression, wanted) in [
        ("MIT", true),
        ("GPL-3.0 OR MIT", true),
        ("Unlicense/MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 AND MIT", false),
        ("(MIT OR GPL-3.0) AND ISC", true),
        ("", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), wanted, "{expression}");
    }
}

#[test]
fn every_crate_is_from_the_registry_and_has_a_checksum() {
    let packages: Vec<&str> = LOCK.split("\n[[package]]\n").skip(1).collect();
    let own = packages
        .iter()
        .filter(|package| !package.contains("\nsource = "));
    let own: Vec<&str> = own.map(|package| package.lines().next().unwrap()).collect();
    assert_eq!(own, ["name = \"fakes\"", "name = \"netbird-gitops\""]);
    for package in packages
        .iter()
        .filter(|package| package.contains("\nsource = "))
    {
        let registry = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
        assert!(package.contains(registry), "{package}");
        assert!(package.contains("\nchecksum = \""), "{package}");
    }
}

#[test]
fn the_bill_of_materials_has_every_linked_crate_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(root.join(".ci/sbom"))
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = std::fs::read(folder.path().join("netbird-gitops.cdx.json")).unwrap();
    let bill: Value = serde_json::from_slice(&text).unwrap();
    let components = bill["components"].as_array().unwrap();
    let mut names: Vec<&str> = components
        .iter()
        .map(|one| one["purl"].as_str().unwrap())
        .collect();
    assert!(
        names.iter().any(|name| name.starts_with("pkg:cargo/age@")),
        "{names:?}"
    );
    assert!(
        !names.iter().any(|name| name.contains("proptest")),
        "{names:?}"
    );
    let number = names.len();
    names.dedup();
    assert_eq!(names.len(), number);
    for one in components {
        let sum = one["hashes"][0]["content"].as_str().unwrap();
        assert_eq!(sum.len(), 64, "{one}");
    }
}
