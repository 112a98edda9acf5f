//! `.gitignore`: lines of ours in a file of the people's.

/// What must not be committed.
pub(super) const TEXT: &str = "\
# What must never be committed, or is of no use to others (netbird-gitops init).
# Keys that open the sealed setup keys, whatever they are called:
netbird-keys*.txt
age-key*.txt
key.txt
keys.txt
*.agekey
id_ed25519
id_rsa
# Files with tokens:
.env
.env.*
*.token
# Sealed keys of runs on this machine; jobs keep copies on the branch of the inventory:
/sealed-keys/
# Recorded accounts and results, which name machines, users and addresses:
/live.json
/report*.json
# What a run that was killed leaves behind:
.netbird-gitops-*
";

/// Returns the text with each line of ours that it lacks behind it. Its own lines stay as they are.
pub(super) fn merge(there: &[u8]) -> Vec<u8> {
    let has = |line: &str| {
        let mut lines = there.split(|byte| *byte == b'\n');
        lines.any(|other| other.trim_ascii() == line.as_bytes())
    };
    let lines = TEXT.lines().filter(|line| !line.starts_with('#'));
    let missing: Vec<&str> = lines.filter(|line| !has(line)).collect();
    if missing.is_empty() {
        return there.to_vec();
    }
    let is_whole = there.is_empty() || there.ends_with(b"\n");
    let end = if is_whole { "" } else { "\n" };
    let title = TEXT.lines().next().unwrap_or_default();
    let more = format!("{end}{title}\n{}\n", missing.join("\n"));
    [there, more.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_people_stay_and_ours_come_once() {
        let merged = merge(b"/target\n# mine\n.env\r\nlast");
        let text = String::from_utf8(merged.clone()).unwrap();
        assert!(text.starts_with("/target\n# mine\n.env\r\nlast\n# What must never be committed"));
        assert_eq!(
            text.lines()
                .filter(|line| line.trim_end() == ".env")
                .count(),
            1
        );
        assert!(text.ends_with("\n.netbird-gitops-*\n"));
        assert_eq!(merge(&merged), merged);
        assert_eq!(merge(TEXT.as_bytes()), TEXT.as_bytes());
    }
}
