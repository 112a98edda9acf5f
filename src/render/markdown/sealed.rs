//! The sealed keys in a comment: each as a block at column 0 that can be copied and opened as it is.
//!
//! A comment is rewritten by every run, and a run that was started again makes no keys: what earlier ones made is taken
//! over from the text that stood there.

use std::collections::BTreeSet;

use super::escape::fenced;
use super::folded;
use crate::base::{count, joined};

const BEGIN: &str = "-----BEGIN AGE ENCRYPTED FILE-----";
const END: &str = "-----END AGE ENCRYPTED FILE-----";

/// Returns the title of so many sealed keys.
pub(in crate::render) fn title_of_sealed(number: &str) -> String {
    format!("{number}. Each opens as a file: age -d -i IDENTITY FILE")
}

/// Returns `new` with the sealed keys that `old` has and it has not: the newest of each key first, those that it replaced apart.
pub fn keep_sealed(old: &str, new: &str) -> String {
    let made = blocks(new);
    let mut seen: BTreeSet<String> = made.iter().map(|block| block.key().to_owned()).collect();
    let mut kept = blocks(old);
    kept.retain(|block| !new.contains(&block.armored));
    let is_newest = |block: &Block| seen.insert(block.key().to_owned());
    let (kept, replaced): (Vec<Block>, Vec<Block>) = kept.into_iter().partition(is_newest);
    let of_runs = [
        "sealed key of an earlier run",
        "sealed keys of earlier runs",
    ];
    let of_attempts = [
        "sealed key of an earlier attempt, replaced since",
        "sealed keys of earlier attempts, replaced since",
    ];
    let parts = [shown(&kept, of_runs), shown(&replaced, of_attempts)];
    let parts = joined(parts.into_iter().flatten(), "\n\n");
    match parts.is_empty() {
        true => new.to_owned(),
        false => format!("{}\n\n{parts}\n", new.trim_end_matches('\n')),
    }
}

/// A sealed key, and what stands above it.
struct Block {
    label: String,
    armored: String,
}

impl Block {
    /// What its label begins with: the key.
    fn key(&self) -> &str {
        let key = self.label.split_once("` for `");
        key.map_or(&self.label, |(key, _)| key)
    }
}

fn shown(blocks: &[Block], [one, several]: [&str; 2]) -> Option<String> {
    let title = title_of_sealed(&count(blocks.len(), one, several));
    let block = |block: &Block| format!("{}\n\n{}", block.label, fenced("", &block.armored));
    let text = joined(blocks.iter().map(block), "\n\n");
    (!blocks.is_empty()).then(|| folded(&title, &text))
}

/// Returns the sealed keys in a text of ours.
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut label = "";
    let mut lines = text.lines().map(str::trim_end);
    while let Some(line) = lines.next() {
        if line == BEGIN {
            let mut armored = vec![line];
            armored.extend(lines.by_ref().take_while(|line| *line != END));
            armored.push(END);
            let (label, armored) = (label.to_owned(), armored.join("\n"));
            blocks.push(Block { label, armored });
        } else if !line.is_empty() && !line.starts_with("```") {
            label = line;
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(number: u32, keys: &[&str]) -> String {
        let block = |name: &&str| Block {
            label: format!("setup key `{name}`"),
            armored: format!("{BEGIN}\n{name}\n{END}"),
        };
        let blocks: Vec<Block> = keys.iter().map(block).collect();
        let keys = shown(&blocks, ["sealed key", "sealed keys"]).unwrap_or_default();
        format!("<!-- marker -->\n### run {number}\n\n{keys}\n")
    }

    /// The names in the blocks of a text, as a reader finds them.
    fn found(text: &str) -> Vec<String> {
        let name = |block: &Block| {
            let name = block.armored.lines().nth(1).expect("a line inside");
            assert_eq!(block.label, format!("setup key `{name}`"));
            name.to_owned()
        };
        blocks(text).iter().map(name).collect()
    }

    #[test]
    fn every_block_that_ever_stood_there_stays() {
        let first = body(1, &["a", "b"]);
        let second = keep_sealed(&first, &body(2, &["c"]));
        assert_eq!(found(&second), ["c", "a", "b"]);
        let third = keep_sealed(&second, &body(3, &[]));
        assert_eq!(found(&third), ["c", "a", "b"]);
        assert!(third.starts_with("<!-- marker -->\n### run 3\n"));
        assert!(!third.contains("run 1") && !third.contains("run 2"));
    }

    #[test]
    fn of_a_key_that_was_made_again_the_newest_block_stands_first() {
        let of = |number: u32, secret: &str| {
            let label = format!("setup key `k` for `age1`, also in `keys/{secret}.age`");
            let armored = format!("{BEGIN}\n{secret}\n{END}");
            let keys = shown(&[Block { label, armored }], ["sealed key", "sealed keys"]);
            format!("### run {number}\n\n{}\n", keys.expect("a block"))
        };
        let second = keep_sealed(&of(1, "one"), &of(2, "two"));
        let third = keep_sealed(&second, &of(3, "three"));
        let secrets: Vec<String> = blocks(&third).into_iter().map(|it| it.armored).collect();
        assert_eq!(
            secrets,
            ["three", "two", "one"].map(|it| format!("{BEGIN}\n{it}\n{END}"))
        );
        assert_eq!(
            third
                .matches("2 sealed keys of earlier attempts, replaced since")
                .count(),
            1
        );
        assert_eq!(keep_sealed(&third, &of(3, "three")), third);
    }

    #[test]
    fn the_same_text_again_is_the_same_text() {
        let text = keep_sealed(&body(1, &["a"]), &body(2, &["b"]));
        assert_eq!(keep_sealed(&text, &body(2, &["b"])), text);
        assert_eq!(
            keep_sealed(&body(1, &["a"]), &body(1, &["a"])),
            body(1, &["a"])
        );
        assert_eq!(
            keep_sealed("<!-- marker -->\nnothing", &body(1, &[])),
            body(1, &[])
        );
    }

    #[test]
    fn a_block_that_is_cut_off_is_kept_as_it_is() {
        let cut = format!("setup key `a`\n\n```\n{BEGIN}\na\n");
        assert_eq!(found(&keep_sealed(&cut, &body(2, &[]))), ["a"]);
    }
}
