use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// Answers each path with the bytes of `answer`; collects the requests' heads.
async fn server(
    answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
) -> (Url, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let heads = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = vec![0; 4096];
            let length = socket.read(&mut head).await.unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            heads.lock().unwrap().push(head);
            let _ = socket.write_all(&answer(&path)).await;
            let _ = socket.shutdown().await;
        }
    });
    (url, seen)
}

fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}\r\n").into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

fn guard() -> Guard {
    Guard::new(["127.0.0.1"], [])
}

#[tokio::test]
async fn a_page_has_its_type_and_the_request_carries_nothing_of_the_user() {
    let (url, heads) =
        server(|_| answer("200 OK", "content-type: Text/HTML; charset=x\r\n", b"<p>hi")).await;
    let page = get(&url.join("a?b=c").unwrap(), &guard()).await.unwrap();
    assert_eq!((page.status, page.truncated), (200, false));
    assert_eq!(page.content_type, "text/html; charset=x");
    assert_eq!(page.bytes, b"<p>hi");
    let head = heads.lock().unwrap()[0].to_ascii_lowercase();
    assert!(head.starts_with("get /a?b=c http/1.1\r\n"), "{head}");
    for name in ["cookie", "authorization", "referer"] {
        assert!(!head.contains(name), "{head}");
    }
}

#[tokio::test]
async fn redirects_are_followed_within_the_origin_only_a33() {
    let (url, heads) = server(|path| match path {
        "/a" => answer("302 Found", "location: b\r\n", b""),
        "/b" => answer("200 OK", "", b"here"),
        "/loop" => answer("301 Moved", "location: /loop\r\n", b""),
        "/away" => answer("302 Found", "location: https://example.com/x?y\r\n", b""),
        "/inside" => answer("302 Found", "location: http://169.254.169.254/\r\n", b""),
        "/port" => answer("302 Found", "location: http://127.0.0.1:1/\r\n", b""),
        "/file" => answer("302 Found", "location: file:///etc/passwd\r\n", b""),
        _ => answer("304 Not Modified", "", b""),
    })
    .await;
    let at = |path: &str| url.join(path).unwrap();
    let page = get(&at("a"), &guard()).await.unwrap();
    assert_eq!((page.url, page.bytes.as_slice()), (at("b"), &b"here"[..]));
    assert_eq!(get(&at("loop"), &guard()).await, Err(Error::Redirects));
    let next = Url::parse("https://example.com/x?y").unwrap();
    assert_eq!(
        get(&at("away"), &guard()).await,
        Err(Error::Elsewhere(next))
    );
    for path in ["inside", "file"] {
        let error = get(&at(path), &guard()).await.unwrap_err();
        assert!(matches!(error, Error::Blocked(_)), "{error}");
    }
    let error = get(&at("port"), &guard()).await.unwrap_err();
    assert!(matches!(error, Error::Elsewhere(_)), "{error}");
    assert_eq!(get(&at("other"), &guard()).await.unwrap().status, 304);
    assert_eq!(heads.lock().unwrap().len(), 2 + 6 + 4 + 1);
}

#[tokio::test]
async fn no_connection_is_made_that_the_guard_refuses() {
    let (url, heads) = server(|_| answer("200 OK", "", b"secret")).await;
    let error = get(&url, &Guard::default()).await.unwrap_err();
    assert!(matches!(error, Error::Blocked(Blocked::Private(_))));
    // By name: the resolver decides when connecting.
    let port = url.port().unwrap();
    let named = Url::parse(&format!("http://localhost:{port}/")).unwrap();
    let options = Options {
        resolver: Some(Guard::default().resolver(&named)),
        ..Options::default()
    };
    let client = super::super::client(&options).unwrap();
    let error = client.get(named.clone()).send().await.unwrap_err();
    assert_eq!(
        failed(&error, &named, &options),
        Error::Blocked(Blocked::Private("localhost".into()))
    );
    assert!(heads.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_endless_page_is_truncated_and_a_silent_server_times_out() {
    let (url, _) = server(|path| match path {
        "/big" => answer("200 OK", "", &vec![b'x'; MOST + 9]),
        _ => answer("200 OK", "content-length: 9\r\n", b"half"),
    })
    .await;
    let page = get(&url.join("big").unwrap(), &guard()).await.unwrap();
    assert_eq!((page.bytes.len(), page.truncated), (MOST, true));
    let error = get(&url.join("half").unwrap(), &guard()).await.unwrap_err();
    assert!(matches!(error, Error::Failed(_)), "{error}");
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", silent.local_addr().unwrap())).unwrap();
    let error = get_within(&url, &guard(), Duration::from_millis(20)).await;
    assert_eq!(error, Err(Error::Time));
}
