//! Where the chunks of a patch belong in a text. Every chunk has exactly one place, by the same
//! strategies as any other edit, or nothing is planned.

use std::ops::Range;

use ropey::Rope;

use super::Chunk;
use crate::edit::lines::{self, Line, split};
use crate::edit::matching::similar::{self, Difference};
use crate::edit::matching::{Place, Strategy, Wanted, locate};
use crate::edit::{Hunk, Plan};
use crate::env::order;

/// With more lines that a header may mean, the header says nothing.
const HEADERS: usize = 64;

/// Why a chunk has no place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkError {
    /// 1-based line of the patch.
    pub line: usize,
    pub problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Its lines, or else one of its headers, do not occur.
    NotFound {
        header: Option<String>,
        /// Up to three 1-based numbers of the most similar lines.
        similar: Vec<usize>,
        /// The first difference at the first of them.
        differs: Option<Difference>,
    },
    /// Its lines, or its header, occur more than once.
    Ambiguous {
        /// 1-based lines of all places.
        lines: Vec<usize>,
        strategy: Strategy,
    },
    /// It adds lines and does not say where.
    Nowhere,
    /// Another chunk changes the same lines.
    Overlap { other: usize },
}

/// The plan of all chunks, or all chunks that have no place.
pub fn plan(base: &Rope, chunks: &[Chunk]) -> Result<Plan, Vec<ChunkError>> {
    let text = String::from(base);
    let lines = split(&text);
    let document = Document {
        text: &text,
        lines: &lines,
    };
    let mut errors = Vec::new();
    // Each with its chunk's place.
    let mut hunks: Vec<(Hunk, Range<usize>)> = Vec::new();
    let mut changed: Vec<Changed> = Vec::new();
    let mut plan = Plan {
        base: base.clone(),
        hunks: Vec::new(),
        named: Vec::new(),
        strategy: Strategy::Exact,
    };
    for chunk in chunks {
        match document.place(chunk) {
            Ok((strategy, place)) => {
                let here = &place.range;
                let of_place = document.changed(&place).into_iter();
                changed.extend(of_place.map(|lines| (lines, here.clone(), chunk.line)));
                let of_place = lines::hunks(&text, here.clone(), &place.new).into_iter();
                hunks.extend(of_place.map(|hunk| (hunk, here.clone())));
                plan.named.push(place.range);
                plan.strategy = plan.strategy.max(strategy);
            }
            Err(problem) => errors.push(ChunkError {
                line: chunk.line,
                problem,
            }),
        }
    }
    errors.extend(overlaps(changed));
    if !errors.is_empty() {
        return Err(errors);
    }
    order::sort_by_key(&mut hunks, |(hunk, place)| {
        (hunk.start, hunk.end, place.start)
    });
    plan.hunks = joined(hunks.into_iter().map(|(hunk, _)| hunk));
    order::sort_by_key(&mut plan.named, |range| (range.start, range.end));
    // Chunks may share context.
    plan.named.dedup_by(|later, earlier| {
        let touches = later.start < earlier.end;
        if touches {
            earlier.end = earlier.end.max(later.end);
        }
        touches
    });
    Ok(plan)
}

/// Lines that a chunk changes, the chunk's place, and its line in the patch.
type Changed = (Range<usize>, Range<usize>, usize);

/// Chunks that change the same lines. Whole lines: without the bytes that stay, two changes of one
/// line may seem to be apart.
fn overlaps(mut changed: Vec<Changed>) -> Vec<ChunkError> {
    let mut errors = Vec::new();
    order::sort_by_key(&mut changed, |(lines, place, _)| {
        (lines.start, lines.end, place.start)
    });
    for pair in changed.windows(2) {
        let [(first, here, other), (second, there, line)] = pair else {
            continue;
        };
        // Of two additions at one point, the order is that of their places.
        let unordered = first == second && there.start < here.end;
        if second.start < first.end || unordered {
            let problem = Problem::Overlap {
                other: *line.min(other),
            };
            errors.push(ChunkError {
                line: *line.max(other),
                problem,
            });
        }
    }
    errors
}

/// Hunks that share an edge become one.
fn joined(hunks: impl Iterator<Item = Hunk>) -> Vec<Hunk> {
    let mut all: Vec<Hunk> = Vec::new();
    for hunk in hunks {
        match all.last_mut() {
            Some(last) if last.end == hunk.start => {
                last.end = hunk.end;
                last.text.push_str(&hunk.text);
            }
            _ => all.push(hunk),
        }
    }
    all
}

/// Lines in which a chunk is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scope {
    first: usize,
    /// The first line after the block that `first` begins.
    end: usize,
}

struct Document<'a> {
    text: &'a str,
    lines: &'a [Line<'a>],
}

impl Document<'_> {
    fn place(&self, chunk: &Chunk) -> Result<(Strategy, Place), Problem> {
        let scopes = self.scopes(&chunk.headers)?;
        if chunk.old.is_empty() {
            return self
                .addition(chunk, &scopes)
                .map(|place| (Strategy::Exact, place));
        }
        let wanted = Wanted {
            old: &chunk.old,
            new: &chunk.new,
            whole_lines: true,
        };
        let rows = chunk.old.lines().count();
        // The header's block first, then everything below it.
        for below in [false, true] {
            let ends = scopes.iter().map(|scope| {
                let end = if below { self.lines.len() } else { scope.end };
                (scope.first, end)
            });
            let (strategy, mut places) = self.strictest(ends, rows, wanted);
            let at_end = |place: &Place| self.text[place.range.end..].trim().is_empty();
            if chunk.at_end && places.iter().any(at_end) {
                places.retain(at_end);
            }
            match places.len() {
                0 => {}
                1 => return Ok((strategy, places.remove(0))),
                _ => {
                    let lines = places.iter().map(|place| self.number(place.range.start));
                    let lines = lines.collect();
                    return Err(Problem::Ambiguous { lines, strategy });
                }
            }
        }
        let (similar, differs) = similar::places(self.text, &chunk.old);
        Err(Problem::NotFound {
            header: None,
            similar,
            differs,
        })
    }

    /// Where the last of the headers is, each below the one before it.
    fn scopes(&self, headers: &[String]) -> Result<Vec<Scope>, Problem> {
        let mut scopes = vec![Scope {
            first: 0,
            end: self.lines.len(),
        }];
        for (at, header) in headers.iter().enumerate() {
            let line = format!("{header}\n");
            let wanted = Wanted {
                old: &line,
                new: &line,
                whole_lines: true,
            };
            // Below the line of the header before.
            let skipped = usize::from(at > 0);
            let within = |below: bool| {
                let ends = scopes.iter().map(|scope| {
                    let end = if below { self.lines.len() } else { scope.end };
                    (scope.first + skipped, end)
                });
                self.strictest(ends, 1, wanted)
            };
            let (mut strategy, mut places) = within(false);
            if places.is_empty() {
                (strategy, places) = within(true);
            }
            if places.is_empty() {
                let (similar, differs) = similar::places(self.text, header);
                return Err(Problem::NotFound {
                    header: Some(header.clone()),
                    similar,
                    differs,
                });
            }
            let firsts = places.iter().map(|place| self.number(place.range.start));
            let lines: Vec<usize> = firsts.collect();
            if lines.len() > HEADERS {
                return Err(Problem::Ambiguous { lines, strategy });
            }
            scopes = lines.iter().map(|line| self.block(line - 1)).collect();
        }
        Ok(scopes)
    }

    /// The places in the given ranges of lines that the strictest strategy finds in any of them.
    /// They begin there, and may end `rows` lines later. Each is returned once, ascending.
    fn strictest(
        &self,
        ranges: impl Iterator<Item = (usize, usize)>,
        rows: usize,
        wanted: Wanted<'_>,
    ) -> (Strategy, Vec<Place>) {
        let mut all: Vec<(Strategy, Place)> = Vec::new();
        for (first, end) in ranges {
            let Some(last) = (end + rows - 1).min(self.lines.len()).checked_sub(1) else {
                continue;
            };
            let Some(start) = self.lines.get(first).filter(|_| first <= last) else {
                continue;
            };
            let (from, to) = (start.start, self.lines[last].stop());
            let (strategy, places) = locate(&self.text[from..to], wanted);
            all.extend(places.into_iter().map(|place| {
                let range = place.range.start + from..place.range.end + from;
                (strategy, Place { range, ..place })
            }));
        }
        let strictest = all.iter().map(|(strategy, _)| *strategy).min();
        let strictest = strictest.unwrap_or_default();
        all.retain(|(strategy, _)| *strategy == strictest);
        let mut places: Vec<Place> = all.into_iter().map(|(_, place)| place).collect();
        order::sort_by_key(&mut places, |place| place.range.start);
        places.dedup_by_key(|place| place.range.start);
        (strictest, places)
    }

    /// The block that a line begins: the deeper lines below it, and the brackets between them.
    fn block(&self, first: usize) -> Scope {
        let depth = |line: &Line<'_>| line.body.len() - line.body.trim_start().len();
        let own = self.lines.get(first).map_or(0, depth);
        let ends = |line: &Line<'_>| {
            let body = line.body.trim_start();
            !body.is_empty() && depth(line) <= own && !body.starts_with([')', ']', '}', '{'])
        };
        let below = self.lines.iter().skip(first + 1);
        let end = below.take_while(|line| !ends(line)).count();
        Scope {
            first,
            end: first + 1 + end,
        }
    }

    /// Lines without context: below the header, or at the end of the file.
    fn addition(&self, chunk: &Chunk, scopes: &[Scope]) -> Result<Place, Problem> {
        let above = match scopes {
            _ if chunk.at_end || self.lines.is_empty() => self.lines.last(),
            _ if chunk.headers.is_empty() => return Err(Problem::Nowhere),
            [scope] => self.lines.get(scope.first),
            scopes => {
                return Err(Problem::Ambiguous {
                    lines: scopes.iter().map(|scope| scope.first + 1).collect(),
                    strategy: Strategy::Exact,
                });
            }
        };
        let Some(above) = above else {
            let (range, new) = (0..self.text.len(), chunk.new.clone());
            return Ok(Place { range, new });
        };
        let mut new = format!("{}\n{}", above.body, chunk.new);
        if above.end.is_empty() {
            new.pop();
        }
        Ok(Place {
            range: above.start..above.stop(),
            new,
        })
    }

    /// The lines that a place changes, counted from 0.
    fn changed(&self, place: &Place) -> Vec<Range<usize>> {
        let first = self.number(place.range.start).saturating_sub(1);
        let (old, new) = (split(&self.text[place.range.clone()]), split(&place.new));
        let blocks = lines::differing(&old, &new, false).into_iter();
        blocks
            .map(|(old, _)| first + old.start..first + old.end)
            .collect()
    }

    /// The 1-based line at a byte.
    fn number(&self, start: usize) -> usize {
        self.lines.partition_point(|line| line.start <= start)
    }
}
