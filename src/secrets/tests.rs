use proptest::prelude::*;

use super::shapes::SHAPES;
use super::*;

fn find(text: &str) -> Option<Secret> {
    let variables = [("DEPLOY_TOKEN", "hunter2")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Detector::new(&variables.into()).find(text)
}

#[test]
fn secrets_are_found() {
    for text in [
        "key sk-abcdefghijklmnopqrstuv",
        "use sk-ant-story-5b1f0c9d2e",
        "sk-proj-a1b2c3",
        "sk-1234567890abcdef",
        "the token ghp_16C7e42F292c6912E7",
        "github_pat_11ABCDEFG0",
        "AKIAIOSFODNN7EXAMPLE",
        "slack: xoxb-1234-abcd",
        "(glpat-abcd1234efgh)",
        "AIzaSyA1234567890abcdefghijklmn",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc123",
        "-----BEGIN OPENSSH PRIVATE KEY----- b3Bl",
        "-----BEGIN CERTIFICATE-----",
        "password=swordfish",
        "password: swordfish",
        "Password: \"two words\"",
        "DB_PASSWORD_PROD=swordfish",
        "STRIPE_KEY=abcd",
        "my apiKey = abcd",
        "api_key: Zx9",
        "`client-secret`: abc1",
        "**token**: a1b2",
        "token:abc",
        "access key = abcd",
        "the password for staging is hunter3",
        "set the password to \"swordfish\"",
        "my api key is abc123def",
        "密码是 abc123",
        "数据库密码：swordfish",
        "postgres://app:swordfish@db/main",
        "AWS wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "d41d8cd98f00b204e9800998ecf8427e",
        "deploys with hunter2.",
    ] {
        assert!(find(text).is_some(), "{text}");
    }
    assert_eq!(find("deploys with hunter2"), Some(Secret::Variable));
    assert_eq!(find("a ghp_16C7e42F292c6912E7"), Some(Secret::Key));
    assert_eq!(find("password=x1"), Some(Secret::Assigned));
}

#[test]
fn ordinary_memories_are_not_secrets() {
    for text in [
        "likes short answers",
        "uses PostgreSQL 16 and Rust 1.91",
        "the primary key: a UUID such as 123e4567-e89b-12d3-a456-426614174000",
        "secrets: kept in Vault, never in the repository",
        "token: read it from the keyring",
        "the password is stored in the keyring",
        "password hashing uses argon2",
        "TOKEN=$DEPLOY_TOKEN in scripts",
        "password=<from the vault>",
        "API_KEY=xxxx in examples",
        "tokens are rotated every 30 days",
        "max_tokens: 4096",
        "sk-learn based pipelines, see scikit-learn",
        "reads /home/jane/Projects2/InterlineCore/src/knowledge/memory.rs first",
        "https://github.com/rust-lang/rust/blob/master/library/alloc/src/vec/mod.rs",
        "tests are named a_kill_amid_a_step_resumes_with_paired_results_2",
        "class AbstractSingletonProxyFactoryBean2Builder",
        "pinned to commit 8c4e843",
        "author: Jane, monkey: no, keyboard: qwertz",
        "editor is kakoune, hunter22 is a street",
        "agent socket in /tmp/agent.1",
        "用户喜欢简短的回答",
        "密码用 argon2 存储",
        "https://example.org:8080/a@b",
    ] {
        assert_eq!(find(text), None, "{text}");
    }
}

#[test]
fn every_known_beginning_of_a_key_is_found() {
    for (beginnings, with_digit, anyway) in SHAPES {
        for beginning in *beginnings {
            for rest in ["a1".repeat(*with_digit), "a".repeat(*anyway)] {
                let text = format!("see ({beginning}{rest}) there");
                assert_eq!(find(&text), Some(Secret::Key), "{text}");
                assert_eq!(without_keys(&text, "*"), "see (*) there");
            }
        }
    }
}

#[test]
fn keys_are_replaced_where_they_are() {
    for (text, clean) in [
        ("see gsk_abcdefghijkl1 there", "see * there"),
        ("a.sk-abc123 b", "a.* b"),
        ("task-force, sk-short", "task-force, sk-short"),
        (
            "db: postgres://app:swordfish@db/main",
            "db: postgres://*@db/main",
        ),
        ("PuTTY-User-Key-File-3: x\nPrivate-Lines", "*"),
        (
            "a -----BEGIN KEY-----\nx\n-----END KEY----- b AKIAIOSFODNN7EXAMPLE",
            "a * b *",
        ),
    ] {
        assert_eq!(without_keys(text, "*"), clean);
    }
}

#[test]
fn the_patterns_compile() {
    assert!(CANDIDATES.is_some());
}

proptest! {
    /// The pass that spares most texts the checks hides no secret from them.
    #[test]
    fn a_text_without_candidates_has_no_secret(
        parts in prop::collection::vec(prop_oneof![
            "[a-z]{1,12}", "[A-Za-z0-9]{1,24}", "[A-Z][a-z]{2,8}", Just("is".to_owned()),
            Just(" ".to_owned()), Just(" ".to_owned()), Just(", ".to_owned()),
            Just(". (".to_owned()), Just("to ".to_owned()), Just("'".to_owned()),
            prop::sample::select(vec!["sk-", "ghp_", "xoxb-", "SG.", "eyJ", "://a:", "@", "密码是"])
                .prop_map(str::to_owned),
            prop::sample::select(vec!["password", "apiKey", "auth=", "hunter2", "KEY", "pwd"])
                .prop_map(str::to_owned),
        ], 0..16),
    ) {
        let text = parts.concat();
        let [_, key, address, name, cjk, long] = candidates(&text);
        prop_assert!(key || !shapes::has_key(&text), "{}", text);
        prop_assert!(address || !assigned::has_address(&text), "{}", text);
        prop_assert!(name || !assigned::is_assigned(&text), "{}", text);
        prop_assert!(cjk || !assigned::is_stated_in_cjk(&text), "{}", text);
        prop_assert!(long || !random::has_random(&text), "{}", text);
    }

    /// Keys as generators make them, anywhere in a sentence.
    #[test]
    fn long_random_tokens_are_found(
        token in "[A-Za-z0-9]{40,64}|[0-9a-f]{40,64}|[a-z0-9]{40,64}",
        before in "[a-z ]{0,20}",
    ) {
        // A draw that is nearly of one class is not a random token.
        let digits = token.bytes().filter(u8::is_ascii_digit).count();
        prop_assume!(digits * 8 >= token.len() && digits * 5 <= token.len() * 4);
        prop_assert!(find(&format!("{before} {token} then")).is_some(), "{}", token);
    }

    #[test]
    fn any_text_is_judged(text in "(?s).{0,200}") {
        let _ = find(&text);
    }

    #[test]
    fn words_are_not_secrets(text in "([a-z]{1,12} ){1,12}[A-Z][a-z]{1,12}") {
        prop_assume!(!["hunter", " is ", " to ", " es ", " est ", " was ", " ist "]
            .iter().any(|it| text.contains(it)));
        prop_assert_eq!(find(&text), None);
    }
}
