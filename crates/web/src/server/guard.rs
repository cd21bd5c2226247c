//! Access control.
//!
//! Any page open in the user's browser can send requests to loopback, and any user of the machine can
//! connect. So a request must carry a token that is part of the URL; its Host header must name us, against
//! DNS rebinding; and it must not come from another site's page.

use std::io;
use std::net::SocketAddr;

use axum::http::{HeaderMap, header};

/// Decides which requests are admitted.
#[derive(Clone, Debug)]
pub struct Guard {
    token: String,
    /// Our accepted Host headers.
    hosts: Vec<String>,
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To read.
    Question,
    /// To change something.
    Change,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The token is missing or wrong.
    Token,
    /// The Host header names another host.
    Host,
    /// It comes from another site's page.
    Origin,
}

impl Guard {
    /// Creates a token for a server at this address.
    ///
    /// # Errors
    /// If no random bytes are available.
    pub fn new(address: SocketAddr) -> io::Result<Guard> {
        let port = address.port();
        let hosts = vec![address.to_string(), format!("localhost:{port}")];
        Ok(Guard { token: token()?, hosts })
    }

    /// The token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Checks a request and returns its path without the token. A change must have an Origin header that names our own page;
    /// every browser sends one.
    ///
    /// # Errors
    /// If the request is refused.
    pub fn admit<'p>(
        &self,
        purpose: Purpose,
        path: &'p str,
        headers: &HeaderMap,
    ) -> Result<&'p str, Refused> {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        if !text(header::HOST).is_some_and(|host| self.hosts.iter().any(|known| known == host)) {
            return Err(Refused::Host);
        }
        let is_ours = |origin: &str| {
            let host = origin.strip_prefix("http://");
            host.is_some_and(|host| self.hosts.iter().any(|known| known == host))
        };
        let is_change = purpose == Purpose::Change;
        if !text(header::ORIGIN).map_or(!is_change, is_ours) {
            return Err(Refused::Origin);
        }
        // Browsers send this header even where they send no Origin. `none`: the user typed the URL, or
        // followed a link from outside the browser.
        let site = headers.get("sec-fetch-site").map(|value| value.to_str().unwrap_or("?"));
        let (token, rest) = path.trim_start_matches('/').split_once('/').ok_or(Refused::Token)?;
        if !is_same(token, &self.token) {
            return Err(Refused::Token);
        }
        let is_same_site = match site {
            Some("same-origin") | None => true,
            Some("none") => !is_change,
            // A link to the page itself may come from anywhere.
            Some(_) => rest.is_empty(),
        };
        if is_same_site { Ok(rest) } else { Err(Refused::Origin) }
    }
}

/// Compares in constant time.
fn is_same(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && differences == 0
}

/// 128 random bits.
fn token() -> io::Result<String> {
    use std::io::Read;
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_with_token_and_our_host_are_admitted() {
        let address: SocketAddr = "127.0.0.1:4000".parse().expect("an address");
        let guard = Guard::new(address).expect("a guard");
        assert_eq!(guard.token().len(), 32);
        assert_ne!(guard.token(), Guard::new(address).expect("a guard").token());
        let good = format!("/{}/api/files", guard.token());
        let page = format!("/{}/", guard.token());
        type Case<'c> = (&'c str, &'c [(&'static str, &'c str)], Result<&'c str, Refused>);
        let ours = ("host", "127.0.0.1:4000");
        let table: &[Case<'_>] = &[
            (&good, &[ours], Ok("api/files")),
            (&page, &[("host", "localhost:4000")], Ok("")),
            (&good, &[ours, ("origin", "http://127.0.0.1:4000")], Ok("api/files")),
            (&good, &[ours, ("sec-fetch-site", "same-origin")], Ok("api/files")),
            (&page, &[ours, ("sec-fetch-site", "cross-site")], Ok("")),
            (&good, &[ours, ("sec-fetch-site", "cross-site")], Err(Refused::Origin)),
            (&good, &[ours, ("origin", "http://evil.example")], Err(Refused::Origin)),
            (&good, &[ours, ("origin", "null")], Err(Refused::Origin)),
            (&good, &[ours, ("origin", "https://127.0.0.1:4000")], Err(Refused::Origin)),
            (&good, &[("host", "evil.example:4000")], Err(Refused::Host)),
            (&good, &[("host", "127.0.0.1")], Err(Refused::Host)),
            (&good, &[], Err(Refused::Host)),
            ("/", &[ours], Err(Refused::Token)),
            ("/api/files", &[ours], Err(Refused::Token)),
            ("/00000000000000000000000000000000/api/files", &[ours], Err(Refused::Token)),
        ];
        for (path, given, expected) in table {
            let admitted = guard.admit(Purpose::Question, path, &headers_of(given));
            assert_eq!(admitted, *expected, "{path} {given:?}");
        }
        let change = format!("/{}/api/snapshot", guard.token());
        let here = ("origin", "http://127.0.0.1:4000");
        let table: &[Case<'_>] = &[
            (&change, &[ours, here], Ok("api/snapshot")),
            (&change, &[ours, here, ("sec-fetch-site", "same-origin")], Ok("api/snapshot")),
            (&change, &[ours], Err(Refused::Origin)),
            (&change, &[ours, ("sec-fetch-site", "same-origin")], Err(Refused::Origin)),
            (&change, &[ours, here, ("sec-fetch-site", "none")], Err(Refused::Origin)),
            (&change, &[ours, here, ("sec-fetch-site", "same-site")], Err(Refused::Origin)),
            (&change, &[ours, ("origin", "http://evil.example")], Err(Refused::Origin)),
            (&change, &[("host", "evil.example:4000"), here], Err(Refused::Host)),
            ("/api/snapshot", &[ours, here], Err(Refused::Token)),
        ];
        for (path, given, expected) in table {
            let admitted = guard.admit(Purpose::Change, path, &headers_of(given));
            assert_eq!(admitted, *expected, "{path} {given:?}");
        }
    }

    fn headers_of(given: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.insert(*name, value.parse().expect("a header"));
        }
        headers
    }
}
