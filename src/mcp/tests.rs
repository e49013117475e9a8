use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::Servers;
use super::server::Phase;
use crate::config::Config;
use crate::conversation::Event;
use crate::host::QuestionAnswer;
use crate::policy::{Decision, Reason, decide};
use crate::tools::tests::bench::Bench;
use crate::tools::{Registry, ToolError, ToolOutput};

pub(super) const LONG: Duration = Duration::from_secs(30);

/// A folder with servers, and a bench for tools.
pub(super) struct Desk {
    pub(super) bench: Bench,
    pub(super) servers: Arc<Servers>,
    pub(super) config: Config,
}

fn script() -> String {
    format!(
        "{}/tests/fixtures/mcp/server.py",
        env!("CARGO_MANIFEST_DIR")
    )
}

fn scripted(arguments: &[&str]) -> Value {
    let mut args = vec![script()];
    args.extend(arguments.iter().map(|it| (*it).to_owned()));
    json!({"command": "python3", "args": args})
}

impl Desk {
    /// Loads and starts the servers.
    fn new(entries: Value) -> Self {
        let bench = Bench::new();
        let mcp_servers: BTreeMap<String, Value> = serde_json::from_value(entries).unwrap();
        let config = Config {
            mcp_servers,
            ..Config::default()
        };
        let servers = Servers::new(bench.cx.env.clone(), bench.cx.workspace.clone());
        servers.reload(&config, &bench.root);
        servers.start_all(&bench.root);
        Self {
            bench,
            servers,
            config,
        }
    }

    /// One server `s` that is ready or has failed.
    pub(super) async fn settled(entry: Value) -> Self {
        let desk = Self::new(json!({ "s": entry }));
        desk.server().wait_until_settled(LONG).await;
        desk
    }

    pub(super) fn server(&self) -> Arc<super::server::Server> {
        self.servers.servers(&self.bench.root)[0].clone()
    }

    fn reason(&self) -> String {
        match self.server().phase() {
            Phase::Failed(reason) => reason,
            other => panic!("{other:?}"),
        }
    }

    fn registry(&self) -> Registry {
        self.servers
            .registry(&Registry::default(), &self.bench.root, false, false)
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let tool = self.registry().get(tool).unwrap();
        let prepared = tool.prepare(&self.bench.cx, arguments).await?;
        prepared.run(&self.bench.cx).await
    }

    pub(super) async fn text(&self, tool: &str, arguments: Value) -> String {
        self.call(tool, arguments).await.unwrap().text
    }

    pub(super) async fn fails(&self, tool: &str, arguments: Value) -> String {
        match self.call(tool, arguments).await {
            Err(ToolError::ForModel(words) | ToolError::Broken { words, .. }) => words,
            Ok(output) if output.is_error => output.text,
            other => panic!("{other:?}"),
        }
    }

    /// Waits for the wanted tools.
    async fn until(&self, wanted: impl Fn(&[String]) -> bool) {
        let waiting = async {
            while !wanted(&self.registry().names()) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LONG, waiting)
            .await
            .expect("the tools as wanted");
    }
}

#[tokio::test]
async fn a_server_of_the_older_era_offers_its_tools_page_by_page_and_is_called() {
    let desk = Desk::settled(scripted(&[])).await;
    let names = desk.registry().names();
    assert!(names.contains(&"mcp__s__echo".to_owned()) && names.contains(&"mcp_call".to_owned()));
    assert_eq!(names.len(), 12);
    let text = desk
        .text("mcp__s__echo", json!({"text": "hi ``` there"}))
        .await;
    assert!(
        text.contains("````text\nhi ``` there\n````")
            || text.contains("~~~text\nhi ``` there\n~~~")
    );
    let through = json!({"server": "s", "tool": "echo", "arguments": {"text": "too"}});
    assert!(desk.text("mcp_call", through).await.contains("too"));
    let status = &desk.servers.status()[0];
    assert_eq!(
        (status.state.as_str(), status.protocol.as_deref()),
        ("ready", Some("2025-06-18"))
    );
    assert_eq!(status.prompts.len() + status.resources.len(), 2);
}

#[tokio::test]
async fn a_server_of_the_newer_era_has_no_initialize_and_asks_back_within_the_call() {
    let desk = Desk::settled(scripted(&["modern"])).await;
    let status = &desk.servers.status()[0];
    assert_eq!(
        (status.state.as_str(), status.protocol.as_deref()),
        ("ready", Some("2026-07-28")),
        "{status:?}"
    );
    assert!(
        desk.text("mcp__s__echo", json!({"text": "new"}))
            .await
            .contains("new")
    );
    *desk.bench.editor.answer.lock().unwrap() = Some(QuestionAnswer::answered("blue"));
    let text = desk.text("mcp__s__ask", json!({})).await;
    assert!(text.contains("accept") && text.contains("blue"), "{text}");
}

#[tokio::test]
async fn a_server_that_crashes_on_the_newer_probe_is_retried_without_it() {
    let desk = Desk::settled(scripted(&["dies-on-probe"])).await;
    assert!(
        desk.reason().contains("what is discover?"),
        "{}",
        desk.reason()
    );
    desk.server().live(LONG).await.unwrap();
    assert!(
        desk.text("mcp__s__echo", json!({"text": "old"}))
            .await
            .contains("old")
    );
}

/// A37: a server gets only its own `env`.
#[tokio::test]
async fn a37_a_server_gets_no_secret_of_the_environment() {
    let mut entry = scripted(&[]);
    entry["env"] = json!({"OWN_KEY": "its own"});
    let desk = Desk::settled(entry).await;
    let text = desk.text("mcp__s__env", json!({})).await;
    assert!(text.contains("OWN_KEY") && text.contains("PATH"), "{text}");
    assert!(!text.contains("SECRET_TOKEN"), "{text}");
}

/// INV-8: what a tool does is unknown.
#[tokio::test]
async fn inv8_calls_ask_unless_the_users_settings_name_the_tool() {
    let mut entry = scripted(&[]);
    entry["allow"] = json!(["ec*"]);
    let desk = Desk::settled(entry).await;
    let decision = async |name: &str| {
        let tool = desk.registry().get(name).unwrap();
        let prepared = tool.prepare(&desk.bench.cx, json!({})).await.unwrap();
        decide(&desk.bench.cx.policy, &prepared.facts)
    };
    assert_eq!(
        decision("mcp__s__echo").await,
        Decision::Allow(Reason::McpAllowed)
    );
    let asks = Decision::Ask {
        reason: Reason::Mcp,
        remember: true,
    };
    assert_eq!(decision("mcp__s__env").await, asks);
}

/// A31: an approval applies to the tool as described then.
#[tokio::test]
async fn a31_a_changed_tool_is_not_called_on_an_old_approval() {
    let desk = Desk::settled(scripted(&[])).await;
    let before = desk.registry().get("mcp__s__echo").unwrap();
    let prepared = before
        .prepare(&desk.bench.cx, json!({"text": "x"}))
        .await
        .unwrap();
    desk.text("mcp__s__grow", json!({})).await;
    desk.until(|names| names.contains(&"mcp__s__late".to_owned()))
        .await;
    let error = prepared.run(&desk.bench.cx).await.unwrap_err();
    assert!(error.to_string().contains("differently"), "{error}");
    assert!(desk.text("mcp__s__late", json!({})).await.contains("here"));
}

#[tokio::test]
async fn progress_is_shown_and_a_cancel_reaches_the_server() {
    let gate = tempfile::tempdir().unwrap();
    let marker = gate.path().join("marker");
    let desk = Desk::settled(scripted(&["good", marker.to_str().unwrap()])).await;
    let calling = desk.call("mcp__s__slow", json!({}));
    let watching = async {
        let progress = || {
            let events = desk.bench.log.events.lock().unwrap();
            events.iter().any(
                |it| matches!(it, Event::ToolOutputDelta { text, .. } if text.contains("1/2 half")),
            )
        };
        while !progress() {
            tokio::task::yield_now().await;
        }
        desk.bench.cx.cancel.cancel();
        while !marker.exists() {
            tokio::task::yield_now().await;
        }
    };
    let (outcome, ()) = tokio::time::timeout(LONG, async { tokio::join!(calling, watching) })
        .await
        .expect("an end");
    assert!(matches!(outcome, Err(ToolError::Cancelled)));
}

#[tokio::test]
async fn a_call_without_an_answer_times_out() {
    let mut entry = scripted(&[]);
    entry["timeoutMs"] = json!(200);
    let desk = Desk::settled(entry).await;
    assert!(
        desk.fails("mcp__s__slow", json!({}))
            .await
            .contains("did not answer")
    );
}

/// A32, M02.
#[tokio::test]
async fn floods_images_and_errors_are_bounded_and_named() {
    let desk = Desk::settled(scripted(&[])).await;
    let flood = desk.call("mcp__s__flood", json!({})).await.unwrap();
    assert!(flood.truncated && flood.text.len() < 40_000);
    let image = desk.call("mcp__s__image", json!({})).await.unwrap();
    assert_eq!(image.images.len(), 1);
    assert!(
        desk.fails("mcp__s__fail", json!({}))
            .await
            .contains("no luck")
    );
    let roots = desk.text("mcp__s__roots", json!({})).await;
    assert!(roots.contains("/repo"), "{roots}");
}

/// M02: the next call restarts it.
#[tokio::test]
async fn a_server_that_dies_during_a_call_is_reported_and_restarted() {
    let mut entry = scripted(&[]);
    entry["env"] = json!({"KEY": "sk-12345678"});
    let desk = Desk::settled(entry).await;
    let server = desk.server();
    let words = desk.fails("mcp__s__die", json!({})).await;
    assert!(words.contains("not known"), "{words}");
    let failed = async {
        while server.phase() == Phase::Ready {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, failed)
        .await
        .expect("it is noticed");
    let news = desk.servers.failure_notices(&desk.bench.root).join("");
    assert!(
        news.is_empty() || (news.contains("out of memory") && !news.contains("sk-12345678")),
        "{news}"
    );
    assert!(
        desk.text("mcp__s__echo", json!({"text": "again"}))
            .await
            .contains("again")
    );
}

/// M01, M02: each failure is reported once.
#[tokio::test]
async fn servers_that_fail_to_start_say_why() {
    let gone = Desk::settled(json!({"command": "no-such-program-here"})).await;
    assert!(gone.reason().contains("was not found"), "{}", gone.reason());
    let exits = Desk::settled(scripted(&["exits"])).await;
    assert!(
        exits.reason().contains("no such database"),
        "{}",
        exits.reason()
    );
    let mut silent = scripted(&["silent"]);
    silent["startMs"] = json!(300);
    let silent = Desk::settled(silent).await;
    assert!(
        silent.reason().contains("did not answer"),
        "{}",
        silent.reason()
    );
    let floods = Desk::settled(scripted(&["floods"])).await;
    assert!(
        floods.reason().contains("not messages"),
        "{}",
        floods.reason()
    );
    assert_eq!(exits.servers.failure_notices(&exits.bench.root).len(), 1);
    assert!(exits.servers.failure_notices(&exits.bench.root).is_empty());
}

/// M03: names, schemas and duplicates are corrected; other output is skipped.
#[tokio::test]
async fn odd_tools_and_garbage_do_no_harm() {
    let desk = Desk::settled(scripted(&["bad"])).await;
    let names = desk.registry().names();
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(names.iter().all(|name| name.len() <= 64));
    assert!(desk.text("mcp__s__plain", json!({})).await.contains("here"));
    let garbage = Desk::settled(scripted(&["garbage"])).await;
    assert_eq!(garbage.server().phase(), Phase::Ready);
}

#[tokio::test]
async fn a_slow_or_missing_server_delays_nothing() {
    let gate = tempfile::tempdir().unwrap();
    let gate = gate.path().join("never");
    let desk = Desk::new(json!({"s": scripted(&["gated", gate.to_str().unwrap()])}));
    desk.servers.wait(&desk.bench.root).await;
    assert_eq!(desk.server().phase(), Phase::Starting);
    assert_eq!(desk.registry().names(), ["mcp_call"]);
    let through = json!({"server": "s", "tool": "echo"});
    assert!(
        desk.fails("mcp_call", through)
            .await
            .contains("it is starting")
    );
    let other = json!({"server": "t", "tool": "echo"});
    assert!(
        desk.fails("mcp_call", other)
            .await
            .contains("there is no MCP server")
    );
}

#[tokio::test]
async fn everything_a_server_started_ends_with_us() {
    let desk = Desk::settled(scripted(&[])).await;
    let text = desk.text("mcp__s__spawn", json!({})).await;
    let pid: i32 = text
        .lines()
        .find_map(|line| line.parse().ok())
        .expect("a process id");
    assert!(running(pid));
    desk.servers.stop_all(LONG).await;
    assert!(!running(pid));
}

fn running(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    state.is_some_and(|rest| !rest.starts_with(['Z', 'X']))
}

/// A27, A28, INV-9.
#[tokio::test]
async fn inv9_a_workspaces_servers_wait_for_trust_and_a_change_asks_again() {
    let desk = Desk::new(json!({}));
    let (servers, root) = (&desk.servers, &desk.bench.root);
    assert_eq!(desk.registry().names(), Vec::<String>::new());
    let text = json!({"mcpServers": {"w": scripted(&[])}}).to_string();
    let file = desk.bench.file(".mcp.json", &text);
    let look = || {
        servers.reload(&desk.config, root);
        servers.servers(root).len()
    };
    assert_eq!(look(), 0);
    assert!(servers.problems(root)[0].1.contains("interline trust"));
    let trust = crate::knowledge::trust::TrustStore::new(&desk.bench.cx.env);
    trust.trust_text(&file, &text).unwrap();
    assert_eq!(look(), 1);
    std::fs::write(&file, text.replace("\"w\"", "\"x\"")).unwrap();
    assert_eq!(look(), 0);
    assert_eq!(desk.registry().names(), ["mcp_call"]);
}

#[tokio::test]
async fn prompts_and_resources_are_fetched_for_the_user() {
    let desk = Desk::settled(scripted(&[])).await;
    let root: &Path = &desk.bench.root;
    let place = BTreeMap::from([("place".to_owned(), "Ada".to_owned())]);
    let prompt = desk
        .servers
        .prompt(root, "s", "greet", &place)
        .await
        .unwrap();
    assert_eq!(prompt.text, "Say hello to Ada.");
    let resource = desk
        .servers
        .resource(root, "s", "note://one")
        .await
        .unwrap();
    assert_eq!(resource.text, "note://one:\nthe note's text");
    let unknown = desk
        .servers
        .prompt(root, "t", "greet", &place)
        .await
        .unwrap_err();
    assert!(unknown.contains("servers are s"));
}

/// A31: if no one can be asked, the question is declined.
#[tokio::test]
async fn a_servers_questions_go_to_the_user_or_are_declined() {
    let desk = Desk::settled(scripted(&[])).await;
    assert!(
        desk.text("mcp__s__ask", json!({}))
            .await
            .contains("decline")
    );
    *desk.bench.editor.answer.lock().unwrap() = Some(QuestionAnswer::answered("red"));
    let text = desk.text("mcp__s__ask", json!({})).await;
    assert!(text.contains("accept") && text.contains("red"), "{text}");
    let asked = desk.bench.editor.asked.lock().unwrap();
    let question = &asked.last().unwrap();
    assert!(
        question
            .question
            .starts_with("The MCP server s asks: Which colour?")
    );
    assert_eq!(question.options, ["red", "blue", "Decline"]);
}

/// The scripted server over HTTP. It ends with its standard input.
fn address() -> (std::process::Child, String) {
    use std::io::BufRead as _;
    let script = format!(
        "{}/tests/fixtures/mcp/address.py",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut child = std::process::Command::new("python3")
        .arg(script)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut port).unwrap();
    (child, format!("http://127.0.0.1:{}/mcp", port.trim()))
}

#[tokio::test]
async fn a_server_behind_an_address_gets_its_headers_and_is_called() {
    let (_child, url) = address();
    let headers = json!({"Authorization": "Bearer tok-123456"});
    let desk = Desk::settled(json!({"url": url, "headers": headers})).await;
    let status = &desk.servers.status()[0];
    assert_eq!(
        (status.state.as_str(), status.transport.as_str()),
        ("ready", "http"),
        "{status:?}"
    );
    let text = desk
        .text("mcp__s__echo", json!({"text": "over http"}))
        .await;
    assert!(text.contains("over http"), "{text}");
}

#[tokio::test]
async fn an_address_that_needs_a_login_or_is_unreachable_says_so_without_the_secret() {
    let (_child, url) = address();
    let headers = json!({"Authorization": "Bearer wrong-1234"});
    let desk = Desk::settled(json!({"url": url, "headers": headers})).await;
    assert!(
        desk.reason().contains("requires authentication"),
        "{}",
        desk.reason()
    );
    assert!(!desk.reason().contains("wrong-1234"));
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", free.local_addr().unwrap());
    drop(free);
    let nobody = Desk::settled(json!({ "url": url })).await;
    assert!(
        nobody.reason().contains("cannot be reached"),
        "{}",
        nobody.reason()
    );
}

/// Changed settings mean a new server; the others keep running.
#[tokio::test]
async fn unchanged_settings_keep_their_server() {
    let desk = Desk::settled(scripted(&[])).await;
    let before = desk.server();
    desk.servers.reload(&desk.config, &desk.bench.root);
    assert!(Arc::ptr_eq(&before, &desk.server()));
    let entries: BTreeMap<String, Value> =
        serde_json::from_value(json!({"s": scripted(&["bad"])})).unwrap();
    let config = Config {
        mcp_servers: entries,
        ..Config::default()
    };
    desk.servers.reload(&config, &desk.bench.root);
    assert!(!Arc::ptr_eq(&before, &desk.server()));
}

/// INV-9: a redirect does not get the headers.
#[tokio::test]
async fn inv9_headers_do_not_follow_a_redirect() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let other = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let moved = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (to, url) = (other.local_addr().unwrap(), moved.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = moved.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let head = format!(
                "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{to}/\r\nContent-Length: 0\r\n\r\n"
            );
            let _ = stream.write_all(head.as_bytes()).await;
        }
    });
    let followed = tokio::spawn(async move { other.accept().await.map(|_| ()) });
    let headers = json!({"Authorization": "Bearer tok-123456"});
    let desk = Desk::settled(json!({"url": format!("http://{url}/"), "headers": headers})).await;
    assert!(matches!(desk.server().phase(), Phase::Failed(_)));
    assert!(!followed.is_finished(), "{}", desk.reason());
}

/// A session's own servers run beside the shared ones and end with it. Shared ones start once.
#[tokio::test]
async fn servers_of_a_session_are_private_and_end_with_it() {
    let desk = Desk::settled(scripted(&[])).await;
    let root = &desk.bench.root;
    let entries = json!({"own": scripted(&[]), "s": scripted(&["exits"])});
    let own = desk
        .servers
        .with_session_servers(serde_json::from_value(entries).unwrap());
    own.reload(&desk.config, root);
    own.start_all(root);
    own.wait_for_all(root, LONG).await;
    let names = |servers: &Arc<Servers>| {
        servers
            .registry(&Registry::default(), root, false, false)
            .names()
    };
    assert!(names(&own).contains(&"mcp__own__echo".to_owned()));
    assert!(names(&own).contains(&"mcp__s__echo".to_owned()));
    assert!(!names(&desk.servers).contains(&"mcp__own__echo".to_owned()));
    assert!(Arc::ptr_eq(&own.servers(root)[0], &desk.server()));
    let problems = own.problems(root);
    assert!(
        problems
            .iter()
            .any(|(name, why)| name == "mcpServers s" && why.contains("your own"))
    );
    let status = desk.servers.status();
    assert_eq!(status.iter().filter(|it| it.source == "client").count(), 1);
    let server = own.servers(root).pop().unwrap();
    drop(own);
    let ended = async {
        while server.phase() == Phase::Ready {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, ended).await.expect("an end");
    assert_eq!(desk.server().phase(), Phase::Ready);
}

/// A31: values with invisible characters are not proposed.
#[tokio::test]
async fn a_server_proposes_values_for_its_prompts() {
    let desk = Desk::settled(scripted(&[])).await;
    let root = &desk.bench.root;
    let [greet]: [super::PromptChoice; 1] = desk.servers.prompts(root).try_into().unwrap();
    assert_eq!(
        (greet.label().as_str(), greet.arguments.as_slice()),
        ("s:greet", &["place".to_owned()][..])
    );
    let values = |typed: &'static str| {
        let (servers, greet) = (desk.servers.clone(), greet.clone());
        async move {
            let given = BTreeMap::new();
            servers.complete(root, &greet, "place", typed, given).await
        }
    };
    assert_eq!(values("A").await, ["Ada", "Alan"]);
    assert_eq!(values("Gr").await, Vec::<String>::new());
}

#[tokio::test]
async fn a_server_without_completions_or_connection_proposes_nothing() {
    let modern = Desk::settled(scripted(&["exits"])).await;
    let greet = super::PromptChoice {
        server: "s".to_owned(),
        name: "greet".to_owned(),
        description: String::new(),
        arguments: Vec::new(),
    };
    let root = &modern.bench.root;
    let none = modern
        .servers
        .complete(root, &greet, "place", "", BTreeMap::new());
    assert_eq!(none.await, Vec::<String>::new());
}
