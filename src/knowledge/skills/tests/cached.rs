use super::*;

impl Scene {
    fn find_with(&self, cache: &SkillCache) -> Found {
        let cwd = self.path("repo");
        let (workspace, config) = (&self.workspace, &self.config);
        find_with(workspace, &self.env, config, &cwd, false, cache)
    }

    /// What is found with and without what was held, which must be the same.
    #[track_caller]
    fn same(&self, cache: &SkillCache) -> Found {
        let found = self.find_with(cache);
        assert_eq!(found, self.find());
        assert_eq!(found, self.find_with(cache), "and again");
        found
    }
}

#[test]
fn cached_skills_equal_those_on_disk() {
    let scene = scene();
    let cache = SkillCache::later();
    let ship = scene.skill("config/skills", "ship", "Ships it.");
    scene.skill("config/skills", "test", "Tests it.");
    scene.trust_folder("repo");
    let own = scene.skill("repo/.agents/skills", "own", "Of the folder.");
    assert_eq!(names(&scene.same(&cache).skills), ["ship", "test"]);
    scene.trust_file(&own);
    assert_eq!(names(&scene.same(&cache).skills), ["own", "ship", "test"]);
    scene.skill(
        "repo/.agents/skills",
        "own",
        "Of the folder, changed since.",
    );
    assert_eq!(scene.same(&cache).untrusted.len(), 1);
    scene.skill("config/skills", "ship", "Ships it to the moon.");
    let found = scene.same(&cache);
    assert_eq!(
        found.get("ship").unwrap().description,
        "Ships it to the moon."
    );
    // The buffer comes before the disk, also before what is held of it.
    let uri = Uri::from_path(&ship);
    let text = skill("name: ship\ndescription: In the editor.");
    scene.workspace.did_open(uri.clone(), "markdown", 1, &text);
    let found = scene.same(&cache);
    assert_eq!(found.get("ship").unwrap().description, "In the editor.");
    scene.workspace.did_close(&uri);
    fs::remove_file(&ship).unwrap();
    symlink(&own, &ship).unwrap();
    assert_eq!(names(&scene.same(&cache).skills), ["test"]);
    fs::remove_dir_all(ship.parent().unwrap()).unwrap();
    assert_eq!(names(&scene.same(&cache).skills), ["test"]);
}

/// A file that was written just now can change without a trace: it is read each time.
#[test]
fn a_fresh_file_is_never_held() {
    let scene = scene();
    let cache = SkillCache::default();
    for number in 0..20 {
        let description = format!("Version {number:02}.");
        scene.skill("config/skills", "ship", &description);
        let found = scene.find_with(&cache);
        assert_eq!(found.get("ship").unwrap().description, description);
    }
}
