use super::*;

/// ZE-01, ZE-02: fixed modules first, then the dynamic ones, in order.
#[test]
fn modules_come_in_order() {
    let assembled = built("zeus", &rich(true));
    in_order(
        &system_text(&assembled),
        &[
            "# CORE\n",
            "# SOUL\n",
            "# TOOLS\n",
            "# WORKFLOW\n",
            "# MEMORY\n",
            "# MODE\n",
            "# CURRENT TIME\n",
            "# SKILLS\n",
            "# CONNECTOR: BROWSER\n",
            "# PROFILE\n",
            "# MEMORIES\n",
            "# RESOURCES\n",
            "# SANDBOX\n",
            "# ATTACHMENTS\n",
        ],
    );
    // A server's prompt is never system text.
    let picked = row(&assembled, "mcpPrompts");
    assert!(picked.included && picked.slot == Slot::Tail);
}

/// ZE-04, ZE-80: each module is a file of its own; replacing it changes its bytes alone.
#[test]
fn a_module_is_one_file() {
    for (id, path) in [
        ("core", "segments/zeus/core.md"),
        ("soul", "segments/zeus/soul.md"),
        ("workflow", "segments/zeus/workflow.md"),
        ("memory", "segments/zeus/memory.md"),
        ("mode", "modes/agent.md"),
        ("skills", "segments/zeus/skills.md"),
    ] {
        let texts = texts_with(&[(path, "Replaced.")]);
        let layout = Layout::load(&texts, "zeus").unwrap();
        let (before, after) = (
            built("zeus", &rich(true)),
            assemble(&layout, &texts, &rich(true)),
        );
        for (a, b) in before.rows.iter().zip(&after.rows) {
            assert_eq!(a.id == id, a.text != b.text, "{id}: {}", a.id);
        }
    }
}

/// ZE-05: dynamic modules without data leave no heading.
#[test]
fn modules_without_data_are_absent() {
    let facts = Facts {
        cwd: "/w".to_owned(),
        date: "2026-11-21".to_owned(),
        timezone: "UTC".to_owned(),
        tools: vec![tool("read")],
        ..Facts::default()
    };
    assert_eq!(
        ids(&built("zeus", &facts)),
        ["core", "soul", "tools", "workflow", "mode", "time"]
    );
}

/// ZE-06, ZE-07: identity, abilities and limits; traits and rules.
#[test]
fn core_and_soul_say_what_they_must() {
    let assembled = built("zeus", &rich(true));
    let core = of(&assembled, "core");
    for part in [
        "Frontend",
        "Backend",
        "Databases",
        "Infrastructure",
        "AI",
        "architecture",
        "debugging",
        "documentation",
        "live information",
        "physical",
        "guarantee",
        "cutoff",
        "test it",
    ] {
        assert!(core.contains(part), "{part}");
    }
    let soul = of(&assembled, "soul");
    for part in [
        "Professional",
        "Friendly",
        "Honest",
        "No emoji",
        "Plain text",
        "Concise",
        "language",
    ] {
        assert!(soul.contains(part), "{part}");
    }
}

/// ZE-08, ZE-14: five tiers in order, each tool in one, an empty tier without a heading.
#[test]
fn tools_are_listed_in_five_tiers() {
    let mut facts = rich(true);
    facts.tools.push(crate::conversation::ToolFacts {
        tier: crate::conversation::Tier::Mcp,
        ..tool("mcp_call")
    });
    let tools = of(&built("zeus", &facts), "tools").to_owned();
    in_order(
        &tools,
        &[
            "highest tier",
            "### Middleware\n",
            "**write_todos**",
            "### Filesystem\n",
            "**read**",
            "### External MCP\n",
            "**mcp_call**",
            "### Sandbox\n",
            "**exec**",
            "### Knowledge Base\n",
            "**memory_search**",
        ],
    );
    for fact in &facts.tools {
        let name = format!("- **{}**:", fact.spec.name);
        assert_eq!(tools.matches(&name).count(), 1, "{name}");
    }
    assert!(!of(&built("zeus", &rich(true)), "tools").contains("External MCP\n-"));
    assert!(!of(&built("zeus", &rich(true)), "tools").contains("### External MCP"));
}

/// ZE-09, ZE-10: the place is filled with name, description and schema, and never reaches the
/// model, however it is written.
#[test]
fn the_place_of_the_tools_is_filled() {
    let assembled = built("zeus", &rich(true));
    let tools = of(&assembled, "tools");
    assert!(tools.contains("- **read**: What read does. When to use read"));
    assert!(
        tools.contains("Parameters: {\"type\":\"object\",\"properties\":{}}"),
        "{tools}"
    );
    let texts = texts_with(&[("segments/zeus/tools.md", "Tools: {tools_description}!")]);
    let layout = Layout::load(&texts, "zeus").unwrap();
    let other = assemble(&layout, &texts, &rich(true));
    for text in [tools, of(&other, "tools")] {
        assert!(!text.contains("tools_description"), "{text}");
    }
    assert!(of(&other, "tools").starts_with("Tools: ### Middleware\n"));
}

/// ZE-11, ZE-12, ZE-13, ZE-20: the texts on plans, reports and memory.
#[test]
fn workflow_and_memory_say_what_they_must() {
    let assembled = built("zeus", &rich(true));
    assert!(of(&assembled, "planOrMemory").contains("`write_todos` plans this session"));
    assert!(of(&assembled, "planOrMemory").contains("`save_memory` keeps"));
    let workflow = of(&assembled, "workflow");
    in_order(
        workflow,
        &[
            "Quick answer",
            "without `write_todos`",
            "Complex task",
            "`write_todos`",
        ],
    );
    assert!(workflow.contains("only when the user asks") && workflow.contains("never unasked"));
    let memory = of(&assembled, "memory");
    for word in [
        "记住",
        "remember",
        "我喜欢",
        "I like",
        "我不喜欢",
        "我的偏好",
        "以后",
        "总是",
        "从不",
        "at once",
    ] {
        assert!(memory.contains(word), "{word}");
    }
    for word in [
        "preference",
        "fact",
        "skill",
        "habit",
        "constraint",
        "user",
        "project",
        "session",
    ] {
        assert!(memory.contains(&format!("`{word}`")), "{word}");
    }
}

/// ZE-24, ZE-25, ZE-26: profiles and related memories are near the end.
#[test]
fn profiles_and_memories_are_near_the_end() {
    let text = text("zeus", &rich(true));
    in_order(
        &text,
        &[
            "# SKILLS",
            "# PROFILE\n",
            "- prefers short answers",
            "- supports IE11",
            "# MEMORIES\n",
            "- the cart rounds half up",
            "# RESOURCES",
        ],
    );
    let mut none = rich(true);
    none.memory = MemoryFacts::default();
    let text = super::text("zeus", &none);
    assert!(!text.contains("# PROFILE") && !text.contains("# MEMORIES"));
}

/// ZE-30, ZE-32, ZE-33: exactly one of three texts.
#[test]
fn exactly_one_mode_is_included() {
    let texts = Texts::load(None);
    for mode in Mode::ALL {
        let text = text("zeus", &Facts { mode, ..rich(true) });
        for other in Mode::ALL {
            let words = texts.get(&format!("modes/{}.md", other.as_str())).unwrap();
            assert_eq!(text.contains(words), mode == other, "{mode:?} {other:?}");
        }
    }
    assert!(texts.get("modes/ask.md").unwrap().contains("agent mode"));
    assert!(
        texts
            .get("modes/plan.md")
            .unwrap()
            .contains("Ask whether to carry the plan out")
    );
}

/// ZE-34, K11: where modes are placeholders, a refused tool keeps its name and says which mode to
/// switch to; in the default layout its description stays.
#[test]
fn refused_tools_are_placeholders() {
    let texts = Texts::load(None);
    let specs = |name: &str, mode: Mode| {
        let layout = Layout::load(&texts, name).unwrap();
        layout.tools(&texts, &rich(true).tools, mode)
    };
    let ask = specs("zeus", Mode::Ask);
    let agent = specs("zeus", Mode::Agent);
    for (a, b) in agent.iter().zip(&ask) {
        assert_eq!(a.name, b.name);
        let refused = ["edit", "exec", "save_memory", "write"].contains(&a.name.as_str());
        assert_eq!(refused, a.description != b.description, "{}", a.name);
        if refused {
            assert!(b.description.contains("ask mode") && b.description.contains("agent mode"));
        }
    }
    assert_eq!(specs("default", Mode::Ask), specs("default", Mode::Agent));
    let asking = Facts {
        mode: Mode::Ask,
        ..rich(true)
    };
    let text = text("zeus", &asking);
    assert!(text.contains("- **read**") && !text.contains("Call `save_memory`"));
    for tool in ["edit", "exec", "save_memory", "write"] {
        assert!(!text.contains(&format!("- **{tool}**")), "{tool}");
    }
}

/// ZE-40: the date and the zone; the exact time by the tool.
#[test]
fn the_date_and_the_zone_are_included() {
    let assembled = built("zeus", &rich(true));
    let time = of(&assembled, "time");
    assert!(time.contains("2026-11-21") && time.contains("Europe/Berlin"));
    assert!(time.contains("`current_time`"));
}

/// ZE-50, ZE-51, ZE-53, K3: a line a skill, never its body.
#[test]
fn a_skill_costs_a_line() {
    let mut facts = rich(true);
    facts.skills.clear();
    let base = text("zeus", &facts).len();
    assert!(!text("zeus", &facts).contains("# SKILLS"));
    facts.skills.push(skill("a", "Does a.", "BODY"));
    let one = text("zeus", &facts).len();
    facts
        .skills
        .push(skill("b", "Does b,\nover\nlines.", "BODY"));
    let two = text("zeus", &facts);
    assert_eq!(two.len() - one, "\n- b: Does b, over lines.".len());
    assert!(
        one > base
            && two.contains("\n- a: Does a.\n- b: Does b, over lines.")
            && !two.contains("BODY")
    );
}

/// ZE-60: a connector's text is there while it is connected.
#[test]
fn a_connector_is_there_while_connected() {
    let mut facts = rich(true);
    assert!(text("zeus", &facts).contains("# CONNECTOR: BROWSER"));
    assert!(!text("zeus", &facts).contains("# CONNECTOR: DESKTOP"));
    facts
        .client
        .insert("browser".to_owned(), serde_json::json!(false));
    facts.client.insert(
        "desktop".to_owned(),
        serde_json::json!("Screen 1 is shared."),
    );
    let text = text("zeus", &facts);
    assert!(
        !text.contains("BROWSER") && text.contains("# CONNECTOR: DESKTOP\nScreen 1 is shared.")
    );
}

/// ZE-61: picked prompts are rendered, fenced; none picked, none there.
#[test]
fn picked_prompts_are_rendered() {
    let assembled = built("zeus", &rich(true));
    let picked = of(&assembled, "mcpPrompts");
    assert!(picked.contains("review (git)\nReview the branch.") && picked.contains("```"));
    let mut none = rich(true);
    none.picked.clear();
    assert!(!row(&built("zeus", &none), "mcpPrompts").included);
}

/// ZE-62, ZE-63, ZE-64: what the user refers to, what was made, what was attached.
#[test]
fn resources_files_and_attachments_are_listed() {
    let text = text("zeus", &rich(true));
    in_order(
        &text,
        &[
            "# RESOURCES\n",
            "- docs/plan.md",
            "# SANDBOX\n",
            "- src/new.rs",
            "# ATTACHMENTS\n",
            "- image/png",
        ],
    );
}

/// A long list keeps its first entries and says that others were omitted.
#[test]
fn a_long_list_keeps_its_head_and_says_that_it_was_cut() {
    let mut facts = rich(true);
    facts.attachments = (0..1_000).map(|n| format!("image/kind-{n}")).collect();
    let assembled = built("zeus", &facts);
    let listed = of(&assembled, "attachments");
    assert!(listed.contains("- image/kind-0\n") && !listed.contains("kind-999"));
    assert!(listed.chars().count() < 4_300, "{listed}");
    assert!(listed.contains("characters are omitted"), "{listed}");
}

/// ZE-82: fixed modules have a budget.
#[test]
fn fixed_modules_stay_small() {
    let texts = Texts::load(None);
    let fixed = ["core", "soul", "workflow", "memory"];
    let bytes: usize = fixed
        .iter()
        .map(|name| {
            texts
                .get(&format!("segments/zeus/{name}.md"))
                .unwrap()
                .len()
        })
        .sum();
    assert!(bytes <= 4_096, "{bytes}");
}

/// ZE-83: a module that the settings switch off is absent, and says so.
#[test]
fn settings_switch_modules_off() {
    let mut facts = rich(true);
    facts.switches.insert("userProfile".to_owned(), false);
    facts.switches.insert("soul".to_owned(), false);
    let assembled = built("zeus", &facts);
    for id in ["userProfile", "soul"] {
        let row = row(&assembled, id);
        assert!(
            !row.included && row.reason.contains("setting"),
            "{}",
            row.reason
        );
    }
    assert!(!system_text(&assembled).contains("# SOUL"));
}

#[test]
fn goldens() {
    golden("zeus_trusted", &built("zeus", &rich(true)));
    golden("zeus_untrusted", &built("zeus", &rich(false)));
}
