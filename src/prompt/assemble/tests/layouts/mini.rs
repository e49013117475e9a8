use super::*;

fn quiet() -> Facts {
    Facts {
        degraded: Vec::new(),
        constraints: Vec::new(),
        summary: None,
        hints: Vec::new(),
        segments: Vec::new(),
        ..rich(true)
    }
}

const STATE: &str = "\n---\n# 运行时状态\n\n";

/// MC-01, MC-17, MC-23: static text, tools, state, joined by a newline, each further one behind a
/// line and a heading.
#[test]
fn three_segments_in_order() {
    let assembled = built("mini", &rich(true));
    assert_eq!(ids(&assembled), ["core", "toolList", "hints"]);
    let text = text("mini", &rich(true));
    in_order(
        &text,
        &[
            "# 角色\n",
            "\n\n---\n# 可用工具补充说明\n\n- **",
            "\n---\n# 运行时状态\n\n",
        ],
    );
}

/// MC-02: the file of the user is the first segment, to the byte.
#[test]
fn a_system_prompt_file_is_the_static_segment() {
    let own = "  Be a pirate.\n\n\n";
    let facts = Facts {
        files: vec![FileText {
            standing: Standing::User,
            ..file("SYSTEM_PROMPT.md", own)
        }],
        ..quiet()
    };
    assert_eq!(of(&built("mini", &facts), "core"), own);
}

/// MC-03, MC-04, MC-05, MC-06, MC-07, K17: without the file our own text, with its four parts, in
/// the configured language.
#[test]
fn without_the_file_the_built_in_text_is_used() {
    let assembled = built("mini", &quiet());
    let core = of(&assembled, "core");
    in_order(
        core,
        &[
            "# 角色",
            "mini-claude-code",
            "# 行为准则",
            "# 输出规范",
            "中文",
            "# 工具使用建议",
        ],
    );
    for rule in [
        "先理解",
        "最小",
        "每次调用工具之后",
        "拿不准就问",
        "代码块",
        "总结",
    ] {
        assert!(core.contains(rule), "{rule}");
    }
    for advice in ["read_file", "offset", "edit_file", "write_file", "bash"] {
        assert!(core.contains(advice), "{advice}");
    }
    assert!(
        row(&assembled, "core")
            .reason
            .contains("SYSTEM_PROMPT.md does not exist")
    );
    let english = Facts {
        language: Some("English".to_owned()),
        ..quiet()
    };
    let english = built("mini", &english);
    assert!(of(&english, "core").contains("使用English"));
}

/// MC-08, MC-09: one bullet a registered tool; without tools no segment.
#[test]
fn the_tool_segment_comes_from_the_registry() {
    let facts = quiet();
    let tools = of(&built("mini", &facts), "toolList").to_owned();
    assert!(tools.starts_with("\n---\n# 可用工具补充说明\n\n- **read_file**：When to use read"));
    assert_eq!(tools.matches("- **").count(), facts.tools.len());
    let fewer = Facts {
        tools: facts
            .tools
            .iter()
            .filter(|it| it.spec.name != "exec")
            .cloned()
            .collect(),
        ..quiet()
    };
    let fewer = of(&built("mini", &fewer), "toolList").to_owned();
    assert!(tools.contains("- **bash**：") && !fewer.contains("bash"));
    let none = Facts {
        tools: Vec::new(),
        ..quiet()
    };
    assert_eq!(ids(&built("mini", &none)), ["core"]);
}

/// MC-10, K5: no parameter schema in the text.
#[test]
fn advice_only_no_schema() {
    let text = text("mini", &rich(true));
    assert!(!text.contains("\"type\"") && !text.contains("properties"));
}

/// MC-16, MC-24: the state is there only with a hint, behind the cache boundary.
#[test]
fn the_state_is_there_only_with_a_hint() {
    assert!(!text("mini", &quiet()).contains("运行时状态"));
    let assembled = built("mini", &rich(true));
    assert_eq!(assembled.system.len(), 2);
    assert!(assembled.system[1].text.starts_with(STATE));
    let before = built("mini", &quiet());
    assert_eq!(before.system[0].text, assembled.system[0].text);
}

/// MC-18, K7, MC-27-C: the summary of a compaction is the first hint here.
#[test]
fn the_summary_is_a_hint() {
    let facts = Facts {
        summary: Some("Fixed the cart.".to_owned()),
        ..quiet()
    };
    let state = of(&built("mini", &facts), "hints").to_owned();
    in_order(
        &state,
        &[
            STATE,
            "[上下文摘要 - 之前会话的执行记录]\nFixed the cart.\n",
            "重新开始",
            "继续",
        ],
    );
    assert!(!text("openclaw", &facts).contains("Fixed the cart."));
}

/// MC-19, MC-20: a tool that keeps failing is named with its reason, and no longer once it works.
#[test]
fn a_degraded_tool_is_a_hint_until_it_works() {
    let facts = Facts {
        degraded: vec![("exec".to_owned(), "the shell is gone".to_owned())],
        ..quiet()
    };
    let state = of(&built("mini", &facts), "hints").to_owned();
    assert!(state.contains("<system_hint type=\"tool_degraded\" tool=\"bash\">\n"));
    assert!(state.contains("the shell is gone") && state.ends_with("</system_hint>"));
    assert!(!text("mini", &quiet()).contains("tool_degraded"));
}

/// MC-30: constraints of policy and caller are hints, in their order.
#[test]
fn constraints_are_hints_in_order() {
    let segment = |id: &str, body: &str| Segment {
        id: id.to_owned(),
        title: id.to_owned(),
        body: body.to_owned(),
        slot: Some(Slot::System),
    };
    let facts = Facts {
        segments: vec![segment("a", "First rule."), segment("b", "Second rule.")],
        constraints: vec!["Third rule.".to_owned(), "Fourth rule.".to_owned()],
        ..quiet()
    };
    let assembled = built("mini", &facts);
    assert_eq!(
        of(&assembled, "hints"),
        format!("{STATE}First rule.\n\nSecond rule.\n\nThird rule.\n\nFourth rule.")
    );
    assert_eq!(ids(&assembled), ["core", "toolList", "hints"]);
}

/// K9: other names for the tools, both of which resolve.
#[test]
fn tools_have_their_own_names() {
    let texts = Texts::load(None);
    let layout = Layout::load(&texts, "mini").unwrap();
    let specs = layout.tools(&texts, &rich(true).tools, Mode::Agent);
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names[..4], ["read_file", "write_file", "edit_file", "bash"]);
    for (shown, wire) in [
        ("bash", "exec"),
        ("exec", "exec"),
        ("read_file", "read"),
        ("grep", "grep"),
    ] {
        assert_eq!(layout.wire_name(shown), wire);
    }
}

#[test]
fn goldens() {
    golden("mini_trusted", &built("mini", &rich(true)));
    golden("mini_untrusted", &built("mini", &rich(false)));
}
