//! The workflows that belong to this version, as texts, and how a workflow of a repository compares with them. `init` and
//! `doctor` judge by this alone.
//!
//! A workflow is people's own: lines that they add stay, and so do values that are theirs to choose. A line of ours that is
//! missing is a difference; one that keeps a secret or a review from being lost is protected.

use std::path::Path;

use similar::{Algorithm, DiffTag, capture_diff_slices};

macro_rules! texts {
    ($folder:literal: $($name:literal)*) => {
        [$(($name, include_str!(concat!("../../../", $folder, "/", $name)))),*]
    };
}

/// The workflows by their file names.
pub const FILES: [(&str, &str); 4] =
    texts!(".gitea/workflows": "plan.yml" "apply.yml" "enrollment.yml" "drift.yml");

/// The same by plain `git` and shell, without any action.
pub const WITHOUT_ACTIONS: [(&str, &str); 4] = texts!("examples/workflows-without-actions": "plan.yml" "apply.yml" "enrollment.yml" "drift.yml");

/// What stands in the place of `plan.yml` where pull requests from forks get a plan.
pub const FORKS: [(&str, &str); 1] = texts!("examples/workflows": "plan-forks.yml");

/// The command that tells whose a workflow is, by the stem of its file name.
const COMMANDS: [(&str, &str); 4] = [
    ("plan", "plan"),
    ("apply", "apply"),
    ("enrollment", "sync-events"),
    ("drift", "drift"),
];

/// What follows these is for people to choose.
const VALUES: [&str; 7] = [
    "runs-on:",
    "timeout-minutes:",
    "- cron:",
    "branches:",
    "paths:",
    "group:",
    "name:",
];

/// A missing line that begins so is a fault: without it a secret is seen, two runs write at once, or a run knows too little.
const PROTECTED: [&str; 11] = [
    "pull_request:",
    "pull_request_target:",
    "branches:",
    "group:",
    "cancel-in-progress:",
    "contents:",
    "fetch-depth:",
    "git fetch",
    "NETBIRD_API_TOKEN:",
    "GITEA_TOKEN:",
    PROGRAM,
];

/// What stands before a command.
const PROGRAM: &str = "netbird-gitops ";
/// By this option an apply takes whatever file it has: a workflow must not.
const UNGUARDED: &str = "--any-commit";

/// Secrets and variables that each network of a repository has of its own.
pub const OWN_NAMES: [&str; 4] = [
    "NETBIRD_PLAN_TOKEN",
    "NETBIRD_APPLY_TOKEN",
    "NETBIRD_API_URL",
    "AGE_PUBLIC_KEY",
];

/// How a workflow compares with one of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// Its text with the lines of ours that it lacks.
    pub text: String,
    /// How many lines it lacks.
    pub missing: usize,
    /// What is wrong with it: the protected lines that it lacks, and what it must not have.
    pub faults: Vec<String>,
}

/// Compares a workflow with the one of ours that it is nearest to; `None` for one that is not ours.
pub fn judged(file_name: &str, text: &str) -> Option<Comparison> {
    nearest(file_name, text).map(|(compared, _)| compared)
}

/// Returns the text of ours that a workflow is nearest to, too.
pub fn nearest(file_name: &str, text: &str) -> Option<(Comparison, &'static str)> {
    let stem = stem_of(file_name).filter(|stem| is_ours(stem, text))?;
    let forks = FORKS.iter().filter(|_| stem == "plan");
    let all = FILES.iter().chain(&WITHOUT_ACTIONS);
    let named = all.filter(|(name, _)| stem_of(name) == Some(stem));
    let compared = named
        .chain(forks)
        .map(|(_, ours)| (compare(text, ours), *ours));
    compared.min_by_key(|(it, _)| (it.faults.len(), it.missing))
}

/// Which of our workflows a file name is for: `plan.yml`, `plan-lab.yml` and `netbird-plan.yml` are plans.
fn stem_of(file_name: &str) -> Option<&'static str> {
    let path = Path::new(file_name);
    let is_yaml = path
        .extension()
        .is_some_and(|it| it == "yml" || it == "yaml");
    let stem = path.file_stem()?.to_str().filter(|_| is_yaml)?;
    let stem = stem.strip_prefix("netbird-").unwrap_or(stem);
    let mut known = COMMANDS.iter().map(|(name, _)| *name);
    known.find(|name| {
        let rest = stem.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    })
}

/// Whether a workflow of that stem runs our command: somebody else's `plan.yml` does not.
pub fn is_ours(stem: &str, text: &str) -> bool {
    let wanted = COMMANDS.iter().find(|(name, _)| *name == stem);
    let runs = |line: &str| {
        let (at, found) = command(line)?;
        // what is only printed runs nothing
        let before = &line[..at];
        let is_said = before.matches(['"', '\'']).count() % 2 == 1 || before.contains("echo ");
        (!is_said && wanted?.1 == found).then_some(())
    };
    text.lines().any(|line| runs(line).is_some())
}

/// Compares a workflow with ours.
pub fn compare(there: &str, ours: &str) -> Comparison {
    merge(there, ours, ours)
}

/// Compares a workflow that was made of `base`, one of ours, with another one of ours: what only `base` has is dropped.
pub fn merge(there: &str, ours: &str, base: &str) -> Comparison {
    let text = there.replace("\r\n", "\n");
    let read = |text| blocks(&chunks(text));
    let mut merged = Merged::of(&text);
    merged.blocks(&read(&text), &read(ours), &read(base));
    let is_unguarded = text.lines().any(|line| {
        command(line).is_some_and(|(at, _)| words(&line[at..]).any(|word| word == UNGUARDED))
    });
    let is_fault = |line: &&&str| match command(line) {
        // the command is there, or its whole line is missing
        Some((at, _)) => !text.lines().any(|it| key(it) == key(&line[at..])),
        None => PROTECTED
            .iter()
            .any(|start| line.trim_start().starts_with(start)),
    };
    let lost = merged.missing.iter().filter(is_fault);
    let lost = lost.map(|line| format!("lacks {}", essence(line).trim()));
    let unguarded = is_unguarded.then(|| format!("has {UNGUARDED}"));
    let out = match merged.is_odd {
        true => ours.to_owned(),
        false => merged.out,
    };
    Comparison {
        faults: lost.chain(unguarded).collect(),
        missing: merged.missing.len(),
        text: match there.contains("\r\n") {
            true => out.replace('\n', "\r\n"),
            false => out,
        },
    }
}

/// A line, and the comments before it.
struct Chunk<'a> {
    lead: &'a str,
    line: &'a str,
}

fn chunks(text: &str) -> Vec<Chunk<'_>> {
    let (mut chunks, mut start, mut at) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        let is_comment = essence(line).is_empty();
        if !is_comment {
            let lead = &text[start..at];
            chunks.push(Chunk { lead, line });
            start = at + line.len();
        }
        at += line.len();
    }
    if start < at {
        let (lead, line) = (&text[start..], "");
        chunks.push(Chunk { lead, line });
    }
    chunks
}

/// A line without its comment and its end.
fn essence(line: &str) -> &str {
    match line.trim_start().starts_with('#') {
        true => "",
        false => line.split(" #").next().unwrap_or_default().trim_end(),
    }
}

/// Where in a line our program is called, and its command.
fn command(line: &str) -> Option<(usize, &str)> {
    let line = essence(line);
    let at = line.find(PROGRAM)?;
    let word = line[at..].split_whitespace().nth(1)?;
    COMMANDS
        .iter()
        .any(|(_, it)| *it == word)
        .then_some((at, word))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    essence(line).split_whitespace()
}

/// What two lines have in common that are the same line with other values.
fn key(line: &str) -> String {
    let line = essence(line);
    if let Some((_, command)) = command(line) {
        return format!("{PROGRAM}{command}");
    }
    let start = line.trim_start();
    let indent = line.len() - start.len();
    if let Some(value) = VALUES.iter().find(|value| start.starts_with(**value)) {
        return line[..indent + value.len()].to_owned();
    }
    // another network's are `NETBIRD_API_URL_LAB`
    let own = OWN_NAMES.iter().find_map(|name| {
        let at = line.find(&format!(".{name}_"))? + 1 + name.len();
        Some(format!("{}{}", &line[..at], &line[line.rfind(" }}")?..]))
    });
    own.unwrap_or_else(|| line.to_owned())
}

/// Returns what a call of our program should be, where it lacks options of ours or has the one that it must not have.
fn restored(theirs: &str, ours: &str) -> Option<String> {
    let ((at, _), (ours_at, _)) = (command(theirs)?, command(ours)?);
    let ours = ours[ours_at..].trim_end();
    let lacks = words(ours).any(|word| !words(&theirs[at..]).any(|it| it == word));
    let is_unguarded = words(&theirs[at..]).any(|word| word == UNGUARDED);
    let more =
        words(&theirs[at..]).filter(|it| *it != UNGUARDED && !words(ours).any(|word| word == *it));
    let more: String = more.map(|word| format!(" {word}")).collect();
    (lacks || is_unguarded).then(|| format!("{}{}{more}\n", &theirs[..at], essence(ours)))
}

/// A field with what stands in it, an entry of a list with its fields, or a line of a script.
struct Part<'a> {
    lead: &'a str,
    /// Empty for an entry of a list, whose first field has the hyphen.
    line: &'a str,
    inside: Vec<Part<'a>>,
}

impl<'a> Part<'a> {
    fn is_entry(&self) -> bool {
        self.line.is_empty() && !self.inside.is_empty()
    }

    fn is_script(&self) -> bool {
        ends_in_a_script(self.line)
    }

    /// Its lines, with the comments before each.
    fn lines(&self) -> Vec<[&'a str; 2]> {
        let inside = self.inside.iter().flat_map(Part::lines);
        let mut lines = vec![[self.lead, self.line]];
        lines.extend(inside);
        lines
    }

    /// The first command of ours in it.
    fn command(&self) -> Option<&'a str> {
        let mut lines = self.lines().into_iter();
        lines.find_map(|[_, line]| command(line).map(|(_, command)| command))
    }

    /// What it is called among those beside it: its field, or of a step its action or name.
    fn name(&self) -> &'a str {
        if !self.is_entry() {
            return field(self.line);
        }
        let named = |name: &str| self.inside.iter().find(|it| field(it.line) == name);
        match (named("uses"), named("name")) {
            (Some(uses), _) => bare(uses.line).split('@').next().unwrap_or_default(),
            (None, Some(name)) => bare(name.line),
            (None, None) => self.inside.first().map_or("", |it| field(it.line)),
        }
    }
}

fn ends_in_a_script(line: &str) -> bool {
    let words = essence(line).rsplit(' ').next().unwrap_or_default();
    words.starts_with(['|', '>'])
}

/// A line without its indentation, its hyphen and its comment.
fn bare(line: &str) -> &str {
    let line = essence(line).trim_start();
    line.strip_prefix("- ").unwrap_or(line)
}

fn field(line: &str) -> &str {
    bare(line).split(':').next().unwrap_or_default()
}

fn column(line: &str) -> usize {
    let start = line.trim_start();
    line.len() - start.len() + if start.starts_with("- ") { 2 } else { 0 }
}

/// How deep a line stands: an entry of a list is in the field above it, also where it is not indented.
fn depth(line: &str) -> usize {
    let start = line.trim_start();
    2 * (line.len() - start.len()) + usize::from(start.starts_with("- "))
}

fn blocks<'a>(chunks: &[Chunk<'a>]) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    let mut rest = chunks;
    while let Some((head, behind)) = rest.split_first() {
        let is_entry = head.line.trim_start().starts_with("- ");
        let deeper = |it: &&Chunk| depth(it.line) > depth(head.line);
        let size = behind.iter().take_while(deeper).count();
        let field = |lead, chunk: &Chunk<'a>, inside: &[Chunk<'a>]| {
            let line = |it: &Chunk<'a>| Part {
                lead: it.lead,
                line: it.line,
                inside: Vec::new(),
            };
            Part {
                lead,
                line: chunk.line,
                inside: match ends_in_a_script(chunk.line) {
                    true => inside.iter().map(line).collect(),
                    false => blocks(inside),
                },
            }
        };
        let (inside, after) = behind.split_at(size);
        parts.push(match is_entry {
            true => {
                let deeper = |it: &&Chunk| depth(it.line) > 2 * column(head.line);
                let size = inside.iter().take_while(deeper).count();
                let mut fields = vec![field("", head, &inside[..size])];
                fields.extend(blocks(&inside[size..]));
                Part {
                    lead: head.lead,
                    line: "",
                    inside: fields,
                }
            }
            false => field(head.lead, head, inside),
        });
        rest = after;
    }
    parts
}

/// What becomes of a workflow of people's, part by part.
struct Merged<'a> {
    theirs: &'a str,
    out: String,
    /// Lines of ours that theirs lacks.
    missing: Vec<&'a str>,
    /// Theirs cannot be read as the blocks that it should have.
    is_odd: bool,
}

impl<'a> Merged<'a> {
    fn of(theirs: &'a str) -> Self {
        Merged {
            theirs,
            out: String::new(),
            missing: Vec::new(),
            is_odd: false,
        }
    }

    /// Merges what stands beside each other. Theirs keeps its order; what it lacks comes behind what is before it in ours.
    fn blocks(&mut self, theirs: &[Part<'a>], ours: &[Part<'a>], base: &[Part<'a>]) {
        let matched = matched(theirs, ours);
        let is_of = |part: &Part, all: &[Part]| all.iter().any(|it| is_same(it, part));
        let column_of = |all: &[Part]| all.first().map(first_column);
        let shift = (column_of(theirs), column_of(ours));
        let lacking = |after: Option<usize>| {
            let first = after.map_or(0, |at| at + 1);
            let rest = (first..ours.len()).take_while(|at| !matched.contains(&Some(*at)));
            rest.map(|at| &ours[at]).collect::<Vec<_>>()
        };
        let is_fields = theirs
            .first()
            .is_some_and(|it| it.line.trim_start().starts_with("- "));
        let mut front = lacking(None);
        if !is_fields {
            front.drain(..).for_each(|part| self.restore(part, shift));
        }
        for (part, of) in theirs.iter().zip(&matched) {
            match of.map(|at| &ours[at]) {
                Some(own) => {
                    let before = base.iter().find(|it| is_same(it, own));
                    self.part(part, own, before.map_or(&[], |it| &it.inside[..]));
                }
                None if is_of(part, base) && !part.line.trim_start().starts_with("- ") => {}
                None => self.keep(part),
            }
            front.drain(..).for_each(|part| self.restore(part, shift));
            if let Some(at) = of {
                lacking(Some(*at))
                    .into_iter()
                    .for_each(|part| self.restore(part, shift));
            }
        }
    }

    fn part(&mut self, theirs: &Part<'a>, ours: &Part<'a>, base: &[Part<'a>]) {
        self.out.push_str(theirs.lead);
        let of_script = theirs
            .inside
            .iter()
            .find_map(|it| restored(it.line, ours.line));
        let in_script = theirs.is_script()
            && command(ours.line).is_some()
            && theirs.command() == ours.command();
        if theirs.is_script() && ours.is_script() {
            self.out.push_str(theirs.line);
            return self.script(&theirs.inside, &ours.inside);
        }
        if in_script {
            self.out.push_str(theirs.line);
            self.missing.extend(of_script.iter().map(|_| ours.line));
            for it in &theirs.inside {
                let restored = restored(it.line, ours.line);
                self.out.push_str(it.lead);
                self.out.push_str(restored.as_deref().unwrap_or(it.line));
            }
            return;
        }
        let (own, wanted) = (key(bare(theirs.line)), key(bare(ours.line)));
        let has_value = |part: &Part| !essence(part.line).ends_with(':');
        if field(theirs.line) != field(ours.line) {
            self.out.push_str(theirs.line);
        } else if own == wanted {
            let restored = restored(theirs.line, ours.line);
            self.missing.extend(restored.iter().map(|_| ours.line));
            self.out
                .push_str(restored.as_deref().unwrap_or(theirs.line));
        } else {
            self.missing.push(ours.line);
            self.out.push_str(&theirs.line[..column(theirs.line)]);
            self.out.push_str(&ours.line[column(ours.line)..]);
            if ours.is_script() || theirs.is_script() {
                return ours
                    .inside
                    .iter()
                    .for_each(|it| self.restore(it, (None, None)));
            }
        }
        let has = |name: &str| theirs.inside.iter().any(|it| field(it.line) == name);
        self.is_odd |= has_value(theirs) && !theirs.is_entry() && !theirs.inside.is_empty();
        self.is_odd |= theirs.is_entry() && has("uses") && has("run");
        self.blocks(&theirs.inside, &ours.inside, base);
    }

    /// Merges two scripts by lines: where both have others, ours take the place.
    fn script(&mut self, theirs: &[Part<'a>], ours: &[Part<'a>]) {
        let keys =
            |all: &[Part]| -> Vec<String> { all.iter().map(|it| key(bare(it.line))).collect() };
        for op in capture_diff_slices(Algorithm::Myers, &keys(theirs), &keys(ours)) {
            let (tag, old, new) = op.as_tag_tuple();
            match tag {
                DiffTag::Equal | DiffTag::Delete => theirs[old].iter().for_each(|it| self.keep(it)),
                DiffTag::Insert | DiffTag::Replace => {
                    ours[new]
                        .iter()
                        .for_each(|it| self.restore(it, (None, None)));
                }
            }
        }
    }

    fn keep(&mut self, part: &Part<'a>) {
        self.out.extend(part.lines().into_iter().flatten());
    }

    /// Puts a part of ours, moved by as much as what theirs has beside it.
    fn restore(&mut self, part: &Part<'a>, (theirs, ours): (Option<usize>, Option<usize>)) {
        for [lead, line] in part.lines() {
            // a comment that stayed is not told twice
            let is_told = self.theirs.contains(lead);
            for line in lead.lines().filter(|_| !is_told).chain(line.lines()) {
                let blanks = line.len() - line.trim_start().len();
                let moved =
                    (blanks + theirs.unwrap_or_default()).saturating_sub(ours.unwrap_or_default());
                let moved = if theirs.is_some() && ours.is_some() {
                    moved
                } else {
                    blanks
                };
                self.out
                    .push_str(&format!("{}{}\n", " ".repeat(moved), line.trim_start()));
            }
            if !line.is_empty() {
                self.missing.push(line);
            }
        }
    }
}

/// Returns which of ours each part of theirs is: the one of its name, else the one that runs the same command.
fn matched(theirs: &[Part], ours: &[Part]) -> Vec<Option<usize>> {
    let mut matched = vec![None; theirs.len()];
    // of a step or a job
    let runs = |part: &Part| {
        let is_one = part.is_entry() || part.inside.iter().any(|it| field(it.line) == "steps");
        part.command().map(str::to_owned).filter(|_| is_one)
    };
    for by_command in [false, true] {
        for (at, own) in ours.iter().enumerate() {
            let is_one = |(of, part): (&Option<usize>, &Part)| {
                of.is_none()
                    && match by_command {
                        true => runs(part).is_some() && runs(part) == runs(own),
                        false => is_same(part, own),
                    }
            };
            if !matched.contains(&Some(at))
                && let Some(place) = matched.iter().zip(theirs).position(is_one)
            {
                matched[place] = Some(at);
            }
        }
    }
    matched
}

/// Whether two parts have the same name; a step that runs our program is known by its command.
fn is_same(one: &Part, other: &Part) -> bool {
    let runs = |part: &Part| part.is_entry() && part.command().is_some();
    one.is_entry() == other.is_entry() && !runs(one) && !runs(other) && one.name() == other.name()
}

fn first_column(part: &Part) -> usize {
    part.inside
        .first()
        .filter(|_| part.is_entry())
        .map_or_else(|| column(part.line), first_column)
}

#[allow(clippy::unwrap_used, reason = "a test may panic")]
#[cfg(test)]
mod tests {
    use yaml_rust2::YamlLoader;

    use super::*;

    const APPLY: &str = FILES[1].1;

    fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
        FILES.into_iter().chain(WITHOUT_ACTIONS).chain(FORKS)
    }

    #[test]
    fn every_text_of_this_version_lacks_nothing() {
        for (name, text) in all() {
            let judged = judged(name, text).unwrap();
            assert_eq!((judged.text.as_str(), judged.missing), (text, 0), "{name}");
        }
        assert_eq!(judged("ci.yml", "name: ci\n"), None);
        // a plan of somebody else
        assert_eq!(
            judged("plan.yml", "name: plan\n    - run: terraform plan\n"),
            None
        );
        let (_, plan) = FILES[0];
        assert_eq!(
            judged("netbird-plan.yml", plan).map(|it| it.missing),
            Some(0)
        );
    }

    #[test]
    fn what_people_choose_and_add_stays() {
        let adapted = APPLY
            .replace("[main]", "\n      - main\n      - trunk")
            .replace("ubuntu-latest", "debian # ours\n    container: registry/image:1\n    env:\n      A: b")
            .replace("timeout-minutes: 60", "timeout-minutes: 90")
            .replace("sync-events", "sync-events --via-pr")
            .replace("      - run: netbird-gitops a", "      - run: netbird-gitops doctor\n      - name: Apply\n        run: netbird-gitops a")
            .replace("apply --yes", "apply --yes --environment lab")
            .replace("secrets.NETBIRD_APPLY_TOKEN", "secrets.NETBIRD_APPLY_TOKEN_LAB")
            .replace("        env:\n", "        env:\n          GITEA_BRANCH: trunk\n");
        for adapted in [adapted.replace('\n', "\r\n"), adapted] {
            let compared = compare(&adapted, APPLY);
            assert_eq!((compared.text, compared.missing), (adapted, 0));
        }
    }

    /// Of two lines in a row one is replaced, and the one that people added stays.
    #[test]
    fn what_is_missing_is_restored_around_what_people_added() {
        let theirs = APPLY
            .replace(
                "fetch-depth: 0",
                "fetch-depth: 1\n          submodules: true",
            )
            .replace(
                "checkout@11d5960a326750d5838078e36cf38b85af677262 # v4.4.0",
                "checkout@v3",
            )
            .replace("apply --yes --comment", "apply --yes --report r.json")
            .replace("ubuntu-latest", "debian\n    container: mine");
        let compared = compare(&theirs, APPLY);
        assert_eq!(compared.faults, ["lacks fetch-depth: 0"]);
        assert_eq!(compared.missing, 3);
        assert!(compared.text.contains("fetch-depth: 0 # the commits since the last apply say which change deletes what\n          submodules: true # the"));
        assert!(compared.text.contains(
            "apply --yes --comment --allow-deletes \"$ALLOW_DELETES\" --report r.json\n"
        ));
        assert!(compared.text.contains("debian\n    container: mine\n"));
        assert_eq!(compare(&compared.text, APPLY).missing, 0);
    }

    /// Whatever line is lost, what is restored is a workflow that lacks nothing.
    #[test]
    fn each_lost_line_is_restored() {
        for (name, ours) in all() {
            let lines: Vec<&str> = ours.split_inclusive('\n').collect();
            for at in 0..lines.len() {
                let mut theirs = lines.clone();
                let lost = theirs.remove(at);
                let start = essence(lost).trim_start();
                // without its head a block is part of another one
                if start.starts_with("- ") || start.ends_with([':', '|']) {
                    continue;
                }
                let compared = compare(&theirs.concat(), ours);
                assert_eq!(
                    compared.missing,
                    usize::from(!essence(lost).is_empty()),
                    "{name}: {lost}"
                );
                assert_eq!(compare(&compared.text, ours).missing, 0, "{name}: {lost}");
                YamlLoader::load_from_str(&compared.text).unwrap();
            }
        }
    }

    /// Steps, a container and variables of people's own stay beside each line of ours that is lost.
    #[test]
    fn what_people_added_stays_beside_a_line_that_is_restored() {
        let job = "    container: acme/image:1\n    env:\n      MINE: 1\n";
        let step = "      - name: Mine\n        uses: acme/mine@v1\n        with:\n          fetch-depth: 7\n      - run: |\n          make mine\n";
        for (name, ours) in all() {
            let lines: Vec<&str> = ours.split_inclusive('\n').collect();
            let steps = lines.iter().position(|line| line.starts_with("    steps:"));
            let steps = steps.unwrap();
            let starts = (steps..lines.len()).filter(|at| lines[*at].starts_with("      - "));
            for at in starts.chain([lines.len()]) {
                let near = (at - 3..at + 3).chain(steps - 2..steps + 2);
                for lost in near.filter(|lost| *lost < lines.len()) {
                    let mut theirs = lines.clone();
                    theirs.insert(at, step);
                    theirs.insert(steps, job);
                    theirs.retain(|line| *line != lines[lost]);
                    let theirs = theirs.concat();
                    if YamlLoader::load_from_str(&theirs).is_err() {
                        continue;
                    }
                    let compared = compare(&theirs, ours);
                    let text = &compared.text;
                    assert!(text.contains(job) && text.contains(step), "{name}: {text}");
                    YamlLoader::load_from_str(text).unwrap();
                    assert_eq!(compare(text, ours).missing, 0, "{name}: {text}");
                }
            }
        }
    }

    /// Another variant has its own events, steps and tokens; what people added stays.
    #[test]
    fn another_variant_takes_the_place_of_the_one_that_is_there() {
        let step = "      - name: Mine\n        run: netbird-gitops doctor\n        env:\n          GITEA_TOKEN: ${{ secrets.GITEA_TOKEN }}\n";
        let [(_, plain), (_, other), (_, forks)] = [FILES[0], WITHOUT_ACTIONS[0], FORKS[0]];
        for (from, to) in [
            (plain, forks),
            (forks, plain),
            (plain, other),
            (other, plain),
        ] {
            let last = from.rfind("      - ").unwrap();
            let theirs = format!("{}{step}{}", &from[..last], &from[last..]);
            let theirs = theirs.replace("ubuntu-latest", "debian\n    container: mine");
            let (_, base) = nearest("plan.yml", &theirs).unwrap();
            let text = merge(&theirs, to, base).text;
            assert!(
                text.contains(step) && text.contains("debian\n    container: mine\n"),
                "{text}"
            );
            let without = text
                .replace(step, "")
                .replace("debian\n    container: mine", "ubuntu-latest");
            let lines = |text: &str| -> Vec<String> {
                let lines = text.lines().map(|line| essence(line).to_owned());
                lines.filter(|line| !line.is_empty()).collect()
            };
            assert_eq!(lines(&without), lines(to));
        }
    }

    /// With the other token a plan fails, or a pull request sees what it must not.
    #[test]
    fn a_protected_line_that_is_lost_is_a_fault() {
        for (from, to) in [
            ("NETBIRD_APPLY_TOKEN", "NETBIRD_PLAN_TOKEN"),
            ("fetch-depth: 0", "fetch-depth: 1"),
            ("    branches: [main]\n", ""),
            ("apply --yes", "apply --any-commit --yes"),
            ("cancel-in-progress: false", "cancel-in-progress: true"),
            ("- run: netbird-gitops apply", "- run: echo"),
        ] {
            assert!(APPLY.contains(from), "{from}");
            assert!(
                !compare(&APPLY.replace(from, to), APPLY).faults.is_empty(),
                "{from}"
            );
        }
        for (from, to) in [
            ("        continue-on-error: true", "        if: true"),
            ("--comment ", ""),
            ("paths: [netbird.json]", ""),
            ("          AGE_PUBLIC_KEY: ${{ vars.AGE_PUBLIC_KEY }}\n", ""),
        ] {
            assert!(APPLY.contains(from), "{from}");
            let compared = compare(&APPLY.replace(from, to), APPLY);
            assert_eq!((compared.faults.len(), compared.missing), (0, 1), "{from}");
        }
    }
}
