use std::collections::BTreeMap;

use super::*;

struct Setup {
    folder: tempfile::TempDir,
    env: Env,
    keys: Keys,
}

fn setup(vars: &[(&str, &str)]) -> Setup {
    let folder = tempfile::tempdir().unwrap();
    let vars: BTreeMap<String, String> = vars
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let now = "2026-11-21T12:00:00Z[UTC]".parse().unwrap();
    let env = Env::fixed(folder.path(), now, vars);
    std::fs::create_dir(&env.dirs.home).unwrap();
    Setup {
        keys: Keys::new(env.clone()),
        folder,
        env,
    }
}

fn command(script: &str) -> ProviderConfig {
    ProviderConfig {
        api_key_command: Some(vec!["sh".into(), "-c".into(), script.into()]),
        ..ProviderConfig::default()
    }
}

async fn find(setup: &Setup, config: &ProviderConfig) -> Result<Option<String>, Failure> {
    let found = setup.keys.find("anthropic", config).await?;
    Ok(found.map(|key| key.expose_secret().to_owned()))
}

async fn key(setup: &Setup, config: &ProviderConfig) -> String {
    find(setup, config).await.unwrap().unwrap()
}

/// ET-47: a key in plain text is the last source, so that moving it elsewhere works at once.
#[tokio::test]
async fn a_key_in_plain_text_is_the_last_source() {
    let setup = setup(&[]);
    let config = ProviderConfig {
        literal_key: Some(crate::config::LiteralKey("of-etcode".into())),
        ..ProviderConfig::default()
    };
    assert!(setup.keys.has("anthropic", &config) && needs_key("local", &config));
    assert_eq!(key(&setup, &config).await, "of-etcode");
    assert!(!format!("{config:?}").contains("of-etcode"));
    assert!(config != ProviderConfig::default());
    login(&setup.env, "anthropic", "of-login").unwrap();
    assert_eq!(key(&setup, &config).await, "of-login");
}

#[tokio::test]
async fn sources_are_read_in_their_order() {
    let setup = setup(&[("ANTHROPIC_API_KEY", "of-env"), ("MINE", "of-mine")]);
    let file = setup.folder.path().join("key");
    std::fs::write(&file, "of-file\n").unwrap();
    let mut config = command("echo of-command");
    assert_eq!(key(&setup, &config).await, "of-env");
    config.api_key_env = Some("MINE".to_owned());
    assert_eq!(key(&setup, &config).await, "of-mine");
    config.api_key_env = Some("UNSET".to_owned());
    config.api_key_file = Some(file);
    assert_eq!(key(&setup, &config).await, "of-file");
    config.api_key_file = None;
    assert_eq!(key(&setup, &config).await, "of-command");
    config.api_key_command = None;
    assert_eq!(find(&setup, &config).await, Ok(None));
    login(&setup.env, "anthropic", " of-login ").unwrap();
    assert_eq!(key(&setup, &config).await, "of-login");
    setup.keys.set("anthropic", "of-client".to_owned());
    assert_eq!(key(&setup, &config).await, "of-client");
    setup.keys.set("anthropic", String::new());
    assert_eq!(key(&setup, &config).await, "of-login");
}

#[tokio::test]
async fn a_source_that_fails_is_named_not_skipped() {
    let setup = setup(&[]);
    login(&setup.env, "anthropic", "of-login").unwrap();
    let empty = setup.folder.path().join("empty");
    std::fs::write(&empty, " \n").unwrap();
    for path in [empty, setup.folder.path().join("absent")] {
        let config = ProviderConfig {
            api_key_file: Some(path.clone()),
            ..ProviderConfig::default()
        };
        let failure = find(&setup, &config).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Auth);
        assert!(failure.message.contains(&path.display().to_string()));
    }
    for (script, reason) in [
        ("echo s3cret; exit 3", "exit status: 3"),
        ("true", "printed nothing"),
        ("printf '\\377'", "not text"),
    ] {
        let failure = find(&setup, &command(script)).await.unwrap_err();
        assert!(failure.message.contains(reason), "{}", failure.message);
        assert!(!failure.message.contains("s3cret"));
    }
    let absent = ProviderConfig {
        api_key_command: Some(vec!["/nonexistent/helper".into()]),
        ..ProviderConfig::default()
    };
    assert!(find(&setup, &absent).await.is_err());
}

#[tokio::test]
async fn a_command_runs_in_the_home_folder() {
    let setup = setup(&[]);
    let home = std::fs::canonicalize(&setup.env.dirs.home).unwrap();
    let folder = key(&setup, &command("pwd")).await;
    assert_eq!(std::fs::canonicalize(folder).unwrap(), home);
    std::fs::remove_dir(home).unwrap();
    setup.keys.forget("anthropic");
    assert_eq!(key(&setup, &command("pwd")).await, "/");
}

#[tokio::test]
async fn a_command_runs_once_without_a_shell_or_input() {
    let setup = setup(&[]);
    let log = setup.folder.path().join("log");
    let config = command(&format!("cat; echo x >> {0}; wc -l < {0}", log.display()));
    assert_eq!(key(&setup, &config).await, "1");
    assert_eq!(key(&setup, &config).await, "1");
    setup.keys.forget("anthropic");
    assert_eq!(key(&setup, &config).await, "2");
    // No shell: the arguments are passed unchanged.
    let literal = ProviderConfig {
        api_key_command: Some(vec!["echo".into(), "$HOME;id".into()]),
        ..ProviderConfig::default()
    };
    assert_eq!(key(&setup, &literal).await, "$HOME;id");
}

#[tokio::test]
async fn a_command_that_hangs_is_killed_with_its_children() {
    let mut setup = setup(&[]);
    setup.keys.command_time = Duration::from_millis(300);
    let pid = setup.folder.path().join("pid");
    let config = command(&format!("sleep 600 & echo $! > {}; wait", pid.display()));
    let failure = find(&setup, &config).await.unwrap_err();
    assert!(
        failure.message.contains("did not end"),
        "{}",
        failure.message
    );
    let text = std::fs::read_to_string(&pid).unwrap();
    let child = rustix::process::Pid::from_raw(text.trim().parse().unwrap()).unwrap();
    // It is killed at once, but its new parent may take a moment to reap it.
    let gone = async {
        while rustix::process::test_kill_process(child).is_ok() && !is_zombie(&text) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone)
        .await
        .unwrap();
}

fn is_zombie(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| stat.contains(") Z "))
}

#[tokio::test]
async fn a_stored_key_is_private_and_refused_when_others_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let setup = setup(&[]);
    let path = login(&setup.env, "anthropic", "k").unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    for open in [0o640, 0o604, 0o660] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(open)).unwrap();
        let failure = find(&setup, &ProviderConfig::default()).await.unwrap_err();
        assert!(failure.hint.contains("chmod 600"));
    }
    // Logging in again repairs it.
    login(&setup.env, "anthropic", "new").unwrap();
    assert_eq!(key(&setup, &ProviderConfig::default()).await, "new");
}

#[test]
fn only_plain_names_become_files() {
    let setup = setup(&[]);
    for name in ["", "../x", "a/b", ".", "a b"] {
        let failure = login(&setup.env, name, "k").unwrap_err();
        assert_eq!(failure.kind, FailureKind::Invalid, "{name}");
    }
    assert!(login(&setup.env, "anthropic", "  ").is_err());
}

#[test]
fn a_key_is_not_in_debug_output() {
    let setup = setup(&[("ANTHROPIC_API_KEY", "s3cret")]);
    setup.keys.set("anthropic", "s3cret".to_owned());
    assert!(!format!("{:?}", setup.keys).contains("s3cret"));
}

#[test]
fn having_a_key_runs_nothing() {
    let setup = setup(&[]);
    let mark = setup.folder.path().join("ran");
    assert!(!setup.keys.has("anthropic", &ProviderConfig::default()));
    assert!(
        setup
            .keys
            .has("anthropic", &command(&format!("touch {}", mark.display())))
    );
    assert!(!mark.exists());
    login(&setup.env, "anthropic", "k").unwrap();
    assert!(setup.keys.has("anthropic", &ProviderConfig::default()));
}

#[test]
fn paths_start_at_home_or_in_the_config_folder() {
    let setup = setup(&[]);
    let dirs = &setup.env.dirs;
    assert_eq!(expand(&setup.env, Path::new("~/k")), dirs.home.join("k"));
    assert_eq!(expand(&setup.env, Path::new("k")), dirs.config.join("k"));
    assert_eq!(expand(&setup.env, Path::new("/k")), Path::new("/k"));
}
