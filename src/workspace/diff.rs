//! The line diff. All callers number their tokens first, so that the algorithm is compiled once.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

use similar::DiffOp;
use similar::algorithms::{Capture, Compact, Replace, myers};

/// Adds the numbers of `tokens` to `known`; equal tokens have equal numbers.
pub fn numbered<T: Eq + Hash>(
    tokens: impl Iterator<Item = T>,
    known: &mut HashMap<T, u32>,
) -> Vec<u32> {
    tokens
        .map(|token| {
            let next = known.len() as u32;
            *known.entry(token).or_insert(next)
        })
        .collect()
}

/// The operations that turn `old` into `new`, in ascending order. After `budget` the result may be
/// coarser than necessary, but is never wrong.
pub fn operations(old: &[u32], new: &[u32], budget: Duration) -> Vec<DiffOp> {
    let deadline = Instant::now().checked_add(budget);
    let mut hook = Compact::new(Replace::new(Capture::new()), old, new);
    let (whole_old, whole_new) = (0..old.len(), 0..new.len());
    let Ok(()) = myers::diff_deadline(&mut hook, old, whole_old, new, whole_new, deadline);
    hook.into_inner().into_inner().into_ops()
}
