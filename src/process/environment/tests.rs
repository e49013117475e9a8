use std::collections::BTreeMap;

use super::{allowed, keepable};

fn vars(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn a37_a_child_sees_the_allowlist_and_nothing_else() {
    let env = allowed(
        &vars(&[
            ("PATH", "/bin"),
            ("HOME", "/home/u"),
            ("LC_ALL", "C"),
            ("XDG_CONFIG_HOME", "/c"),
            ("CARGO_HOME", "/cargo"),
            ("ANTHROPIC_API_KEY", "k"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("HTTPS_PROXY", "http://p"),
            ("LD_PRELOAD", "evil.so"),
            ("GIT_SSH_COMMAND", "evil"),
            ("SSH_AUTH_SOCK", "/s"),
            ("path", "/evil"),
        ]),
        &[],
    );
    let names: Vec<_> = env.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "CARGO_HOME",
            "EDITOR",
            "GIT_EDITOR",
            "GIT_PAGER",
            "GIT_TERMINAL_PROMPT",
            "HOME",
            "LC_ALL",
            "PAGER",
            "PATH",
            "TERM",
            "VISUAL",
            "XDG_CONFIG_HOME",
        ]
    );
}

#[test]
fn a37_names_that_look_like_secrets_do_not_pass_by_prefix() {
    let env = allowed(
        &vars(&[
            ("XDG_API_KEY", "1"),
            ("LC_TOKEN", "2"),
            ("XDG_password_x", "3"),
            ("LC_CTYPE", "C.UTF-8"),
        ]),
        &[],
    );
    assert_eq!(env.get("LC_CTYPE").map(String::as_str), Some("C.UTF-8"));
    for name in ["XDG_API_KEY", "LC_TOKEN", "XDG_password_x"] {
        assert!(!env.contains_key(name), "{name}");
    }
}

#[test]
fn a_name_from_the_settings_passes_exactly_and_even_if_it_looks_like_a_secret() {
    let vars = vars(&[
        ("MY_TOKEN", "t"),
        ("MY_TOKEN_2", "u"),
        ("DATABASE_URL", "d"),
    ]);
    let env = allowed(&vars, &["MY_TOKEN".to_owned(), "DATABASE_URL".to_owned()]);
    assert_eq!(env.get("MY_TOKEN").map(String::as_str), Some("t"));
    assert_eq!(env.get("DATABASE_URL").map(String::as_str), Some("d"));
    assert!(!env.contains_key("MY_TOKEN_2"));
}

#[test]
fn x03_nothing_can_open_a_pager_or_an_editor_even_if_the_user_has_one() {
    let env = allowed(
        &vars(&[("PAGER", "less"), ("TERM", "xterm"), ("EDITOR", "vi")]),
        &["PAGER".to_owned(), "EDITOR".to_owned()],
    );
    for (name, value) in [
        ("TERM", "dumb"),
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("GIT_EDITOR", "true"),
        ("EDITOR", "true"),
    ] {
        assert_eq!(env.get(name).map(String::as_str), Some(value), "{name}");
    }
}

/// R22: names with which attackers made programs load, run or trust something.
const STEERING: &str = "PATH HOME SHELL ENV BASH_ENV IFS PS4 PROMPT_COMMAND LD_PRELOAD LD_AUDIT \
    DYLD_INSERT_LIBRARIES NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS NODE_REPL_EXTERNAL_MODULE \
    NPM_CONFIG_REGISTRY NPM_CONFIG_SCRIPT_SHELL PERL5OPT PERL5LIB PERL5DB RUBYOPT RUBYLIB GEM_HOME \
    GEM_PATH BUNDLE_GEMFILE JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH MAVEN_OPTS \
    GRADLE_OPTS GIT_SSH GIT_SSH_COMMAND GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 \
    GIT_CONFIG_GLOBAL GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_ASKPASS GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND \
    SSH_ASKPASS SUDO_ASKPASS RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTFLAGS RUSTDOC \
    CARGO_BUILD_RUSTC CARGO_TARGET_DIR CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER CC CXX LD AR \
    CFLAGS LDFLAGS CPATH LIBRARY_PATH MAKEFLAGS MAKEFILES MFLAGS CMAKE_TOOLCHAIN_FILE \
    PKG_CONFIG_PATH HTTPS_PROXY HTTP_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR \
    CURL_CA_BUNDLE REQUESTS_CA_BUNDLE CURL_HOME WGETRC PIP_INDEX_URL PIP_EXTRA_INDEX_URL \
    PIP_CONFIG_FILE PIP_TRUSTED_HOST UV_INDEX_URL UV_DEFAULT_INDEX \
    DOCKER_HOST DOCKER_CONFIG DOCKER_CERT_PATH COMPOSE_FILE KUBECONFIG HELM_PLUGINS PYTHONPATH \
    PYTHONSTARTUP PYTHONHOME PYTHONBREAKPOINT PYTHONUSERBASE PYTHONINSPECT VIRTUAL_ENV GOFLAGS \
    GOPROXY GOPATH GOROOT GONOSUMDB GOTOOLDIR CGO_CFLAGS LUA_PATH LUA_INIT PHP_INI_SCAN_DIR PHPRC \
    DOTNET_STARTUP_HOOKS COMPLUS_LOADER EDITOR VISUAL PAGER GIT_PAGER LESSOPEN LESSCLOSE \
    MANPAGER BROWSER ZDOTDIR FPATH INPUTRC TERMINFO HOSTALIASES RESOLV_HOST_CONF LOCPATH NLSPATH \
    GCONV_PATH MALLOC_CHECK_ GLIBC_TUNABLES TMPDIR XDG_CONFIG_HOME LC_ALL AWS_CONFIG_FILE \
    AWS_SHARED_CREDENTIALS_FILE GOOGLE_APPLICATION_CREDENTIALS BASH_FUNC_ls VIMINIT EXINIT \
    MYVIMRC EMACSLOADPATH INTERLINE_CONFIG HOMEBREW_BREW_GIT_REMOTE PLAYWRIGHT_DOWNLOAD_BASE_URL \
    ANTHROPIC_BASE_URL NVM_NODEJS_ORG_MIRROR LIBVIRT_DEFAULT_URI TAR_OPTIONS GREP_OPTIONS \
    RSYNC_RSH CVS_RSH BAZEL_USER_OPTS CCACHE_PREFIX SCCACHE_CONF MOCHA_OPTS JEST_CONFIG ESLINT_USE \
    TOKEN URL";

#[test]
fn r22_names_that_programs_obey_are_not_stored() {
    let kept: Vec<_> = STEERING.split(' ').filter(|name| keepable(name)).collect();
    assert_eq!(kept, Vec::<&str>::new());
    assert!(STEERING.split(' ').count() > 125);
}

#[test]
fn names_of_data_are_stored() {
    for name in [
        "NPM_TOKEN",
        "CARGO_REGISTRY_TOKEN",
        "GITHUB_TOKEN",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_REGION",
        "DATABASE_URL",
        "MONGODB_URI",
        "SENTRY_DSN",
        "STRIPE_API_KEY",
        "SMTP_USER",
        "SMTP_PASSWORD",
        "AZURE_TENANT_ID",
        "TEST_EMAIL",
    ] {
        assert!(keepable(name), "{name}");
    }
}
