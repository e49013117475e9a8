use super::*;

fn env(facts: &Facts) -> String {
    of(&built("etcode", facts), "env").to_owned()
}

fn template(model: &str) -> String {
    let facts = Facts {
        model: model.to_owned(),
        ..Facts::default()
    };
    row(&built("etcode", &facts), "provider").source.clone()
}

/// ET-01, ET-02, ET-03, ET-04, ET-36: a part of the id decides, in order, else the default.
#[test]
fn the_template_is_chosen_by_a_part_of_the_model_id() {
    for (model, expected) in [
        ("anthropic/claude-3.5-sonnet", "anthropic"),
        ("bedrock/us.anthropic.claude-sonnet-4", "anthropic"),
        ("openai/gpt-4o-mini", "openai"),
        ("openai/o1", "openai"),
        ("openai/o3-mini", "openai"),
        ("x/o4-mini-high", "openai"),
        ("openrouter/google/gemini-2.5-pro", "gemini"),
        ("x/claude-gpt-gemini", "anthropic"),
        ("x/gpt-gemini", "openai"),
        ("x/llama-4", "default"),
        ("", "default"),
    ] {
        assert_eq!(
            template(model),
            format!("built in: providers/{expected}.md"),
            "{model}"
        );
    }
    let texts = Texts::load(None);
    let layout = Layout::load(&texts, "etcode").unwrap();
    let known: std::collections::BTreeSet<_> = layout
        .providers
        .iter()
        .map(|it| it.template.clone())
        .collect();
    assert_eq!(
        known.into_iter().collect::<Vec<_>>(),
        ["anthropic", "gemini", "openai"]
    );
    assert_eq!(layout.head.instructions.names, ["AGENTS.md", "ETCODE.md"]);
}

/// ET-05: the templates are in the binary and small.
#[test]
fn templates_are_small() {
    let texts = Texts::load(None);
    for name in ["anthropic", "openai", "gemini", "default"] {
        let text = texts.get(&format!("providers/{name}.md")).unwrap();
        assert!((300..3_000).contains(&text.len()), "{name}: {}", text.len());
    }
}

/// ET-06, ET-32: a provider is a text and a line of data; an instruction name is one entry.
#[test]
fn a_provider_and_an_instruction_name_are_data() {
    let patterns = "[[pattern]]\nglob = \"*qwen*\"\ntemplate = \"qwen\"\n";
    let own = Texts::load(None);
    let layout = own.get("layouts/etcode.toml").unwrap();
    let layout = layout.replace("\"ETCODE.md\"", "\"ETCODE.md\", \".cursorrules\"");
    let texts = texts_with(&[
        ("providers/qwen.md", "You are for Qwen."),
        ("providers/etcode.toml", patterns),
        ("layouts/etcode.toml", &layout),
    ]);
    let layout = Layout::load(&texts, "etcode").unwrap();
    let facts = Facts {
        model: "x/qwen-4".to_owned(),
        ..Facts::default()
    };
    let assembled = assemble(&layout, &texts, &facts);
    assert_eq!(of(&assembled, "provider"), "You are for Qwen.");
    assert_eq!(
        layout.head.instructions.names,
        ["AGENTS.md", "ETCODE.md", ".cursorrules"]
    );
}

/// ET-10, ET-11, ET-36: exactly four lines, no model id, no list of folders.
#[test]
fn the_environment_has_exactly_four_lines() {
    let facts = Facts {
        environment: Vec::new(),
        date: "Thu Feb 26 2026".to_owned(),
        platform: "macos".to_owned(),
        ..rich(true)
    };
    assert_eq!(
        env(&facts),
        "Here is useful information about the environment you are running in:\n<env>\n  \
         Working directory: /w/app\n  Is directory a git repo: yes\n  Platform: darwin\n  \
         Today's date: Thu Feb 26 2026\n</env>"
    );
    let facts = Facts {
        git: None,
        platform: "windows".to_owned(),
        ..facts
    };
    let env = env(&facts);
    assert!(env.contains("git repo: no\n  Platform: win32\n"), "{env}");
    assert!(!env.contains("claude") && !env.contains("directories"));
}

/// ET-11: the date has the form of JavaScript's `toDateString`.
#[test]
fn the_date_is_written_as_javascript_writes_it() {
    let layout = Layout::load(&Texts::load(None), "etcode").unwrap();
    let date = jiff::civil::date(2026, 2, 6);
    assert_eq!(
        date.strftime(&layout.head.date_format).to_string(),
        "Fri Feb 06 2026"
    );
}

/// ET-16: lines of the settings follow the four, and change nothing else.
#[test]
fn further_environment_lines_come_from_the_settings() {
    let with = built("etcode", &rich(true));
    let without = built(
        "etcode",
        &Facts {
            environment: Vec::new(),
            ..rich(true)
        },
    );
    assert!(of(&with, "env").contains("\n  Shell: /bin/zsh\n</env>"));
    for (a, b) in with.rows.iter().zip(&without.rows) {
        assert_eq!(a.id == "env", a.text != b.text, "{}", a.id);
    }
}

/// ET-26, ET-31, ET-40, ET-42, ET-43: role, environment, instructions; a block for each element.
#[test]
fn role_environment_and_instructions_are_blocks_in_this_order() {
    let assembled = built(
        "etcode",
        &Facts {
            segments: Vec::new(),
            ..rich(true)
        },
    );
    let blocks: Vec<&str> = assembled.system.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(blocks.len(), 5);
    assert_eq!(
        blocks[0],
        Texts::load(None).get("providers/anthropic.md").unwrap()
    );
    assert!(blocks[1].starts_with("Here is useful information"));
    assert!(
        blocks[2].starts_with("Instructions from: ")
            && blocks[3].starts_with("Instructions from: ")
    );
    assert!(
        blocks[3..]
            .concat()
            .contains("Instructions from: src/AGENTS.md\n```")
    );
    let none = built(
        "etcode",
        &Facts {
            instructions: Vec::new(),
            segments: Vec::new(),
            ..rich(true)
        },
    );
    assert_eq!(none.system.len(), 2);
}

/// ET-41: an agent's own prompt replaces the template.
#[test]
fn an_agents_prompt_replaces_the_template() {
    let facts = Facts {
        agent: Some("build".to_owned()),
        agent_prompt: Some(AgentPrompt {
            text: "You build.".to_owned(),
            source: "~/.config/interline/agents/build.md".to_owned(),
            trust: Trust::User,
        }),
        ..rich(true)
    };
    let assembled = built("etcode", &facts);
    assert_eq!(assembled.system[0].text, "You build.");
    assert!(row(&assembled, "provider").reason.contains("agent"));
    assert_ne!(built("etcode", &rich(true)).system[0].text, "You build.");
}

/// ET-46: CLAUDE.md is no instruction file here; in the default layout it is one of the names.
#[test]
fn claude_md_counts_in_the_default_layout_only() {
    let texts = Texts::load(None);
    let names = |name: &str| Layout::load(&texts, name).unwrap().head.instructions.names;
    assert!(
        !names("etcode")
            .iter()
            .any(|name| name == "CLAUDE.md" || name == "CONTEXT.md")
    );
    assert!(names("default").contains(&"CLAUDE.md".to_owned()));
}

/// ET-49: each layer's bytes depend on its own inputs only.
#[test]
fn the_three_layers_are_independent() {
    let before = built("etcode", &rich(true));
    let changes: [(&str, Facts); 3] = [
        (
            "provider",
            Facts {
                model: "openai/gpt-6".to_owned(),
                ..rich(true)
            },
        ),
        (
            "env",
            Facts {
                cwd: "/elsewhere".to_owned(),
                ..rich(true)
            },
        ),
        (
            "instructions",
            Facts {
                instructions: vec![instruction("AGENTS.md", Origin::Workspace, "other")],
                ..rich(true)
            },
        ),
    ];
    for (layer, facts) in changes {
        let after = built("etcode", &facts);
        for id in ["provider", "env", "instructions"] {
            assert_eq!(
                id == layer,
                of(&before, id) != of(&after, id),
                "{layer}: {id}"
            );
        }
    }
}

#[test]
fn goldens() {
    golden("etcode_trusted", &built("etcode", &rich(true)));
    golden("etcode_untrusted", &built("etcode", &rich(false)));
}
