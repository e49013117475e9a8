use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::{Class, Entries, class, fold, fold_any};

fn of(path: &str) -> Class {
    class(
        Path::new(path),
        &[PathBuf::from("/home/u/.state/interline")],
    )
}

#[test]
fn a05_a07_files_that_run_later_are_known_by_name() {
    for path in [
        ".vscode/settings.json",
        ".vscode/tasks.json",
        "sub/.vscode/launch.json",
        ".idea/workspace.xml",
        ".zed/settings.json",
        ".nvim.lua",
        ".exrc",
        ".helix/languages.toml",
        "x.code-workspace",
        ".devcontainer/devcontainer.json",
        ".devcontainer.json",
        ".dir-locals.el",
        ".gitmodules",
        ".husky/pre-commit",
        ".pre-commit-config.yaml",
        ".github/workflows/ci.yml",
        "vendor/bare.git/hooks/post-receive",
        "package.json",
        "web/package.json",
        "Makefile",
        "GNUmakefile",
        "rules.mk",
        "build.rs",
        ".npmrc",
        ".cargo/config.toml",
        ".cargo/config",
        "tests/conftest.py",
        ".envrc",
        "bunfig.toml",
        ".mcp.json",
        ".cursor/mcp.json",
        ".vscode/mcp.json",
        "AGENTS.md",
        "sub/CLAUDE.md",
        "SYSTEM_PROMPT.md",
        "SOUL.md",
        "team/IDENTITY.md",
        "USER.md",
        "TOOLS.md",
        "BOOTSTRAP.md",
        "MEMORY.md",
        "RELATIONS.md",
        "memory/INDEX.md",
        ".openclaw.md",
        ".agents/skills/pdf/SKILL.md",
        ".agents/skills/pdf/run.sh",
        ".bashrc",
    ] {
        assert!(of(path).executes_later, "{path}");
    }
    for path in [
        "src/main.rs",
        "src/build.rs.txt",
        "Cargo.toml",
        "docs/Makefile.md",
        ".github/ISSUE_TEMPLATE.md",
        "vscode/settings.json",
        "autostart/mod.rs",
        "src/soul.rs",
        "memory/2026-11-20.md",
        "docs/index.md",
        "agents/mod.rs",
    ] {
        assert!(!of(path).executes_later, "{path}");
    }
}

#[test]
fn a37_secrets_are_known_by_name_and_samples_are_not_secrets() {
    for path in [
        ".env",
        ".env.local",
        "deploy/.env.production",
        ".envrc",
        "/home/u/.ssh/config",
        "/home/u/.aws/credentials",
        "/home/u/.gnupg/x",
        "/home/u/.netrc",
        "/home/u/.config/gh/hosts.yml",
        "/home/u/.docker/config.json",
        "/etc/shadow",
        ".npmrc",
        ".pypirc",
        "id_rsa",
        "id_ed25519_work",
        "server.pem",
        "tls/server.key",
        "cert.p12",
        "credentials.json",
        "credentials-prod.json",
        "client_secret_1.json",
    ] {
        assert!(of(path).secret, "{path}");
    }
    for path in [
        ".env.example",
        ".env.sample",
        ".env.template",
        "env.rs",
        "src/environment.rs",
        "id_rsa.pub",
        "src/credentials.rs",
        "keys.rs",
        "src/gcloud/mod.rs",
        ".docker/nginx.conf",
        ".environment",
    ] {
        assert!(!of(path).secret, "{path}");
    }
}

#[test]
fn a10_a_protected_name_stays_protected_however_it_is_spelled() {
    for path in [
        ".GIT/config",
        ".Git/hooks/x",
        ".git./config",
        ".git /config",
        ".git::$INDEX_ALLOCATION/config",
        ".g\u{200c}it/config",
        ".gi\u{feff}t/config",
        "git~1/config",
        "a/./.git/config",
        "a//.git/config",
    ] {
        assert!(of(path).git, "{path:?}");
    }
    for path in [
        ".VSCODE/settings.json",
        ".v\u{17f}code/settings.json",
        "PACKAGE.JSON",
        "package.json.",
        "package.json::$DATA",
        "agents.MD",
    ] {
        assert!(of(path).executes_later, "{path:?}");
    }
    for path in [
        ".ENV",
        ".Env.Local",
        ".env ",
        "ID_RSA",
        "x.PEM",
        ".S\u{17f}H/x",
    ] {
        assert!(of(path).secret, "{path:?}");
    }
    for path in [".gitignore", "git~x", "x.git", ".github/README.md"] {
        assert!(!of(path).git, "{path:?}");
    }
}

#[test]
fn a08_our_own_folders_are_known_by_component() {
    for (path, own, hidden) in [
        ("/home/u/.state/interline/trust.json", true, true),
        ("/home/u/.STATE/Interline/sessions/x.jsonl", true, true),
        ("/home/u/.state/interline/output/out-1.txt", true, false),
        ("/home/u/.state/interline/output", true, true),
        ("/home/u/.state/interline-evil/x", false, false),
        ("/w/repo/.interline/config.toml", true, false),
        ("/w/repo/.interline/chat/1.md", true, true),
        ("/w/repo/.interlineignore", true, false),
        ("/w/repo/src/interline.rs", false, false),
    ] {
        let class = of(path);
        assert_eq!((class.own, class.hidden), (own, hidden), "{path}");
    }
    // A name of nothing but dots or spaces is a name like any other.
    let own = [PathBuf::from("/home/   /state")];
    assert!(class(Path::new("/home/   /state/x"), &own).own);
    assert!(!class(Path::new("/home/.../state/x"), &own).own);
}

#[test]
fn a11_the_kernels_folders_are_special() {
    for path in [
        "/proc/self/environ",
        "/proc/self/root/etc",
        "/dev/fd/3",
        "/sys/x",
    ] {
        assert!(of(path).special, "{path}");
    }
    assert!(!of("/process/x").special);
    assert!(!of("proc/x").special);
    assert!(!of("/dev/shm/project/x").special);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a10_case_and_depth_never_unprotect(
        upper in proptest::collection::vec(any::<bool>(), 24),
        depth in 0usize..4,
        which in 0usize..4,
    ) {
        let name = ["/.git/hooks/pre-commit", "/.vscode/tasks.json", "/.ssh/id_rsa", "/.interline/config.toml"][which];
        let name: String = name
            .chars()
            .zip(upper.iter().chain(std::iter::repeat(&false)))
            .map(|(c, upper)| if *upper { c.to_ascii_uppercase() } else { c })
            .collect();
        let class = of(&format!("/w/{}{name}", "d/".repeat(depth)));
        prop_assert!(class.git || class.executes_later || class.secret || class.own);
    }

    #[test]
    fn any_name_has_a_class(path in "\\PC{0,40}") {
        let _ = of(&path);
    }

    /// What a search may show is the same as what `read` may.
    #[test]
    fn an_entry_has_the_class_of_its_path(
        names in proptest::collection::vec(name(), 0..5),
        last in name(),
        absolute in any::<bool>(),
    ) {
        let own = ["/home/u/.state/interline", "/home/u/.State/output/deep", "/home/u/run"];
        let own = own.map(PathBuf::from);
        let top = Path::new(if absolute { "/" } else { "" });
        let folder = top.join(names.join("/"));
        let whole = class(&folder.join(&last), &own);
        let entry = Entries::new(&folder, &own).class(last.as_ref());
        prop_assert_eq!(
            (entry.hidden, entry.secret, entry.special),
            (whole.hidden, whole.secret, whole.special),
            "{}/{}", folder.display(), last
        );
    }

    #[test]
    fn plain_names_are_folded_like_all_others(name in "[a-zA-Z0-9._ :\u{212a}-]{0,12}") {
        prop_assert_eq!(fold(&name), fold_any(&name));
    }
}

/// Names that matter somewhere, in several spellings, and some that never do.
fn name() -> impl Strategy<Value = String> {
    let name = proptest::sample::select(vec![
        "home",
        "u",
        ".state",
        "interline",
        "output",
        "skills",
        "run",
        "deep",
        ".interline",
        "chat",
        ".ssh",
        ".docker",
        "config.json",
        ".config",
        "gh",
        "etc",
        "shadow",
        "credentials",
        ".env",
        "id_rsa",
        "x.pem",
        "proc",
        "dev",
        "shm",
        "sys",
        "src",
        "a.rs",
        "credentials.json",
        ".git",
    ]);
    let change = |name: &str, how: u8| match how {
        0 => name.to_uppercase(),
        1 => format!("{name}."),
        2 => format!("{name}:stream"),
        3 => format!("{name}\u{200b}"),
        4 => name.replace('s', "\u{17f}"),
        _ => name.to_owned(),
    };
    (name, 0_u8..20).prop_map(move |(name, how)| change(name, how))
}
