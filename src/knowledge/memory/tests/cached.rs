use std::sync::Arc;

use proptest::prelude::*;

use super::Home;
use crate::knowledge::memory::MemoryCache;
use crate::knowledge::memory::{CachedMemories, Kind, Scope, related};

fn texts(remembered: &CachedMemories) -> Vec<&str> {
    let entries = remembered.loaded.entries();
    entries.map(|entry| entry.text.as_str()).collect()
}

#[test]
fn a_memory_that_was_saved_is_there_the_next_time() {
    let home = Home::new();
    let memory = home.memory("one", "s");
    let cache = MemoryCache::later();
    assert!(memory.cached(&cache).loaded.is_empty());
    for number in 0..5 {
        let text = format!("the build has {number} steps");
        memory
            .save(Kind::Fact, Scope::Project, &text, |_| false)
            .unwrap();
        let remembered = memory.cached(&cache);
        assert_eq!(texts(&remembered).last(), Some(&text.as_str()));
        assert_eq!(remembered.loaded, memory.read());
        assert_eq!(remembered.related("build steps", 9).len(), number + 1);
    }
    // Another place shares nothing with it.
    let other = home.memory("two", "s").cached(&cache);
    assert!(other.loaded.is_empty());
}

#[test]
fn what_is_unchanged_is_had_again() {
    let home = Home::new();
    let memory = home.memory("one", "s");
    let save = |text: &str| {
        let saved = memory.save(Kind::Fact, Scope::User, text, |_| false);
        saved.unwrap().entry.path
    };
    let path = save("the build is green");
    let (now, later) = (MemoryCache::default(), MemoryCache::later());
    let first = memory.cached(&later);
    assert!(Arc::ptr_eq(&first, &memory.cached(&later)));
    save("the build is red again");
    let second = memory.cached(&later);
    assert_eq!(texts(&second).len(), 2);
    std::fs::remove_file(path).unwrap();
    assert_eq!(texts(&memory.cached(&later)).len(), 0);
    // What was written just now can change again without a trace: it is read each time.
    save("the build is back");
    let third = memory.cached(&now);
    assert!(!Arc::ptr_eq(&third, &memory.cached(&now)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Looking for words a second time goes another way and finds the same.
    #[test]
    fn the_words_of_all_memories_find_what_each_by_itself_does(
        memories in prop::collection::vec("(cart|price|tests?|build|数据|库存|[a-c]{1,3}|[ ,.]){2,9}", 0..20),
        asked in "(cart|price|tests?|build|数据库|[a-c]{1,3}|[ ,.]){0,8}",
    ) {
        let home = Home::new();
        let memory = home.memory("one", "s");
        for (number, text) in memories.iter().enumerate() {
            let scope = Scope::ALL[number % 3];
            let _ = memory.save(Kind::Fact, scope, text, |_| false);
        }
        let remembered = memory.cached(&MemoryCache::default());
        let plain: Vec<&str> = related(&remembered.loaded, &asked, 50)
            .iter()
            .map(|hit| hit.entry.text.as_str())
            .collect();
        for _ in 0..3 {
            let found = remembered.related(&asked, 50);
            let found: Vec<&str> = found.iter().map(|entry| entry.text.as_str()).collect();
            prop_assert_eq!(&found, &plain);
        }
    }
}
