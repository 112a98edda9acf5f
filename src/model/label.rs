//! DNS labels of peers: what the server makes of a name (docs/netbird-api.md, "DNS labels of peers").

/// Characters that a label keeps at most.
const LONGEST: usize = 59;

/// Returns the label of an FQDN, as in `edge` of `edge.netbird.selfhosted`.
pub fn label_of(fqdn: &str) -> &str {
    fqdn.split('.').next().unwrap_or_default()
}

/// Returns the label that the server makes of a name where nobody has it: the part before the first dot in lower case,
/// each run of what is no letter, digit or hyphen as one hyphen, cut to 59 characters. `None` where it makes punycode of
/// it.
pub fn plain_label(name: &str) -> Option<String> {
    let first = name.split('.').next().unwrap_or_default();
    if !first.is_ascii() {
        return None;
    }
    let is_legal = |char: &char| char.is_ascii_alphanumeric() || *char == '-';
    let chars: Vec<char> = first.chars().collect();
    let runs = chars.chunk_by(|one, other| !is_legal(one) && !is_legal(other));
    let char = |run: &[char]| if is_legal(&run[0]) { run[0] } else { '-' };
    let label = runs.take(LONGEST).map(|run| char(run).to_ascii_lowercase());
    Some(label.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_their_labels() {
        for (name, label) in [
            ("web-1", Some("web-1")),
            ("Pilot Hawk.72", Some("pilot-hawk")),
            ("f2 ops/gw #1", Some("f2-ops-gw-1")),
            ("a_-_b", Some("a---b")),
            ("x!", Some("x-")),
            ("ÜBER-Box", None),
            ("a.ü", Some("a")),
        ] {
            assert_eq!(plain_label(name).as_deref(), label, "{name}");
        }
        let long = "x".repeat(80);
        assert_eq!(plain_label(&long), Some("x".repeat(59)));
    }
}
