use super::*;

fn expected() -> Expected {
    Expected {
        port: 4711,
        state: "st ate".to_owned(),
    }
}

fn asked(target: &str) -> Request {
    let head = format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1:4711\r\n\r\n");
    parse_request(&head, &expected())
}

#[test]
fn only_an_answer_with_the_state_is_accepted() {
    let back = Callback {
        code: "c&d".to_owned(),
        issuer: Some("https://as.test".to_owned()),
    };
    assert_eq!(
        asked("/callback?code=c%26d&state=st+ate&iss=https%3A%2F%2Fas.test"),
        Request::Answer(Ok(back))
    );
    for other in [
        "/callback?code=c&state=other",
        "/callback?code=c",
        "/callback?state=st+ate",
        "/callback?code=c&state=st+ate&state=st+ate",
        "/callback/?code=c&state=st+ate",
        "/?code=c&state=st+ate",
        "//evil.test/callback?code=c&state=st+ate",
        "/favicon.ico",
        "",
    ] {
        assert_eq!(asked(other), Request::Other, "{other}");
    }
}

/// A website whose name resolves to this machine sends its own host.
#[test]
fn requests_for_another_host_or_of_another_kind_are_ignored() {
    let target = "/callback?code=c&state=st+ate";
    for head in [
        format!("GET {target} HTTP/1.1\r\nHost: evil.test:4711\r\n\r\n"),
        format!("GET {target} HTTP/1.1\r\n\r\n"),
        format!("POST {target} HTTP/1.1\r\nHost: 127.0.0.1:4711\r\n\r\n"),
        "\r\n\r\n".to_owned(),
    ] {
        assert_eq!(parse_request(&head, &expected()), Request::Other, "{head}");
    }
}

#[test]
fn a_refusal_is_reported_in_one_bounded_line() {
    let long = "x".repeat(5000);
    let target = format!("/callback?error=access_denied&error_description=a%0A{long}&state=st+ate");
    let Request::Answer(Err(words)) = asked(&target) else {
        panic!("no refusal");
    };
    assert!(words.starts_with("the login was refused: access_denied (a\\u{a}x"));
    assert!(words.len() < 400, "{}", words.len());
}

#[tokio::test]
async fn other_requests_do_not_end_the_wait() {
    let listener = Listener::bind(None).await.unwrap();
    let address = listener.address();
    let waiting = tokio::spawn(async move { listener.wait_for_callback("s").await });
    // A silent connection stays open meanwhile.
    let url = Url::parse(&address).unwrap();
    let silent = TcpStream::connect(("127.0.0.1", url.port().unwrap())).await;
    let client = crate::http::client(&crate::http::Options {
        base: Some(url),
        ..crate::http::Options::default()
    });
    let client = client.unwrap();
    let get = async |query: &str| {
        let response = client.get(format!("{address}?{query}")).send().await;
        response.unwrap().status().as_u16()
    };
    assert_eq!(get("code=a&state=wrong").await, 404);
    assert_eq!(get("code=b&state=s").await, 200);
    let back = waiting.await.unwrap().unwrap();
    assert_eq!(back.code, "b");
    drop(silent);
}
