use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::*;
use crate::config::Config;
use crate::env::Env;
use crate::knowledge::instructions::{self, Origin, Search, Standing};
use crate::workspace::Workspace;

/// A server on loopback: each request is counted, then `answer` has the connection.
struct Server {
    url: String,
    asked: Arc<AtomicUsize>,
}

async fn server<F, A>(answer: F) -> Server
where
    F: Fn(usize, TcpStream) -> A + Send + Sync + 'static,
    A: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/rules.md", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read(&mut byte).await.unwrap_or(0) == 0 {
                    break;
                }
                head.push(byte[0]);
            }
            let number = count.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(answer(number, stream));
        }
    });
    Server { url, asked }
}

/// Answers every request with `status` and `body`.
async fn says(status: &'static str, body: &'static [u8]) -> Server {
    server(move |_, mut stream| async move {
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        let _ = stream.write_all(head.as_bytes()).await;
        let _ = stream.write_all(body).await;
    })
    .await
}

fn problem(cache: &UrlCache, url: &str) -> String {
    cache.held(url).and_then(|held| held.problem).unwrap()
}

fn text(cache: &UrlCache, url: &str) -> Option<String> {
    Some(cache.held(url)?.text?.text)
}

/// Runs the requests until `done`, without a clock.
async fn until(done: impl Fn() -> bool) {
    while !done() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_text_is_fetched_cached_and_fetched_again() {
    let server = server(|number, mut stream| async move {
        let answer =
            format!("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nv{number}");
        let _ = stream.write_all(answer.as_bytes()).await;
    })
    .await;
    let cache = UrlCache::default();
    let urls = [server.url.clone()];
    refresh(&urls, &cache).await;
    assert_eq!(text(&cache, &server.url).as_deref(), Some("v0"));
    refresh(&urls, &cache).await;
    let held = cache.held(&server.url).unwrap();
    assert_eq!(held.problem, None);
    assert_eq!(held.text.unwrap().hash, sha256(b"v1"));
}

/// ET-27, ET-29, ET-48: one limit ends both once they have been asked, and what was fast is there.
#[tokio::test]
async fn servers_that_hang_or_dribble_end_together_and_cost_no_other_text_et27_et29_et48() {
    let never = Arc::new(Notify::new());
    let hold = never.clone();
    let hanging = server(move |_, stream| {
        let hold = hold.clone();
        async move {
            hold.notified().await;
            drop(stream);
        }
    })
    .await;
    let hold = never.clone();
    let dribbling = server(move |_, mut stream| {
        let hold = hold.clone();
        async move {
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx")
                .await;
            hold.notified().await;
            drop(stream);
        }
    })
    .await;
    let good = says("200 OK", b"good").await;
    let urls = [&hanging, &dribbling, &good].map(|it| it.url.clone());
    let cache = Arc::new(UrlCache::default());
    let (wanted, kept) = (urls.clone(), cache.clone());
    let limit = Arc::new(Notify::new());
    let reached = limit.clone();
    let refreshing =
        tokio::spawn(async move { refresh_until(reached.notified(), &wanted, &kept).await });
    let asked = |it: &Server| it.asked.load(Ordering::SeqCst) > 0;
    until(|| asked(&hanging) && asked(&dribbling) && cache.held(&good.url).is_some()).await;
    limit.notify_one();
    refreshing.await.unwrap();
    assert_eq!(text(&cache, &good.url).as_deref(), Some("good"));
    for url in &urls[..2] {
        assert_eq!(text(&cache, url), None);
        assert!(problem(&cache, url).contains("not complete within 5 s"));
    }
}

#[tokio::test]
async fn dropping_the_refresh_ends_the_requests() {
    let gone = Arc::new(Notify::new());
    let seen = gone.clone();
    let hanging = server(move |_, mut stream| {
        let seen = seen.clone();
        async move {
            // The client says nothing more: this ends when it closes.
            let _ = stream.read(&mut [0; 8]).await;
            seen.notify_one();
        }
    })
    .await;
    let cache = Arc::new(UrlCache::default());
    let (wanted, kept) = ([hanging.url.clone()], cache.clone());
    let refreshing = tokio::spawn(async move { refresh(&wanted, &kept).await });
    until(|| hanging.asked.load(Ordering::SeqCst) > 0).await;
    refreshing.abort();
    gone.notified().await;
    assert_eq!(cache.held(&hanging.url), None);
}

/// A body without end is left after the limit: the server sees the connection close.
#[tokio::test]
async fn a_body_without_end_is_left_early() {
    const GIGABYTE: usize = 1 << 30;
    let sent = Arc::new(AtomicUsize::new(0));
    let count = sent.clone();
    let endless = server(move |_, mut stream| {
        let count = count.clone();
        async move {
            let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            let _ = stream.write_all(head).await;
            let chunk = [b"10000\r\n".to_vec(), vec![b'a'; 0x10000], b"\r\n".to_vec()].concat();
            while count.load(Ordering::SeqCst) < GIGABYTE && stream.write_all(&chunk).await.is_ok()
            {
                count.fetch_add(0x10000, Ordering::SeqCst);
            }
        }
    })
    .await;
    let cache = UrlCache::default();
    refresh(std::slice::from_ref(&endless.url), &cache).await;
    assert!(problem(&cache, &endless.url).contains("more than 1048576 bytes"));
    assert!(sent.load(Ordering::SeqCst) < GIGABYTE / 4);
}

#[tokio::test]
async fn a_length_that_is_too_large_is_not_waited_for() {
    let large = server(|_, mut stream| async move {
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n";
        let _ = stream.write_all(head).await;
        let _ = stream.read(&mut [0; 8]).await;
    })
    .await;
    let cache = UrlCache::default();
    refresh(std::slice::from_ref(&large.url), &cache).await;
    assert!(problem(&cache, &large.url).contains("more than 1048576 bytes"));
}

#[tokio::test]
async fn whatever_fails_is_a_problem_with_its_reason_et28() {
    let missing = says("404 Not Found", b"no").await;
    let moved = says("302 Found", b"").await;
    let broken = says("500 Internal Server Error", b"boom").await;
    let bytes = says("200 OK", &[b'a', 0xff, 0xfe]).await;
    let nul = says("200 OK", b"a\0b").await;
    let refused = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/x", listener.local_addr().unwrap())
    };
    let secret = "http://user:s3cret@127.0.0.1:1/x".to_owned();
    let cases = [
        (missing.url.clone(), "answered 404"),
        (moved.url.clone(), "name that one"),
        (broken.url.clone(), "answered 500"),
        (bytes.url.clone(), "not UTF-8"),
        (nul.url.clone(), "not text"),
        (refused, "cannot connect to"),
        ("http://[".to_owned(), "not a valid address"),
        (secret, "a user or a password"),
    ];
    let urls = cases.clone().map(|(url, _)| url);
    let cache = UrlCache::default();
    refresh(&urls, &cache).await;
    for (url, words) in &cases {
        let reason = problem(&cache, url);
        assert!(reason.contains(words), "{url}: {reason}");
        assert!(!reason.contains("s3cret"), "{reason}");
        assert_eq!(text(&cache, url), None, "no header, no text");
    }
}

/// ET-51: a session asks a dead address once; another session, an explicit fetch and new
/// settings ask again.
#[tokio::test]
async fn an_address_that_failed_is_not_asked_again_in_its_session() {
    let dead = says("500 Internal Server Error", b"boom").await;
    let (cache, urls) = (UrlCache::default(), [dead.url.clone()]);
    let (one, two) = (SessionId::from("one"), SessionId::from("two"));
    let asked = || dead.asked.load(Ordering::SeqCst);
    let failed = refresh_for(&urls, &cache, &one).await;
    assert!(failed[0].0 == dead.url && failed[0].1.contains("answered 500"));
    assert_eq!(refresh_for(&urls, &cache, &one).await, []);
    assert_eq!(asked(), 1);
    assert_eq!(refresh_for(&urls, &cache, &two).await.len(), 1);
    refresh(&urls, &cache).await;
    assert_eq!(asked(), 3);
    cache.forget_failures();
    assert_eq!(refresh_for(&urls, &cache, &one).await.len(), 1);
}

/// ET-51: text is accepted; a portal's page or a picture is not, and no one on the way may change it.
#[tokio::test]
async fn pages_pictures_and_plain_http_are_no_instructions() {
    for (kind, fine) in [
        ("text/plain; charset=utf-8", true),
        ("text/markdown", true),
        ("application/octet-stream", true),
        ("Text/HTML; charset=utf-8", false),
        ("application/xhtml+xml", false),
        ("image/png", false),
        ("application/json", false),
    ] {
        let server = server(move |_, mut stream| async move {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n");
            let rest = "content-length: 2\r\nconnection: close\r\n\r\nhi";
            let _ = stream.write_all((head + rest).as_bytes()).await;
        })
        .await;
        let cache = UrlCache::default();
        refresh(std::slice::from_ref(&server.url), &cache).await;
        assert_eq!(text(&cache, &server.url).is_some(), fine, "{kind}");
    }
    let (cache, url) = (UrlCache::default(), "http://192.0.2.1/rules.md".to_owned());
    refresh(std::slice::from_ref(&url), &cache).await;
    assert!(problem(&cache, &url).contains("only https:"));
}

/// ET-28.
#[tokio::test]
async fn a_text_that_came_before_is_used_while_its_server_fails() {
    let server = server(|number, mut stream| async move {
        let answer: &[u8] = match number {
            0 => b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nfirst",
            _ => b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        };
        let _ = stream.write_all(answer).await;
    })
    .await;
    let cache = UrlCache::default();
    for _ in 0..2 {
        refresh(std::slice::from_ref(&server.url), &cache).await;
    }
    assert_eq!(text(&cache, &server.url).as_deref(), Some("first"));
    let reason = problem(&cache, &server.url);
    assert!(
        reason.contains("503") && reason.contains("still used"),
        "{reason}"
    );
}

#[tokio::test]
async fn only_so_many_addresses_are_asked() {
    let good = says("200 OK", b"good").await;
    let urls: Vec<String> = (0..40).map(|n| format!("{}?{n}", good.url)).collect();
    let cache = UrlCache::default();
    refresh(&urls, &cache).await;
    assert_eq!(good.asked.load(Ordering::SeqCst), URLS);
    assert!(problem(&cache, &urls[39]).contains("only the first 32"));
}

/// INV-10: gathering fetches nothing; ET-26: the label is the address; ET-31: an empty text is ignored.
#[tokio::test]
async fn what_was_fetched_is_gathered_and_gathering_itself_fetches_nothing_inv10() {
    let good = says("200 OK", b"Be brief.").await;
    let empty = says("200 OK", b" \n").await;
    let folder = tempfile::tempdir().unwrap();
    let now = jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC);
    let env = Env::fixed(folder.path(), now, Default::default());
    let workspace = Workspace::new();
    let config = Config {
        instructions: [&good, &empty, &good].map(|it| it.url.clone()).to_vec(),
        ..Config::default()
    };
    let cache = UrlCache::default();
    let search = Search::default();
    let gather = || {
        let cwd = folder.path();
        instructions::gather_with(
            &workspace,
            &env,
            &config,
            cwd,
            &search,
            &cache,
            &Default::default(),
        )
    };
    let before = gather();
    assert_eq!(before.found, []);
    assert!(before.problems[0].1.starts_with("not fetched yet"));
    assert_eq!(good.asked.load(Ordering::SeqCst), 0);
    let urls = instructions::urls(&config, &search);
    assert_eq!(urls.len(), 2, "each once");
    refresh(&urls, &cache).await;
    let after = gather();
    assert_eq!(after.problems, []);
    let [one] = &after.found[..] else {
        panic!("{after:?}");
    };
    assert_eq!(
        (one.source.as_str(), &*one.text),
        (good.url.as_str(), "Be brief.")
    );
    assert_eq!((one.origin, one.standing), (Origin::Url, Standing::User));
}
