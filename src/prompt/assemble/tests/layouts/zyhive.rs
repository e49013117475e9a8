use super::*;

fn one_layout() -> Layout {
    Layout::load(&Texts::load(None), "zyhive").unwrap()
}

/// ZY-02: exactly this order.
#[test]
fn segments_come_in_order() {
    in_order(
        &text("zyhive", &rich(true)),
        &[
            "Current date and time: ",
            "--- IDENTITY.md ---\n# Who I am",
            "--- SOUL.md ---\nHelp truly",
            "--- memory/INDEX.md ---\n",
            "[Memory tree available.",
            "--- RELATIONS.md ---\n| member | relation | object |",
            "--- Skill: deploy ---\nRun `make ship`.",
            "--- Skill: search ---\n",
            "--- AGENTS.md ---\nRun `cargo test`.",
            "--- 共享团队项目工作区 ---\n• app (id: /w/app, 权限: 可读写)",
            "---\n# House rules\nNo tabs.",
            "## 可用环境变量\n",
            "- GITHUB_TOKEN\n- NPM_TOKEN",
            "## Runtime\nModel: claude-opus-5 | Agent: main | Workspace: /w/app",
        ],
    );
}

/// ZY-03, ZY-04, K1, K21: one line with the clock, the zone's short name, in Asia/Shanghai unless
/// the settings say otherwise.
#[test]
fn the_time_is_one_line() {
    let layout = one_layout();
    assert_eq!(layout.head.timezone.as_deref(), Some("Asia/Shanghai"));
    let zone = jiff::tz::TimeZone::get("Asia/Shanghai").unwrap();
    let now = jiff::civil::date(2026, 2, 23)
        .at(23, 45, 0, 0)
        .to_zoned(zone)
        .unwrap();
    let facts = Facts {
        date: now.strftime(&layout.head.date_format).to_string(),
        ..rich(true)
    };
    let text = text("zyhive", &facts);
    assert!(
        text.starts_with("Current date and time: 2026-02-23 23:45:00 CST\n\n"),
        "{text}"
    );
    let default = Layout::load(&Texts::load(None), "default").unwrap();
    assert_eq!(default.head.timezone, None);
}

/// ZY-05, ZY-06, ZY-10, K19: a file is its label and its trimmed text; a missing or blank one
/// leaves nothing.
#[test]
fn a_file_is_its_label_and_its_trimmed_text() {
    let mut facts = rich(true);
    facts.files = vec![
        file("SOUL.md", "\n\n  Be kind. \n\n"),
        file("IDENTITY.md", " \n\t\n"),
    ];
    let assembled = built("zyhive", &facts);
    assert_eq!(of(&assembled, "soul"), "--- SOUL.md ---\nBe kind.");
    for id in ["identity", "relations", "memoryIndex"] {
        assert!(!row(&assembled, id).included, "{id}");
    }
    assert!(!system_text(&assembled).contains("IDENTITY.md"));
}

/// ZY-07, ZY-08: only the index; the old file only where the index is missing or blank.
#[test]
fn only_the_index_of_memory_is_there() {
    let with = text("zyhive", &rich(true));
    assert!(with.contains("--- memory/INDEX.md ---") && !with.contains("MEMORY.md ---"));
    let mut facts = rich(true);
    facts.files.retain(|file| file.name != "memory/INDEX.md");
    facts.files.push(file("memory/INDEX.md", "  \n"));
    assert!(text("zyhive", &facts).contains("--- MEMORY.md ---\nold memory"));
    let layout = one_layout();
    assert!(
        layout
            .files()
            .iter()
            .all(|name| !name.starts_with("memory/core"))
    );
}

/// ZY-09: the hint always follows the index.
#[test]
fn the_memory_tree_is_always_named() {
    let line = "[Memory tree available. Use read tool to access: memory/core/, memory/projects/, \
                memory/daily/, memory/topics/]";
    let mut facts = rich(true);
    in_order(
        &text("zyhive", &facts),
        &["--- memory/INDEX.md ---", line, "--- RELATIONS.md"],
    );
    facts.files.clear();
    facts.memory.tree = false;
    assert!(text("zyhive", &facts).contains(line));
}

/// ZY-11, ZY-12: every enabled skill is included in full, in a fixed order.
#[test]
fn skills_are_included_in_full() {
    let mut facts = rich(true);
    in_order(
        &text("zyhive", &facts),
        &["--- Skill: deploy ---\nRun", "--- Skill: search ---\nUse"],
    );
    facts.skills.retain(|skill| skill.name != "search");
    assert!(!text("zyhive", &facts).contains("Skill: search"));
}

/// ZY-13, ZY-14: AGENTS.md in full, a referenced file right after it under the line as written.
#[test]
fn agents_md_and_its_references_follow_each_other() {
    let mut facts = rich(true);
    facts.instructions = vec![
        instruction("AGENTS.md", Origin::Workspace, "docs/rules.md\n"),
        instruction("docs/rules.md", Origin::Workspace, "Rule one.\n"),
    ];
    in_order(
        &text("zyhive", &facts),
        &[
            "--- AGENTS.md ---\ndocs/rules.md",
            "--- docs/rules.md ---\nRule one.",
            "--- 共享",
        ],
    );
}

/// ZY-15, ZY-16, ZY-67, ZY-96: a line a folder with its rights, also one that the agent made; a
/// description only where there is one.
#[test]
fn projects_are_folders_with_their_rights() {
    let mut facts = rich(true);
    facts.roots.push(Folder {
        writable: false,
        description: Some("the calendar".to_owned()),
        ..folder("calendar", "/w/cal")
    });
    facts.made = vec![folder("site", "/w/app/site")];
    assert_eq!(
        of(&built("zyhive", &facts), "projects"),
        "--- 共享团队项目工作区 ---\n• app (id: /w/app, 权限: 可读写)\n\
         • calendar (id: /w/cal, 权限: 只读) — the calendar\n\
         • site (id: /w/app/site, 权限: 可读写)"
    );
    facts.roots.clear();
    facts.made.clear();
    assert!(!text("zyhive", &facts).contains("共享团队"));
}

/// ZY-17, ZY-17-C: the caller's segments follow the projects, after a line.
#[test]
fn extra_context_follows_the_projects() {
    in_order(
        &text("zyhive", &rich(true)),
        &[
            "共享团队项目工作区",
            "\n\n---\n# House rules\nNo tabs.",
            "## 可用环境变量",
        ],
    );
}

/// ZY-18, ZY-19, ZY-19-C, ZY-20: names of variables, sorted, and what they are for; none, no heading.
#[test]
fn variables_are_named_only() {
    let mut facts = rich(true);
    let variables = of(&built("zyhive", &facts), "variables").to_owned();
    assert!(variables.starts_with("## 可用环境变量\n") && variables.contains("exec"));
    assert!(variables.ends_with("\n- GITHUB_TOKEN\n- NPM_TOKEN"));
    facts.variables.clear();
    assert!(!text("zyhive", &facts).contains("可用环境变量"));
}

/// ZY-21, ZY-23-C: the runtime is last; a sub-agent's report block follows it.
#[test]
fn the_runtime_is_last_but_for_a_report() {
    let mut facts = rich(true);
    assert!(
        text("zyhive", &facts)
            .ends_with("## Runtime\nModel: claude-opus-5 | Agent: main | Workspace: /w/app")
    );
    facts.runtime.parent = Some("session_1".to_owned());
    in_order(
        &text("zyhive", &facts),
        &[
            "## Runtime",
            "Workspace: /w/app\n\nYou work for another session (session_1)",
        ],
    );
}

/// ZY-21-C: the other form of the line is layout data.
#[test]
fn the_newer_runtime_line_is_layout_data() {
    let own = Texts::load(None);
    let layout = own.get("layouts/zyhive.toml").unwrap();
    let start = layout.find("params = { assign = \": \"").unwrap();
    let end = start + layout[start..].find('\n').unwrap();
    let params = "params = { prefix = \"Runtime: \", fields = [\"agent\", \"host\", \"model\", \
                  [\"workspace\", \"cwd\"], \"tools\", \"subagent\"] }";
    let layout = format!("{}{params}{}", &layout[..start], &layout[end..]);
    let texts = texts_with(&[("layouts/zyhive.toml", &layout)]);
    let layout = Layout::load(&texts, "zyhive").unwrap();
    let mut facts = rich(true);
    let line = |facts: &Facts| of(&assemble(&layout, &texts, facts), "runtime").to_owned();
    assert_eq!(
        line(&facts),
        "## Runtime\nRuntime: agent=main | host=mac | model=anthropic/claude-opus-5 | \
         workspace=/w/app | tools=on"
    );
    facts.runtime.parent = Some("s".to_owned());
    assert!(line(&facts).ends_with("tools=on | subagent=true"));
}

/// ZY-22-C: 20,000 characters a file, 70 % of the head and 20 % of the tail, the size and the file
/// to read between; a shorter one is complete.
#[test]
fn a_file_has_a_limit() {
    let mut facts = rich(true);
    let whole = format!("{}{}", "a".repeat(10_000), "b".repeat(10_000));
    facts.files = vec![file("SOUL.md", &whole)];
    assert_eq!(
        of(&built("zyhive", &facts), "soul"),
        format!("--- SOUL.md ---\n{whole}")
    );
    let long = format!("{whole}c");
    facts.files = vec![file("SOUL.md", &long)];
    let soul = of(&built("zyhive", &facts), "soul").to_owned();
    let kept = soul.matches('a').count() + soul.matches('b').count();
    assert!((18_000..18_100).contains(&kept), "{kept}");
    assert!(soul.contains("SOUL.md has 20001 characters") && soul.contains("`read`"));
    assert!(soul.ends_with('c') && soul.contains(&"a".repeat(10_000)));
}

#[test]
fn goldens() {
    golden("zyhive_trusted", &built("zyhive", &rich(true)));
    golden("zyhive_untrusted", &built("zyhive", &rich(false)));
}
