use proptest::prelude::*;

use super::super::Origin;
use super::*;

fn skill(name: &str, description: &str, keywords: &[&str]) -> Skill {
    Skill {
        name: name.to_owned(),
        description: description.to_owned(),
        keywords: keywords.iter().map(|word| (*word).to_owned()).collect(),
        always: false,
        for_model: true,
        for_user: true,
        connector: None,
        origin: Origin::User,
        location: String::new(),
        path: "/s/SKILL.md".into(),
        body: "".into(),
        cut: false,
        hash: String::new(),
    }
}

fn skills() -> Vec<Skill> {
    vec![
        skill(
            "pdf-forms",
            "Use this skill when the user wants to fill forms or extract tables from documents.",
            &["acroform", "tax return"],
        ),
        skill("deploy", "Ships a release to staging.", &["rollout"]),
        skill("translate", "翻译文档", &["翻译"]),
    ]
}

fn check(prompt: &str, expected: &[&str]) {
    let skills = skills();
    let found = matching(&skills, prompt);
    let names: Vec<&str> = found.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, expected, "{prompt}");
}

#[test]
fn zy91_a_skill_is_activated_by_its_name_a_keyword_or_two_words_of_its_description() {
    check("Please deploy it", &["deploy"]);
    check("use PDF forms here", &["pdf-forms"]);
    check("the pdf-forms skill", &["pdf-forms"]);
    check("an AcroForm!", &["pdf-forms"]);
    check("my tax-return of 2025", &["pdf-forms"]);
    check("extract the tables", &["pdf-forms"]);
    check("请帮我翻译这个文件", &["translate"]);
}

#[test]
fn zy91_a_skill_that_has_nothing_to_do_with_the_prompt_is_not() {
    check("", &[]);
    check("fix the bug in main.rs", &[]);
    // One word of the description, and words that say nothing.
    check("the tables are wrong", &[]);
    check("when the user wants to use this skill", &[]);
    // Whole words, and keywords in one piece.
    check("redeployment, acroforms", &[]);
    check("return the tax", &[]);
    check("forms of a pdf", &[]);
}

#[test]
fn names_rank_before_keywords_and_these_before_descriptions() {
    check(
        "deploy the acroform, extract tables, 翻译",
        &["deploy", "pdf-forms", "translate"],
    );
    check("rollout of documents with tables", &["deploy", "pdf-forms"]);
    let many: Vec<Skill> = ["d", "b", "a", "c"]
        .map(|name| skill(name, "x", &["alike"]))
        .to_vec();
    let found: Vec<&str> = matching(&many, "all alike")
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(found, ["a", "b", "c"]);
}

#[test]
fn skills_that_are_there_anyway_or_not_for_the_model_are_left_alone() {
    let mut always = skill("deploy", "x", &[]);
    always.always = true;
    let mut hidden = skill("deploy", "x", &[]);
    hidden.for_model = false;
    assert_eq!(matching(&[skill("deploy", "x", &[])], "deploy").len(), 1);
    assert!(matching(&[always, hidden], "deploy").is_empty());
    // A name of words that say nothing is no name.
    assert_eq!(
        matching(&[skill("the-forge", "x", &[])], "the forge").len(),
        1
    );
    assert!(
        matching(
            &[skill("the-file", "x", &["new code"])],
            "the file, new code"
        )
        .is_empty()
    );
}

proptest! {
    #[test]
    fn any_prompt_gives_the_same_few_skills(prompt in "\\PC{0,200}") {
        let skills = skills();
        let found = matching(&skills, &prompt);
        prop_assert!(found.len() <= 3);
        prop_assert_eq!(&found, &matching(&skills, &prompt));
        let mut turned = skills.clone();
        turned.reverse();
        prop_assert_eq!(found, matching(&turned, &prompt));
    }
}
