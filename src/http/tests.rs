use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

/// For a plain server on loopback: needs no root certificates of this machine.
fn plain() -> Options {
    Options {
        base: Some(url("http://127.0.0.1")),
        ..Options::default()
    }
}

/// A listener that answers every connection with `bytes` and closes it.
async fn listener(bytes: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ = socket.read(&mut [0; 4096]).await;
            let _ = socket.write_all(bytes).await;
        }
    });
    port
}

async fn explained(target: &str, options: &Options) -> Explained {
    let error = client(options)
        .unwrap()
        .get(target)
        .send()
        .await
        .unwrap_err();
    explain(&error, &url(target), options)
}

#[tokio::test]
async fn a_refused_connection_may_be_retried_n01() {
    let explained = explained("http://127.0.0.1:1/secret?key=s3cret", &plain()).await;
    assert!(explained.retryable);
    let message = &explained.failure.message;
    assert!(
        message.contains("cannot connect to http://127.0.0.1:1"),
        "{message}"
    );
    assert!(
        !message.contains("secret") && !message.contains("s3cret"),
        "{message}"
    );
}

#[tokio::test]
async fn a_tls_error_is_not_retried_and_names_the_ca_setting_n03() {
    let port = listener(b"this is no TLS at all\r\n").await;
    let options = Options {
        base: Some(url(&format!("https://127.0.0.1:{port}"))),
        ..Options::default()
    };
    // A machine without root certificates gets a failure of its own.
    match client(&options) {
        Ok(_) => {
            let explained = explained(&format!("https://127.0.0.1:{port}/"), &options).await;
            assert!(!explained.retryable, "{explained:?}");
            assert!(explained.failure.hint.contains("caFile"), "{explained:?}");
        }
        Err(failure) => assert!(failure.hint.contains("ca-certificates")),
    }
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_without_its_password_n02() {
    let port =
        listener(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n").await;
    let options = Options {
        proxy: Some(format!("http://user:s3cret@127.0.0.1:{port}")),
        ..Options::default()
    };
    if client(&options).is_err() {
        return; // no root certificates here
    }
    let explained = explained("https://api.test/", &options).await;
    assert!(!explained.retryable);
    let message = &explained.failure.message;
    assert!(
        message.contains(&format!("http://127.0.0.1:{port}")),
        "{message}"
    );
    assert!(!message.contains("s3cret"), "{message}");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let port = listener(
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
    )
    .await;
    let target = format!("http://127.0.0.1:{port}/");
    let response = client(&plain()).unwrap().get(&target).send().await.unwrap();
    assert_eq!(response.status(), 302);
}

#[test]
fn ca_files_and_proxies_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "nothing").unwrap();
    for path in [empty, folder.path().join("absent.pem")] {
        let options = Options {
            ca_file: Some(path.clone()),
            ..Options::default()
        };
        let failure = client(&options).unwrap_err();
        assert!(
            failure.message.contains(&path.display().to_string()),
            "{failure}"
        );
    }
    let options = Options {
        proxy: Some("::".into()),
        ..Options::default()
    };
    assert_eq!(client(&options).unwrap_err().kind, FailureKind::Invalid);
}

#[test]
fn loopback_is_recognised() {
    for (text, expected) in [
        ("http://localhost:1", true),
        ("http://127.0.0.9", true),
        ("http://[::1]:3", true),
        ("http://models.localhost", true),
        ("https://api.test", false),
        ("http://10.0.0.1", false),
    ] {
        assert_eq!(is_loopback(&url(text)), expected, "{text}");
    }
}
