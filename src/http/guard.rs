//! Which addresses pages may be fetched from: the public internet, and hosts that the user named.
//!
//! A name is judged by what it resolves to, in the resolver that the connection itself uses, so
//! that no second lookup can answer differently (A33). A literal address is judged as written.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use crate::env::Env;
use crate::env::order;

/// Variables that name proxies.
const PROXIES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
];

/// Why an address is blocked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Blocked {
    #[error("only http and https addresses can be fetched")]
    Scheme,
    #[error("the address contains a user or a password")]
    Credentials,
    #[error("the address has no valid host")]
    Host,
    #[error("{0} is in your own network or on this machine")]
    Private(String),
    #[error("{0} is an address of the machine's own services, not of a server")]
    Machine(String),
}

/// Where connections may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reach {
    #[default]
    Internet,
    /// Also this machine and its network.
    Network,
}

/// Which connections are allowed: to the public internet, with [`Guard::with_network`] also to this
/// machine and its network, and always to the hosts in `local`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// `host` or `host:port` in lower case, allowed wherever they are.
    local: BTreeSet<String>,
    /// Hosts of proxies, which the user chose.
    proxies: BTreeSet<String>,
    reach: Reach,
}

impl Guard {
    /// `local` is the setting `fetch.local`; `proxies` are URLs as in `HTTPS_PROXY`.
    pub fn new<'a>(
        local: impl IntoIterator<Item = &'a str>,
        proxies: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let host = |proxy: &str| {
            let whole = match proxy.contains("://") {
                true => proxy.to_owned(),
                false => format!("http://{proxy}"),
            };
            Url::parse(&whole).ok()?.host_str().map(str::to_owned)
        };
        Self {
            local: order::set(local.into_iter().map(str::to_ascii_lowercase)),
            proxies: order::set(proxies.into_iter().filter_map(host)),
            reach: Reach::Internet,
        }
    }

    /// Allows the public internet, the user's proxies, and `local` wherever it is.
    pub fn of_user<'a>(env: &'a Env, local: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(local, PROXIES.iter().filter_map(|name| env.var(name)))
    }

    /// For servers that the user approved: they may be on this machine and in its network, but
    /// never at addresses with a machine's own secrets (link-local and cloud metadata).
    pub fn with_network(mut self) -> Self {
        self.reach = Reach::Network;
        self
    }

    /// Whether `url` is allowed, as far as that is known without looking up its host.
    pub fn judge(&self, url: &Url) -> Result<(), Blocked> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Blocked::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Blocked::Credentials);
        }
        let host = url.host().ok_or(Blocked::Host)?;
        if self.named(url) {
            return Ok(());
        }
        let private = || Blocked::Private(host.to_string());
        let machine = || Blocked::Machine(host.to_string());
        match &host {
            Host::Ipv4(address) if never((*address).into()) && self.reaches_network() => {
                Err(machine())
            }
            Host::Ipv6(address) if never((*address).into()) && self.reaches_network() => {
                Err(machine())
            }
            Host::Domain(name) if is_metadata(name) && self.reaches_network() => Err(machine()),
            Host::Domain(name) if !is_valid_name(name) => Err(Blocked::Host),
            _ if self.reaches_network() => Ok(()),
            Host::Ipv4(address) if !public_v4(*address) => Err(private()),
            Host::Ipv6(address) if !public_v6(*address) => Err(private()),
            // A proxy looks up names itself, so these are recognised by name.
            Host::Domain(name) if is_local_name(name) => Err(private()),
            _ => Ok(()),
        }
    }

    fn reaches_network(&self) -> bool {
        self.reach == Reach::Network
    }

    /// Whether the user named this host, with this port or without one.
    pub fn named(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
        let port = url.port_or_known_default().unwrap_or_default();
        self.local.contains(&host) || self.local.contains(&format!("{host}:{port}"))
    }

    /// The resolver for connections to `url`.
    pub fn resolver(&self, url: &Url) -> Arc<Resolver> {
        let mut free = self.proxies.clone();
        if self.named(url) {
            free.extend(url.host_str().map(str::to_owned));
        }
        Arc::new(Resolver {
            free,
            reach: self.reach,
        })
    }
}

/// Looks up names and drops the addresses that are not allowed.
#[derive(Debug, PartialEq, Eq)]
pub struct Resolver {
    free: BTreeSet<String>,
    reach: Reach,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().to_owned();
        let (free, reach) = (self.free.contains(&name), self.reach);
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let may = |address: IpAddr| match reach {
                Reach::Internet => public(address),
                Reach::Network => !never(address),
            };
            let kept: Vec<SocketAddr> = found.filter(|it| free || may(it.ip())).collect();
            if kept.is_empty() {
                return Err(match reach {
                    Reach::Internet => Blocked::Private(name),
                    Reach::Network => Blocked::Machine(name),
                }
                .into());
            }
            Ok(Box::new(kept.into_iter()) as Addrs)
        })
    }
}

/// Whether a name, after `url` applied IDNA, consists of letters, digits, hyphens, underscores and
/// dots.
fn is_valid_name(name: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    name.len() <= 253 && name.split('.').all(label)
}

/// Whether only a machine or a local network can resolve the name.
fn is_local_name(name: &str) -> bool {
    const ENDS: [&str; 7] = [
        "localhost",
        "local",
        "internal",
        "intranet",
        "lan",
        "home",
        "home.arpa",
    ];
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    let ends = |end: &str| name == end || name.ends_with(&format!(".{end}"));
    !name.contains('.') || ENDS.into_iter().any(ends)
}

/// Whether clouds serve a machine's secrets under this name. A proxy would look it up unseen.
fn is_metadata(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    let first = ["metadata", "instance-data"];
    first.iter().any(|first| match name.strip_prefix(first) {
        Some("") => true,
        Some(rest) => rest.starts_with('.') && rest.ends_with(".internal"),
        None => false,
    })
}

/// Whether no server can be there: addresses that are not one machine's (unspecified, multicast,
/// reserved), link-local addresses, and others at which clouds serve a machine's secrets.
fn never(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => never_v4(address),
        IpAddr::V6(address) => never_v6(address),
    }
}

fn never_v4(address: Ipv4Addr) -> bool {
    /// Alibaba, Azure and Oracle.
    const CLOUDS: [[u8; 4]; 3] = [[100, 100, 100, 200], [168, 63, 129, 16], [192, 0, 0, 192]];
    let octets = address.octets();
    let [a, b, ..] = octets;
    a == 0 || a >= 224 || (a == 169 && b == 254) || CLOUDS.contains(&octets)
}

fn never_v6(address: Ipv6Addr) -> bool {
    let carried = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        never_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => false,
        // Mapped, compatible (and the unspecified one), NAT64, 6to4.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            carried(high, low)
        }
        [0x2002, high, low, ..] => carried(high, low),
        // Amazon and Google.
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254] => true,
        [first, ..] => first & 0xffc0 == 0xfe80 || first & 0xff00 == 0xff00,
    }
}

/// Whether the address is on the public internet, by IANA's registries of special-purpose
/// addresses.
pub fn public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => public_v4(address),
        IpAddr::V6(address) => public_v6(address),
    }
}

fn public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(a == 0
        || a == 10
        || a == 127
        || (a == 100 && (64..128).contains(&b))
        || (a == 169 && b == 254)
        || (a == 172 && (16..32).contains(&b))
        || (a == 192 && b == 168)
        || (a == 192 && b == 0 && (c == 0 || c == 2))
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19))
        || (a == 198 && b == 51 && c == 100)
        || (a == 203 && b == 0 && c == 113)
        || a >= 224)
}

/// Global unicast (2000::/3) without the special-purpose parts. Addresses that carry an IPv4
/// address are judged by it.
fn public_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let carried = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // Mapped, and the well-known prefix of NAT64.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            carried(high, low)
        }
        [0x2002, high, low, ..] => carried(high, low),
        // Protocol assignments (Teredo among them) and documentation.
        [0x2001, second, ..] => second >= 0x200 && second != 0xdb8,
        [0x3fff, second, ..] => second >= 0x1000,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests;
