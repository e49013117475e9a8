use std::sync::Arc;

use super::Home;
use crate::knowledge::memory::{CachedMemories, Kind, MemoryCache, Scope};

fn texts(memories: &CachedMemories) -> Vec<&str> {
    let entries = memories.loaded.entries.iter();
    entries.map(|entry| entry.text.as_str()).collect()
}

#[test]
fn a_saved_memory_is_found_the_next_time() {
    let home = Home::new();
    let memory = home.memory("one", "s");
    let cache = MemoryCache::later();
    assert!(memory.cached(&cache).loaded.entries.is_empty());
    for number in 0..5 {
        let text = format!("the build has {number} steps");
        memory
            .save(Kind::Fact, Scope::Project, &text, |_| false)
            .unwrap();
        let memories = memory.cached(&cache);
        assert_eq!(texts(&memories).last(), Some(&text.as_str()));
        assert_eq!(memories.loaded, memory.read());
        assert_eq!(memories.related("build steps", 9).len(), number + 1);
    }
    // Another place shares nothing with it.
    let other = home.memory("two", "s").cached(&cache);
    assert!(other.loaded.entries.is_empty());
}

#[test]
fn unchanged_files_are_not_read_again() {
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
    // A file written a moment ago can change again without a trace, so it is read each time.
    save("the build is back");
    let third = memory.cached(&now);
    assert!(!Arc::ptr_eq(&third, &memory.cached(&now)));
}
