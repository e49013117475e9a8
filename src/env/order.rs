//! Sorting where speed does not matter. The standard sort is compiled for every type and
//! comparison, 7 KB each; here the order is found by one function, on indexes, and then applied.
//! `collect` into a `BTreeMap` or a `BTreeSet` sorts too.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Like `slice::sort_by`: equal items keep their order.
pub fn sort_by<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let order = order(items.len(), &mut |a, b| compare(&items[a], &items[b]));
    apply(items, order);
}

/// Like `slice::sort_by_key`.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], mut key: impl FnMut(&T) -> K) {
    sort_by(items, |a, b| key(a).cmp(&key(b)));
}

/// The pairs as a map; of equal keys the last one's value stays, as with `collect`.
pub fn map<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    for (key, value) in pairs {
        map.insert(key, value);
    }
    map
}

/// The items as a set.
pub fn set<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    for item in items {
        set.insert(item);
    }
    set
}

/// For each place, the index of the item that belongs there.
fn order(length: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..length).collect();
    order.sort_by(|a, b| compare(*a, *b));
    order
}

/// Moves every item to its place, cycle by cycle. A place that is done names itself.
fn apply<T>(items: &mut [T], mut order: Vec<usize>) {
    for start in 0..order.len() {
        let mut at = start;
        while order[at] != start {
            let next = order[at];
            order[at] = at;
            items.swap(at, next);
            at = next;
        }
        order[at] = at;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{map, set, sort_by, sort_by_key};

    proptest! {
        #[test]
        fn the_order_is_that_of_the_standard_library(
            items in prop::collection::vec((0_u8..8, 0_u8..8), 0..40),
        ) {
            let numbered = || items.iter().copied().enumerate().collect::<Vec<_>>();
            let (mut ours, mut expected) = (numbered(), numbered());
            sort_by_key(&mut ours, |(_, (key, _))| *key);
            expected.sort_by_key(|(_, (key, _))| *key);
            prop_assert_eq!(&ours, &expected);
            sort_by(&mut ours, |(_, a), (_, b)| b.1.cmp(&a.1));
            expected.sort_by_key(|(_, a)| std::cmp::Reverse(a.1));
            prop_assert_eq!(&ours, &expected);
            prop_assert_eq!(map(items.clone()), items.iter().copied().collect());
            prop_assert_eq!(set(items.clone()), items.iter().copied().collect());
        }
    }
}
