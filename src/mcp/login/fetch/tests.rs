use std::collections::BTreeMap;

use super::*;

#[tokio::test]
async fn a_login_server_that_never_answers_times_out() {
    // Nobody accepts: the system takes the connection, and there is never an answer.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let url = Url::parse(&url).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let env = Env::fixed(folder.path(), jiff::Zoned::default(), BTreeMap::new());
    let mut fetch = Fetch::new(&url, None, http::Options::default(), &env).await;
    fetch.limit = Duration::from_millis(50);
    let request = reqwest::Request::new(reqwest::Method::GET, url);
    let refused = fetch.fetch(request).await.unwrap_err().to_string();
    assert!(refused.contains("did not answer within"), "{refused}");
}

#[tokio::test]
async fn without_tls_only_the_server_itself_is_asked() {
    let url = |text: &str| Url::parse(text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let env = Env::fixed(folder.path(), jiff::Zoned::default(), BTreeMap::new());
    let server = url("http://93.184.216.34/mcp");
    let fetch = Fetch::new(&server, None, http::Options::default(), &env).await;
    assert!(fetch.judge(&url("http://93.184.216.34/token")).is_ok());
    assert!(fetch.judge(&url("https://93.184.216.35/token")).is_ok());
    assert!(fetch.judge(&url("http://93.184.216.35/token")).is_err());
    assert!(fetch.judge(&url("https://10.0.0.1/token")).is_err());
}
