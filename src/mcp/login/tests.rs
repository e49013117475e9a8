use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::server::Phase;
use super::super::tests::{Desk, LONG};
use super::*;

/// The scripted server with its login server; both end with their standard input.
struct Place {
    _child: std::process::Child,
    folder: tempfile::TempDir,
    url: String,
}

impl Place {
    fn new(mode: &str) -> Self {
        use std::io::BufRead as _;
        let folder = tempfile::tempdir().unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp/login.py");
        let mut child = std::process::Command::new("python3")
            .args([script, mode])
            .arg(folder.path().join("record"))
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut ports = String::new();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut ports).unwrap();
        let port = ports.split(' ').next().unwrap();
        Self {
            _child: child,
            folder,
            url: format!("http://127.0.0.1:{port}/mcp"),
        }
    }

    fn record(&self, at: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("record"));
        let text = text.unwrap_or_default();
        let lines = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_default());
        lines.filter(|line: &Value| line["at"] == at).collect()
    }

    fn revoke(&self) {
        std::fs::write(self.folder.path().join("record.revoked"), "").unwrap();
    }

    async fn desk(&self, more: Value) -> Desk {
        let mut entry = json!({ "url": self.url });
        let more = more.as_object().unwrap().clone();
        entry.as_object_mut().unwrap().extend(more);
        Desk::settled(entry).await
    }
}

/// A browser whose user agrees. Returns the listener's answer.
async fn browse(address: &Url) -> u16 {
    let options = http::Options {
        base: Some(address.clone()),
        ..http::Options::default()
    };
    let client = http::client(&options).unwrap();
    let shown = client.get(address.clone()).send().await.unwrap();
    let back = shown.headers()["location"].to_str().unwrap().to_owned();
    client.get(back).send().await.unwrap().status().as_u16()
}

/// Logs in, or returns the error.
async fn log_in(desk: &Desk) -> Result<(), String> {
    let pending = desk.servers.log_in(&desk.bench.root, "s").await?;
    let address = pending.address().clone();
    let (outcome, _) = tokio::join!(pending.finish(), browse(&address));
    outcome
}

async fn until(desk: &Desk, wanted: impl Fn(&Phase) -> bool) {
    let waiting = async {
        while !wanted(&desk.server().phase()) {
            tokio::task::yield_now().await;
        }
    };
    let reached = tokio::time::timeout(LONG, waiting).await;
    assert!(reached.is_ok(), "{:?}", desk.server().phase());
}

async fn logged_in(place: &Place) -> Desk {
    let desk = place.desk(json!({})).await;
    log_in(&desk).await.unwrap();
    until(&desk, |phase| *phase == Phase::Ready).await;
    desk
}

/// The key files of the state folder, without locks.
fn kept(desk: &Desk) -> Vec<PathBuf> {
    let folder = crate::provider::keys::keys_folder(&desk.bench.cx.env);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_none_or(|it| it != "lock"))
        .collect()
}

#[tokio::test]
async fn a_server_that_requires_a_login_says_so_and_works_after_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new("good");
    let desk = place.desk(json!({})).await;
    let status = &desk.servers.status()[0];
    assert_eq!(
        (status.state.as_str(), status.logged_in),
        ("needsLogin", false)
    );
    let news = desk.servers.failure_notices(&desk.bench.root).join("");
    assert!(news.contains("interline mcp login s"), "{news}");
    log_in(&desk).await.unwrap();
    until(&desk, |phase| *phase == Phase::Ready).await;
    let text = desk.text("mcp__s__echo", json!({"text": "inside"})).await;
    assert!(text.contains("inside"), "{text}");
    assert!(desk.servers.status()[0].logged_in);
    let [file]: [PathBuf; 1] = kept(&desk).try_into().unwrap();
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let asked = &place.record("authorize")[0];
    assert_eq!(asked["code_challenge_method"], "S256");
    assert_eq!(asked["resource"], place.url);
    assert_eq!(asked["scope"], "tools");
    let token = &place.record("token")[0];
    assert_eq!(token["resource"], place.url);
    let back = place.record("register")[0]["redirect_uris"][0].clone();
    assert!(back.as_str().unwrap().starts_with("http://127.0.0.1:"));
}

/// The tokens are only in their file and on the wire.
#[tokio::test]
async fn nothing_shows_a_token() {
    let place = Place::new("short");
    let desk = logged_in(&place).await;
    place.revoke();
    let words = desk.fails("mcp__s__echo", json!({"text": "x"})).await;
    until(&desk, |phase| matches!(phase, Phase::Login(_))).await;
    let message = format!(
        "{words}{:?}{:?}{:?}",
        desk.servers.status(),
        desk.servers.failure_notices(&desk.bench.root),
        desk.servers.facts(&desk.bench.root),
    );
    assert!(!message.contains("s3cr3t"), "{message}");
}

/// Only what is secret is removed from texts: not the address, the client or the scopes.
#[tokio::test]
async fn only_tokens_of_a_login_are_hidden() {
    let place = Place::new("good");
    let desk = logged_in(&place).await;
    let file = std::fs::read_to_string(&kept(&desk)[0]).unwrap();
    let kept: Value = serde_json::from_str(&file).unwrap();
    let mut clean = kept.clone();
    desk.bench.cx.env.secrets().clean_value(&mut clean);
    assert_eq!(clean["url"], kept["url"]);
    let names = |of: &Value| -> Vec<String> {
        let same = |(name, value): (&String, &Value)| (of[name] == *value).then(|| name.clone());
        let fields = kept["credentials"]["token_response"].as_object().unwrap();
        fields.iter().filter_map(same).collect()
    };
    let response = &clean["credentials"]["token_response"];
    let shown = names(response);
    assert!(shown.contains(&"token_type".to_owned()), "{shown:?}");
    assert!(!shown.contains(&"access_token".to_owned()), "{shown:?}");
}

#[tokio::test]
async fn an_expired_login_is_renewed() {
    let place = Place::new("short");
    let desk = logged_in(&place).await;
    desk.text("mcp__s__echo", json!({"text": "x"})).await;
    let renewed = place.record("token");
    let renewed: Vec<&Value> = renewed
        .iter()
        .filter(|it| it["grant_type"] == "refresh_token")
        .collect();
    assert!(renewed.len() >= 2, "{renewed:?}");
    // A refresh token works once.
    assert_ne!(renewed[0]["refresh_token"], renewed[1]["refresh_token"]);
    assert_eq!(renewed[0]["resource"], place.url);
}

#[tokio::test]
async fn a_rejected_login_asks_for_another() {
    let place = Place::new("short");
    let desk = logged_in(&place).await;
    place.revoke();
    desk.fails("mcp__s__echo", json!({"text": "x"})).await;
    until(&desk, |phase| matches!(phase, Phase::Login(_))).await;
    let reason = desk.server().phase().reason().unwrap();
    assert!(reason.contains("log in again"), "{reason}");
    // The rejected token is not sent again.
    let before = place.record("token").len();
    let _ = desk.server().live(LONG).await;
    assert_eq!(place.record("token").len(), before);
}

/// A login belongs to its address: a server with another address cannot use it.
#[tokio::test]
async fn another_address_gets_no_part_of_a_login() {
    let place = Place::new("good");
    let desk = logged_in(&place).await;
    let other = Place::new("good");
    let mut config = desk.config.clone();
    config
        .mcp_servers
        .insert("s".to_owned(), json!({ "url": other.url }));
    desk.servers.reload(&config, &desk.bench.root);
    desk.servers.start_all(&desk.bench.root);
    desk.server().wait_until_settled(LONG).await;
    assert!(matches!(desk.server().phase(), Phase::Login(_)));
    let seen = other.record("tools");
    assert!(!seen.is_empty() && seen.iter().all(|it| it["token"] == ""));
}

/// Even if the other address names the same login server.
#[tokio::test]
async fn a_login_is_read_for_its_own_address_only() {
    let place = Place::new("good");
    let desk = logged_in(&place).await;
    let kept = |address: &str| {
        let url = Url::parse(address).unwrap();
        Tokens::of(&desk.bench.cx.env, &url).client().unwrap()
    };
    assert!(kept(&place.url).is_some());
    let name = place.url.replace("127.0.0.1", "localhost");
    for other in [name, format!("{}/", place.url), format!("{}?x", place.url)] {
        assert!(kept(&other).is_none(), "{other}");
    }
}

#[tokio::test]
async fn a_login_can_be_deleted() {
    let place = Place::new("good");
    let desk = logged_in(&place).await;
    assert_eq!(desk.servers.log_out(&desk.bench.root, "s"), Ok(true));
    until(&desk, |phase| matches!(phase, Phase::Login(_))).await;
    assert_eq!(kept(&desk), Vec::<PathBuf>::new());
    assert_eq!(desk.servers.log_out(&desk.bench.root, "s"), Ok(false));
}

#[tokio::test]
async fn a_second_login_replaces_the_first() {
    let place = Place::new("good");
    let desk = place.desk(json!({})).await;
    let first = desk.servers.log_in(&desk.bench.root, "s").await.unwrap();
    let first = tokio::spawn(first.finish());
    log_in(&desk).await.unwrap();
    let ended = first.await.unwrap().unwrap_err();
    assert!(ended.contains("replaced it"), "{ended}");
}

#[tokio::test]
async fn a_client_registered_by_hand_is_used() {
    let place = Place::new("no-register");
    let desk = place.desk(json!({})).await;
    let words = log_in(&desk).await.unwrap_err();
    assert!(words.contains("oauth.clientId"), "{words}");
    let oauth = json!({"oauth": {"clientId": "by-hand", "scopes": ["a", "b"]}});
    let desk = place.desk(oauth).await;
    log_in(&desk).await.unwrap();
    let asked = &place.record("authorize")[0];
    assert_eq!(
        (&asked["client_id"], &asked["scope"]),
        (&json!("by-hand"), &json!("a b"))
    );
}

/// INV-12, R33: whatever a login server does, the user gets a message and nothing is stored.
#[tokio::test]
async fn hostile_login_servers_get_nothing_and_are_named() {
    for (mode, words) in [
        ("wrong-issuer", "identify itself"),
        ("wrong-iss", "identify itself"),
        ("other-resource", "for another address"),
        ("huge", "more than"),
        ("script", "not safe to open"),
        ("in-the-clear", "not https"),
        ("no-pkce", "PKCE"),
        ("silent-pkce", "code_challenge_methods_supported"),
        ("refuses", "access_denied"),
        ("moves", "cannot reach"),
    ] {
        let place = Place::new(mode);
        let desk = place.desk(json!({})).await;
        let message = log_in(&desk).await.unwrap_err();
        assert!(message.contains(words), "{mode}: {message}");
        assert!(
            message.len() < 1500 && !message.contains("s3cr3t"),
            "{mode}: {message}"
        );
        assert_eq!(kept(&desk), Vec::<PathBuf>::new(), "{mode}");
        assert_eq!(place.record("token"), Vec::<Value>::new(), "{mode}");
    }
}

/// A token that cannot be sent in a header is not stored.
#[tokio::test]
async fn an_unusable_token_is_not_stored() {
    for (mode, words) in [("odd-type", "Bearer"), ("lines", "cannot be sent")] {
        let place = Place::new(mode);
        let desk = place.desk(json!({})).await;
        let message = log_in(&desk).await.unwrap_err();
        assert!(message.contains(words), "{mode}: {message}");
        assert_eq!(kept(&desk), Vec::<PathBuf>::new(), "{mode}");
    }
}

/// A lifetime of billions of years is shortened, so that the login is renewed eventually.
#[tokio::test]
async fn an_endless_lifetime_is_shortened() {
    let place = Place::new("ages");
    let desk = logged_in(&place).await;
    let text = std::fs::read_to_string(&kept(&desk)[0]).unwrap();
    assert!(text.contains("\"expires_in\":31536000"), "{text}");
}

/// R34: a link in place of the lock file is not followed.
#[tokio::test]
async fn the_lock_of_a_login_is_not_a_followed_link() {
    let place = Place::new("short");
    let desk = logged_in(&place).await;
    let victim = place.folder.path().join("victim");
    std::fs::write(&victim, "untouched").unwrap();
    let lock = kept(&desk)[0].with_extension("lock");
    let _ = std::fs::remove_file(&lock);
    std::os::unix::fs::symlink(&victim, &lock).unwrap();
    desk.fails("mcp__s__echo", json!({"text": "x"})).await;
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "untouched");
}

/// An answer without the state does not end the login.
#[tokio::test]
async fn a_forged_answer_is_rejected() {
    let place = Place::new("wrong-state");
    let desk = place.desk(json!({})).await;
    let pending = desk.servers.log_in(&desk.bench.root, "s").await.unwrap();
    let address = pending.address().clone();
    let waiting = tokio::spawn(pending.finish());
    assert_eq!(browse(&address).await, 404);
    assert!(!waiting.is_finished());
    assert_eq!(place.record("token"), Vec::<Value>::new());
    waiting.abort();
}
