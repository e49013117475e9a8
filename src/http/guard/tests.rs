use std::str::FromStr as _;

use proptest::prelude::*;

use super::*;

fn judge(guard: &Guard, text: &str) -> Result<(), Blocked> {
    guard.judge(&Url::parse(text).unwrap())
}

fn blocked(text: &str) -> bool {
    // The parser refuses what is not an address.
    Url::parse(text).is_err() || judge(&Guard::default(), text).is_err()
}

#[test]
fn addresses_outside_the_public_internet_are_blocked_a33() {
    for text in [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://2130706433/",
        "http://0/",
        "http://10.0.0.1/",
        "http://172.16.0.1/",
        "http://192.168.1.1/",
        "http://100.64.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://224.0.0.1/",
        "http://255.255.255.255/",
        "http://[::]/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[2001::1]/",
        "http://[2001:db8::1]/",
        "http://[fc00::1]/",
        "http://[fe80::1]/",
        "http://[ff02::1]/",
        "http://localhost/",
        "http://LOCALHOST./",
        "http://a.localhost/",
        "http://router/",
        "http://printer.local/",
        "http://metadata.google.internal/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "unix:/run/x.sock",
        "data:text/html,x",
        "http://user@example.com/",
        "http://user:word@example.com/",
        "http://:word@example.com/",
        "http://exa\0mple.com/",
        "http://exa mple.com/",
        "http://example.com%00.evil.test/",
        "http://example..com/",
        "http://-/",
    ] {
        assert!(blocked(text), "{text}");
    }
}

#[test]
fn public_addresses_pass_and_unicode_names_are_shown_as_they_are_sent() {
    for text in [
        "https://docs.rs/tokio/latest",
        "http://example.com:8080/a?b=c",
        "https://1.1.1.1/",
        "https://[2606:4700:4700::1111]/",
        "https://xn--bcher-kva.example.com/",
    ] {
        assert_eq!(judge(&Guard::default(), text), Ok(()), "{text}");
    }
    let url = Url::parse("https://b\u{fc}cher.example.com/").unwrap();
    assert_eq!(url.host_str(), Some("xn--bcher-kva.example.com"));
}

#[test]
fn a_named_host_may_be_anywhere_and_its_neighbours_may_not() {
    let guard = Guard::new(["localhost:3000", "Wiki.lan", "10.0.0.7"], []);
    for text in [
        "http://localhost:3000/x",
        "https://wiki.lan/",
        "http://wiki.lan:81/",
        "http://10.0.0.7/",
    ] {
        assert_eq!(judge(&guard, text), Ok(()), "{text}");
    }
    for text in [
        "http://localhost/",
        "http://localhost:3001/",
        "http://x.wiki.lan/",
        "http://10.0.0.8/",
        "http://user@localhost:3000/",
        "ftp://wiki.lan/",
    ] {
        assert!(judge(&guard, text).is_err(), "{text}");
    }
}

async fn resolved(resolver: &Resolver, name: &str) -> Result<usize, String> {
    let found = resolver.resolve(Name::from_str(name).unwrap()).await;
    found
        .map(Iterator::count)
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_name_is_judged_by_what_it_resolves_to_when_the_connection_is_made_a33() {
    let public = Url::parse("https://rebound.example.com/").unwrap();
    let guard = Guard::new(["localhost"], ["http://user:word@localhost:3128"]);
    let none = Guard::default().resolver(&public);
    assert_eq!(
        resolved(&none, "localhost").await.unwrap_err(),
        "localhost is in your own network or on this machine"
    );
    // The user chose the proxy, and hosts in `fetch.local`, which apply only to requests to them.
    assert!(
        resolved(&guard.resolver(&public), "localhost")
            .await
            .unwrap()
            > 0
    );
    let named = Guard::new(["localhost"], []);
    assert!(
        resolved(&named.resolver(&public), "localhost")
            .await
            .is_err()
    );
    let local = Url::parse("http://localhost/").unwrap();
    assert!(
        resolved(&named.resolver(&local), "localhost")
            .await
            .unwrap()
            > 0
    );
}

/// The first and the last address of each range that is not public, and their neighbours.
#[test]
fn the_ranges_that_are_not_public_end_where_the_registry_says() {
    for (first, last) in [
        ("0.0.0.0", "0.255.255.255"),
        ("10.0.0.0", "10.255.255.255"),
        ("100.64.0.0", "100.127.255.255"),
        ("127.0.0.0", "127.255.255.255"),
        ("169.254.0.0", "169.254.255.255"),
        ("172.16.0.0", "172.31.255.255"),
        ("192.0.0.0", "192.0.0.255"),
        ("192.0.2.0", "192.0.2.255"),
        ("192.88.99.0", "192.88.99.255"),
        ("192.168.0.0", "192.168.255.255"),
        ("198.18.0.0", "198.19.255.255"),
        ("198.51.100.0", "198.51.100.255"),
        ("203.0.113.0", "203.0.113.255"),
        ("224.0.0.0", "255.255.255.255"),
    ] {
        let [first, last] = [first, last].map(|it| u32::from(it.parse::<Ipv4Addr>().unwrap()));
        let is_public = |bits: u32| public(IpAddr::V4(bits.into()));
        assert!(!is_public(first) && !is_public(last));
        for near in [first.checked_sub(1), last.checked_add(1)] {
            assert!(near.is_none_or(is_public), "{near:?}");
        }
    }
}

proptest! {
    /// Whatever form a private address is written in.
    #[test]
    fn an_ipv4_address_is_judged_the_same_in_every_spelling(bits in any::<u32>()) {
        let address = Ipv4Addr::from(bits);
        let [a, b, c, d] = address.octets();
        let expected = judge(&Guard::default(), &format!("http://{address}/")).is_ok();
        prop_assert_eq!(expected, public(IpAddr::V4(address)));
        for text in [
            format!("http://{bits}/"),
            format!("http://{bits:#x}/"),
            format!("http://{a}.{b}.{}/", u32::from(c) << 8 | u32::from(d)),
            format!("http://{a:#o}.{b}.{c:#x}.{d}/").replace("0o", "0"),
            format!("http://[::ffff:{address}]/"),
            format!("http://[64:ff9b::{address}]/"),
        ] {
            prop_assert_eq!(judge(&Guard::default(), &text).is_ok(), expected, "{}", text);
        }
    }

    #[test]
    fn no_address_panics(text in "\\PC{0,40}") {
        if let Ok(url) = Url::parse(&text) {
            let _ = Guard::default().judge(&url);
        }
    }
}

/// A34: an approved server may be local, but never at an address with a machine's secrets.
#[test]
fn a_guard_with_network_allows_local_servers_but_no_machine_services() {
    let near = Guard::default().with_network();
    for text in [
        "http://localhost:8080/mcp",
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://10.0.0.1/",
        "http://192.168.1.1/",
        "http://[fc00::1]/",
        "http://tools.corp.internal/mcp",
        "http://build/mcp",
        "https://example.com/",
    ] {
        assert_eq!(judge(&near, text), Ok(()), "{text}");
    }
    for text in [
        "http://169.254.169.254/latest/meta-data/",
        "http://0xa9fea9fe/",
        "http://[::ffff:169.254.169.254]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[2002:a9fe:a9fe::]/",
        "http://[fe80::1]/",
        "http://[fd00:ec2::254]/",
        "http://100.100.100.200/",
        "http://168.63.129.16/",
        "http://0.0.0.0/",
        "http://[::]/",
        "http://255.255.255.255/",
        "http://[ff02::1]/",
        "http://metadata.google.internal/",
        "http://METADATA.google.internal./",
        "http://metadata/",
    ] {
        assert!(
            matches!(judge(&near, text), Err(Blocked::Machine(_))),
            "{text}"
        );
    }
}

/// A host that the user named is allowed at every address.
#[test]
fn a_named_host_may_be_anywhere() {
    let named = Guard::new(["169.254.169.254"], []).with_network();
    assert_eq!(judge(&named, "http://169.254.169.254/"), Ok(()));
}
