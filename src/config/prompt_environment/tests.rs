use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn env(vars: &[(&str, &str)]) -> Env {
    let now = "2026-11-21T10:00:00[UTC]".parse().unwrap();
    let vars: BTreeMap<String, String> = vars
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Env::fixed(std::path::Path::new("/stage"), now, vars)
}

fn config(text: &str) -> Config {
    toml::from_str(text).unwrap()
}

/// ET-16.
#[test]
fn lines_come_in_the_order_of_their_labels_and_from_the_variables_that_are_named() {
    let config =
        config("[prompt.environment]\nTeam = 'core'\nShell = { env = 'SHELL' }\nArch = 'x86-64'\n");
    let (lines, problems) = environment_lines(&config, &env(&[("SHELL", "/bin/zsh")]));
    let lines: Vec<(&str, &str)> = lines.iter().map(|(a, b)| (&**a, &**b)).collect();
    let expected = [("Arch", "x86-64"), ("Shell", "/bin/zsh"), ("Team", "core")];
    assert_eq!(lines, expected);
    assert_eq!(problems, []);
}

/// ET-16, ET-14.
#[test]
fn secrets_and_invalid_lines_are_left_out_and_reported() {
    let config = config(
        "[prompt.environment]\nA = { env = 'GITHUB_TOKEN' }\nB = { env = 'ALIAS' }\n\
         C = { env = 'UNSET' }\nD = \"two\\nlines\"\nE = ''\n\"F\\nG\" = 'x'\nH = 'ghp_12345678!'\n\
         I = 'fine'\n",
    );
    let secret = "ghp_12345678";
    let env = env(&[("GITHUB_TOKEN", secret), ("ALIAS", secret)]);
    let (lines, problems) = environment_lines(&config, &env);
    assert_eq!(lines, [("I".to_owned(), "fine".to_owned())]);
    assert_eq!(problems.len(), 7, "{problems:?}");
    assert!(problems.iter().all(|(_, why)| !why.contains(secret)));
    assert!(problems[0].1.contains("GITHUB_TOKEN"), "{problems:?}");
}

#[test]
fn many_and_long_lines_are_bounded() {
    let mut config = Config::default();
    let line = |text: String| EnvironmentLine::Text(text);
    for n in 0..LINES + 5 {
        let label = format!("{n:03}");
        config.prompt.environment.insert(label, line("x".into()));
    }
    let long = line("x".repeat(VALUE + 1));
    config.prompt.environment.insert("000".into(), long);
    let (lines, problems) = environment_lines(&config, &env(&[]));
    assert_eq!((lines.len(), problems.len()), (LINES, 2), "{problems:?}");
}

#[test]
fn the_documentation_folder_is_relative_to_home_or_to_the_settings() {
    let env = env(&[]);
    for (text, expected) in [
        ("~/docs", "/stage/home/docs"),
        ("docs", "/stage/config/docs"),
        ("/usr/share/doc", "/usr/share/doc"),
    ] {
        let config = config(&format!("[prompt]\ndocsPath = '{text}'\n"));
        assert_eq!(docs_path(&config, &env), Some(PathBuf::from(expected)));
    }
    assert_eq!(docs_path(&Config::default(), &env), None);
}

/// ZY-18, ZY-20.
#[test]
fn set_variables_for_commands_are_listed_in_order() {
    let config = config("env = ['ZED', 'API_TOKEN', 'ZED', 'UNSET', 'not a name']\n");
    let env = env(&[("ZED", "1"), ("API_TOKEN", "2"), ("not a name", "3")]);
    assert_eq!(variable_names(&config, &env), ["API_TOKEN", "ZED"]);
    assert_eq!(
        variable_names(&Config::default(), &env),
        Vec::<String>::new()
    );
}

proptest! {
    /// ZY-19, INV-10: no value of a variable is among the names, no secret's among the lines.
    #[test]
    fn no_secret_reaches_a_prompt(
        secret in "[!-~]{8,40}",
        around in "[ -~]{0,10}",
    ) {
        let config = config("env = ['MY_SECRET', 'PLAIN']\n[prompt.environment]\n\
            A = { env = 'MY_SECRET' }\nB = { env = 'PLAIN' }\n");
        let plain = format!("{around}{secret}{around}");
        let env = env(&[("MY_SECRET", &secret), ("PLAIN", &plain)]);
        let (lines, problems) = environment_lines(&config, &env);
        prop_assert_eq!(lines.len(), 0);
        prop_assert_eq!(problems.len(), 2);
        prop_assert_eq!(variable_names(&config, &env), ["MY_SECRET", "PLAIN"]);
    }
}
