//! A workflow as blocks, and what becomes of one of people's that lacks blocks of ours.

use similar::DiffTag;

use super::{command, essence, key, restored};
use crate::base::line_changes;

/// Merges a workflow with ours; `base` is the one of ours that it was made of.
pub(super) fn merge_blocks<'a>(theirs: &'a str, ours: &'a str, base: &'a str) -> Merged<'a> {
    let read = |text| blocks(&lines(text));
    let mut merged = Merged {
        theirs,
        ..Merged::default()
    };
    merged.blocks(&read(theirs), &read(ours), &read(base));
    merged
}

/// The comments before a line, and the line.
type Line<'a> = [&'a str; 2];

fn lines(text: &str) -> Vec<Line<'_>> {
    let (mut lines, mut start, mut at) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        if !essence(line).is_empty() {
            lines.push([&text[start..at], line]);
            start = at + line.len();
        }
        at += line.len();
    }
    if start < at {
        lines.push([&text[start..], ""]);
    }
    lines
}

/// A field with what stands in it, an entry of a list with its fields, or a line of a script.
struct Part<'a> {
    lead: &'a str,
    /// Empty for an entry of a list, whose first field has the hyphen.
    line: &'a str,
    inside: Vec<Part<'a>>,
}

impl<'a> Part<'a> {
    /// A field, or a line of a script.
    fn of([lead, line]: Line<'a>, inside: &[Line<'a>]) -> Self {
        let inside = match ends_in_a_script(line) {
            true => inside.iter().map(|line| Part::of(*line, &[])).collect(),
            false => blocks(inside),
        };
        Part { lead, line, inside }
    }

    fn is_entry(&self) -> bool {
        self.line.is_empty() && !self.inside.is_empty()
    }

    fn is_script(&self) -> bool {
        ends_in_a_script(self.line)
    }

    /// Its lines, with the comments before each.
    fn lines(&self) -> Vec<Line<'a>> {
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

/// Whether the value of a line stands below it.
fn opens(line: &str) -> bool {
    essence(line).ends_with(':')
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

fn has_hyphen(line: &str) -> bool {
    line.trim_start().starts_with("- ")
}

/// Splits off the lines in front that stand deeper.
fn deeper<'l, 'a>(lines: &'l [Line<'a>], depth: usize) -> (&'l [Line<'a>], &'l [Line<'a>]) {
    let is_out = |[_, line]: &Line| self::depth(line) <= depth;
    lines.split_at(lines.iter().position(is_out).unwrap_or(lines.len()))
}

fn blocks<'a>(mut rest: &[Line<'a>]) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    while let [[lead, line], behind @ ..] = rest {
        let (inside, after) = deeper(behind, depth(line));
        rest = after;
        let mut part = Part::of([lead, line], inside);
        if has_hyphen(line) {
            let (of_first, others) = deeper(inside, 2 * column(line));
            part.inside = vec![Part::of(["", line], of_first)];
            part.inside.extend(blocks(others));
            part.line = "";
        }
        parts.push(part);
    }
    parts
}

/// What becomes of a workflow of people's, part by part.
#[derive(Default)]
pub(super) struct Merged<'a> {
    theirs: &'a str,
    /// The text.
    pub(super) out: String,
    /// Lines of ours that theirs lacks.
    pub(super) missing: Vec<&'a str>,
    /// Theirs cannot be read as the blocks that it should have.
    pub(super) is_odd: bool,
}

impl<'a> Merged<'a> {
    /// Merges what stands beside each other. Theirs keeps its order; what it lacks is put behind what is before it in ours, and
    /// never before the first field of an entry.
    fn blocks(&mut self, theirs: &[Part<'a>], ours: &[Part<'a>], base: &[Part<'a>]) {
        let matched = matched(theirs, ours);
        let shift = match (theirs.first(), ours.first()) {
            (Some(theirs), Some(ours)) => {
                first_column(theirs).cast_signed() - first_column(ours).cast_signed()
            }
            _ => 0,
        };
        let lacking = |after: Option<usize>| {
            let rest = after.map_or(0, |at| at + 1)..ours.len();
            let rest = rest.take_while(|at| !matched.contains(&Some(*at)));
            rest.map(|at| &ours[at])
        };
        let mut front: Vec<&Part> = lacking(None).collect();
        if !theirs.first().is_some_and(|first| has_hyphen(first.line)) {
            front.drain(..).for_each(|part| self.restore(part, shift));
        }
        for (part, of) in theirs.iter().zip(&matched) {
            let is_of_base = base.iter().any(|it| is_same(it, part));
            match of {
                Some(at) => {
                    let before = base.iter().find(|it| is_same(it, &ours[*at]));
                    self.part(part, &ours[*at], before.map_or(&[], |it| &it.inside));
                }
                None if is_of_base && !has_hyphen(part.line) => {}
                None => self.keep(part),
            }
            let behind = of.map(|at| lacking(Some(at)));
            for part in front.drain(..).chain(behind.into_iter().flatten()) {
                self.restore(part, shift);
            }
        }
    }

    fn part(&mut self, theirs: &Part<'a>, ours: &Part<'a>, base: &[Part<'a>]) {
        self.out.push_str(theirs.lead);
        let is_called = command(ours.line).is_some() && theirs.command() == ours.command();
        if theirs.is_script() && ours.is_script() {
            self.out.push_str(theirs.line);
            return self.script(&theirs.inside, &ours.inside);
        }
        if theirs.is_script() && is_called {
            self.out.push_str(theirs.line);
            for it in &theirs.inside {
                self.out.push_str(it.lead);
                self.line(it.line, ours.line);
            }
            return;
        }
        if field(theirs.line) != field(ours.line) {
            self.out.push_str(theirs.line);
        } else if key(bare(theirs.line)) == key(bare(ours.line)) {
            self.line(theirs.line, ours.line);
        } else {
            self.missing.push(ours.line);
            // all its fields in one line, or a value below its name
            self.is_odd |= opens(theirs.line) != opens(ours.line);
            self.out.push_str(&theirs.line[..column(theirs.line)]);
            self.out.push_str(&ours.line[column(ours.line)..]);
            if ours.is_script() || theirs.is_script() {
                return ours.inside.iter().for_each(|it| self.restore(it, 0));
            }
        }
        let has = |name: &str| theirs.inside.iter().any(|it| field(it.line) == name);
        self.is_odd |= match theirs.is_entry() {
            true => has("uses") && has("run"),
            false => !opens(theirs.line) && !theirs.inside.is_empty(),
        };
        self.blocks(&theirs.inside, &ours.inside, base);
    }

    /// Puts a line of theirs, with what its call of our program lacks.
    fn line(&mut self, theirs: &str, ours: &'a str) {
        let restored = restored(theirs, ours);
        self.missing.extend(restored.iter().map(|_| ours));
        self.out.push_str(restored.as_deref().unwrap_or(theirs));
    }

    /// Merges two scripts by lines: where both have others, ours take the place.
    fn script(&mut self, theirs: &[Part<'a>], ours: &[Part<'a>]) {
        let keys =
            |all: &[Part]| -> Vec<String> { all.iter().map(|it| key(bare(it.line))).collect() };
        let (old, new) = (keys(theirs), keys(ours));
        let [old, new] =
            [&old, &new].map(|keys| keys.iter().map(String::as_str).collect::<Vec<_>>());
        for op in line_changes(&old, &new) {
            let (tag, old, new) = op.as_tag_tuple();
            match tag {
                DiffTag::Equal | DiffTag::Delete => theirs[old].iter().for_each(|it| self.keep(it)),
                DiffTag::Insert | DiffTag::Replace => {
                    ours[new].iter().for_each(|it| self.restore(it, 0));
                }
            }
        }
    }

    fn keep(&mut self, part: &Part<'a>) {
        self.out.extend(part.lines().into_iter().flatten());
    }

    /// Puts a part of ours, moved by so many columns.
    fn restore(&mut self, part: &Part<'a>, shift: isize) {
        for [lead, line] in part.lines() {
            // a comment that stayed is not repeated
            let lead = if self.theirs.contains(lead) { "" } else { lead };
            for line in lead.lines().chain(line.lines()) {
                let text = line.trim_start();
                let blanks = (line.len() - text.len()).saturating_add_signed(shift);
                self.out
                    .push_str(&format!("{}{text}\n", " ".repeat(blanks)));
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
    for is_one in [is_same, runs_the_same] {
        for (at, own) in ours.iter().enumerate() {
            let is_free = |place: &usize| matched[*place].is_none() && is_one(&theirs[*place], own);
            if !matched.contains(&Some(at))
                && let Some(place) = (0..theirs.len()).find(is_free)
            {
                matched[place] = Some(at);
            }
        }
    }
    matched
}

/// Whether two steps or jobs run the same command of ours.
fn runs_the_same(one: &Part, other: &Part) -> bool {
    let runs = |part: &Part| {
        let is_job = part.inside.iter().any(|it| field(it.line) == "steps");
        let command = part.command().filter(|_| is_job || part.is_entry());
        command.map(str::to_owned)
    };
    runs(one).is_some() && runs(one) == runs(other)
}

/// Whether two parts have the same name; a step that runs our program is known by its command.
fn is_same(one: &Part, other: &Part) -> bool {
    let runs = |part: &Part| part.is_entry() && part.command().is_some();
    one.is_entry() == other.is_entry() && !runs(one) && !runs(other) && one.name() == other.name()
}

fn first_column(part: &Part) -> usize {
    let first = part.inside.first().filter(|_| part.is_entry());
    first.map_or_else(|| column(part.line), first_column)
}
