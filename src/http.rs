//! The only HTTP client: TLS with rustls and ring, the system's root certificates, proxies, a CA
//! file.
//!
//! [`client`] is the only constructor in the project. It opens no connection (INV-10) and
//! follows no redirect, so that a key never travels to another host. [`explain`] describes a
//! transport error; nothing here knows what is sent. `get` fetches pages, whose addresses a model
//! chooses and `guard` checks.

pub mod get;
pub mod guard;
#[cfg(test)]
mod tests;

use std::error::Error as StdError;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Once};
use std::time::Duration;

use reqwest::{Certificate, Client, Proxy};
use url::{Host, Url};

use crate::conversation::{Failure, FailureKind};

/// How long connecting may take (N01).
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// The options of a client. There is one client per provider, built at its first request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Where requests go; decides whether the system's root certificates and proxies are needed.
    pub base: Option<Url>,
    /// PEM certificates to trust besides the system's.
    pub ca_file: Option<PathBuf>,
    /// Overrides `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`.
    pub proxy: Option<String>,
    pub connect_timeout: Option<Duration>,
    /// Restricts where connections may go; `None` is for addresses that the user wrote.
    pub resolver: Option<Arc<guard::Resolver>>,
}

/// Builds a client. Reads the CA file and the system's root certificates, so it is slow.
pub fn client(options: &Options) -> Result<Client, Failure> {
    install_crypto();
    let mut builder = Client::builder()
        .user_agent(concat!("interline/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(options.connect_timeout.unwrap_or(CONNECT_TIMEOUT))
        .tcp_keepalive(Duration::from_secs(30))
        .tcp_nodelay(true);
    if let Some(resolver) = &options.resolver {
        builder = builder.dns_resolver(Arc::clone(resolver));
    }
    let local = options.base.as_ref().is_some_and(is_loopback);
    if let Some(proxy) = &options.proxy {
        let proxy = Proxy::all(proxy).map_err(|error| {
            Failure::new(
                FailureKind::Invalid,
                format!("the setting `proxy` is not a proxy's URL: {error}"),
                "write it as http://host:port, or remove it to use HTTPS_PROXY and NO_PROXY",
            )
        })?;
        builder = builder.proxy(proxy);
    } else if local {
        // A proxy's loopback is its own machine, so a model on this machine is asked directly.
        builder = builder.no_proxy();
    }
    if let Some(path) = &options.ca_file {
        builder = builder.tls_certs_merge(read_certificates(path)?);
    } else if local && options.proxy.is_none() && scheme_is(options.base.as_ref(), "http") {
        // Without TLS there is no need to read about 150 root certificates.
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| {
        Failure::new(
            FailureKind::Network,
            format!("the HTTP client cannot start: {}", chain(&error)),
            "install the system's CA certificates (Debian: ca-certificates), point SSL_CERT_FILE \
             at a PEM bundle, or name one in the provider's `caFile`",
        )
    })
}

/// reqwest panics unless a default provider for rustls is installed.
fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that one is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

fn read_certificates(path: &PathBuf) -> Result<Vec<Certificate>, Failure> {
    let invalid = |reason: String| {
        Failure::new(
            FailureKind::Invalid,
            format!("the CA file {} cannot be used: {reason}", path.display()),
            "name a readable PEM file with at least one certificate in the provider's `caFile`",
        )
    };
    let pem = std::fs::read(path).map_err(|error| invalid(error.to_string()))?;
    let certificates = Certificate::from_pem_bundle(&pem).map_err(|e| invalid(chain(&e)))?;
    if certificates.is_empty() {
        return Err(invalid("it contains no certificate".to_owned()));
    }
    Ok(certificates)
}

fn scheme_is(url: Option<&Url>, scheme: &str) -> bool {
    url.is_some_and(|url| url.scheme() == scheme)
}

/// Whether the address is one of this machine's own.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
    }
}

/// A transport error as a failure, and whether the same request may succeed later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    pub failure: Failure,
    pub retryable: bool,
}

/// Describes what went wrong with the connection to `url` and what to do next. Never shows a path,
/// a query or credentials.
pub fn explain(error: &reqwest::Error, url: &Url, options: &Options) -> Explained {
    let to = origin(url);
    let text = chain(error);
    let network = |message: String, hint: String, retryable| Explained {
        failure: Failure::new(FailureKind::Network, message, hint),
        retryable,
    };
    if let Some(tls) = tls_error(error) {
        return network(
            format!("the secure connection to {to} failed: {tls}"),
            "if a company proxy signs its own certificates, name its CA in the provider's `caFile` \
             or in SSL_CERT_FILE; otherwise check the host name and this machine's clock"
                .to_owned(),
            false,
        );
    }
    if error.is_connect() && text.contains("tunnel") {
        return network(
            format!(
                "the proxy {} refused to connect to {to}: {text}",
                proxy_name(options)
            ),
            "set the proxy's user and password in `proxy` or HTTPS_PROXY, or list the host in \
             NO_PROXY"
                .to_owned(),
            false,
        );
    }
    if error.is_dns() {
        return network(
            format!("cannot resolve the host name of {to}"),
            "check the network, the base URL and, behind a proxy, HTTPS_PROXY".to_owned(),
            true,
        );
    }
    if error.is_connect() {
        let what = if error.is_timeout() {
            let limit = options.connect_timeout.unwrap_or(CONNECT_TIMEOUT);
            format!("{to} did not answer within {} s", limit.as_secs().max(1))
        } else {
            format!("cannot connect to {to}: {}", innermost(error))
        };
        let what = match &options.proxy {
            Some(_) => format!("{what} (through the proxy {})", proxy_name(options)),
            None => what,
        };
        return network(
            what,
            "check that the server is running, the base URL, and the network".to_owned(),
            true,
        );
    }
    if error.is_builder() {
        return network(
            format!("cannot create the request to {to}: {text}"),
            "check the provider's `baseUrl` and `headers`".to_owned(),
            false,
        );
    }
    network(
        format!("the connection to {to} broke: {}", innermost(error)),
        "check the network and send the prompt again".to_owned(),
        true,
    )
}

/// Scheme, host and port: the part of a URL that is safe to show.
pub fn origin(url: &Url) -> String {
    let host = url.host_str().unwrap_or("?");
    match url.port() {
        Some(port) => format!("{}://{host}:{port}", url.scheme()),
        None => format!("{}://{host}", url.scheme()),
    }
}

/// The proxy's name without user and password.
pub fn proxy_name(options: &Options) -> String {
    match options.proxy.as_deref().map(Url::parse) {
        Some(Ok(url)) => origin(&url),
        Some(Err(_)) => "of the setting `proxy`".to_owned(),
        None => "of the environment (HTTPS_PROXY, HTTP_PROXY)".to_owned(),
    }
}

/// Every cause, outermost first, without the URL.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        // Only reqwest's own first line names the URL, and it contains nothing else.
        let text = match error.downcast_ref::<reqwest::Error>() {
            Some(outer) if outer.url().is_some() => String::new(),
            _ => error.to_string(),
        };
        if !text.is_empty() && !texts.iter().any(|known| known.contains(&text)) {
            texts.push(text);
        }
        next = error.source();
    }
    texts.join(": ")
}

fn innermost(error: &dyn StdError) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

/// `io::Error::source` skips the error that it wraps, so `get_ref` is needed.
fn tls_error(error: &reqwest::Error) -> Option<String> {
    let mut next: Option<&(dyn StdError + 'static)> = error.source();
    while let Some(error) = next {
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return Some(tls.to_string());
        }
        if let Some(inner) = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref)
        {
            if let Some(tls) = inner.downcast_ref::<rustls::Error>() {
                return Some(tls.to_string());
            }
            next = Some(inner);
            continue;
        }
        next = error.source();
    }
    None
}
