//! A workflow as blocks, and what becomes of one of people's that lacks blocks of ours.

use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::{command, essence, key, restored};

/// Merges a workflow with ours; `base` is the one of ours that it was made of.
pub(super) fn merge_blocks<'a>(theirs: &'a str, ours: &'a str, base: &'a str) -> Merged<'a> {
    let read = |text| blocks(&chunks(text));
    let mut merged = Merged {
        theirs,
        out: String::new(),
        missing: Vec::new(),
        is_odd: false,
    };
    merged.blocks(&read(theirs), &read(ours), &read(base));
    merged
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
