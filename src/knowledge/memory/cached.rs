//! Memories and what is derived from them, cached while their files are unchanged: each prompt asks
//! for the same index and profiles.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::{Entry, Loaded, Memory, Scope, index, project_profile, related, user_profile};
use crate::knowledge::file_cache::FileCache;
use crate::workspace::Stamp;

/// The memories by the folders of the scopes.
pub type MemoryCache = FileCache<Vec<PathBuf>, Vec<(PathBuf, Stamp)>, CachedMemories>;

/// Most characters of one profile.
const PROFILE: usize = 2_000;

/// All memories with what each prompt shows of them.
pub struct CachedMemories {
    pub loaded: Loaded,
    /// Lines of the index.
    pub index: Vec<String>,
    /// Lines of the user's and of the project's profile. Their cost grows with the square of the
    /// memories, so they wait for a layout that shows them.
    profiles: OnceLock<[Vec<String>; 2]>,
}

impl CachedMemories {
    fn new(loaded: Loaded) -> Self {
        Self {
            index: index(&loaded),
            profiles: OnceLock::new(),
            loaded,
        }
    }

    /// Lines of the user's profile, and of the project's.
    pub fn profiles(&self) -> &[Vec<String>; 2] {
        self.profiles.get_or_init(|| {
            [
                user_profile(&self.loaded, PROFILE),
                project_profile(&self.loaded, PROFILE),
            ]
        })
    }

    /// The memories related to the user's text, best first.
    pub fn related(&self, user_text: &str, limit: usize) -> Vec<&Entry> {
        let hits = related(&self.loaded, user_text, limit);
        hits.into_iter().map(|hit| hit.entry).collect()
    }
}

impl Memory {
    /// [`Memory::read`], but what is unchanged is not read again.
    pub fn cached(&self, cache: &MemoryCache) -> Arc<CachedMemories> {
        let folders: Vec<PathBuf> = Scope::ALL
            .into_iter()
            .filter_map(|scope| self.folder(scope))
            .collect();
        // Taken before the files are read, so that a concurrent change is seen the next time.
        let stamps = self.stamps(cache);
        if let Some(known) = stamps.as_ref().and_then(|it| cache.get(&folders, it)) {
            return known;
        }
        let remembered = Arc::new(CachedMemories::new(self.read()));
        if let Some(stamps) = stamps {
            cache.put(folders, stamps, remembered.clone());
        }
        remembered
    }

    /// The stamps of all topics; `None` while one of them cannot be cached.
    fn stamps(&self, cache: &MemoryCache) -> Option<Vec<(PathBuf, Stamp)>> {
        let mut stamps = Vec::new();
        for place in Scope::ALL.into_iter().filter_map(|scope| self.place(scope)) {
            stamps.extend(place.stamps(cache)?);
        }
        Some(stamps)
    }
}
