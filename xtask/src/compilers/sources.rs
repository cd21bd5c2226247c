//! Where this machine gets Debian's packages from, read from both formats of apt's source lists
//! (sources.list(5)).

use std::fs;
use std::path::{Path, PathBuf};

/// Suites of Debian itself; source lists name others, too: security, updates, vendors.
const DEBIAN: &[&str] = &[
    "bullseye",
    "bookworm",
    "trixie",
    "forky",
    "sid",
    "oldstable",
    "stable",
    "testing",
    "unstable",
];
/// Used if the source does not name the keys that sign it.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A mirror of Debian, and why it is trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirror {
    /// Where its folder `dists` is.
    pub uri: String,
    /// A file of keys.
    signed_by: Option<String>,
    /// Whether this machine accepts packages from it without a signature.
    trusted: bool,
}

impl Mirror {
    /// The one that this machine's apt uses.
    ///
    /// # Errors
    /// If apt's sources name none.
    pub fn of_this_machine() -> Result<Mirror, String> {
        let files = source_files(Path::new("/etc/apt"));
        let found = files.iter().flat_map(|path| {
            let text = fs::read_to_string(path).unwrap_or_default();
            match path.extension() {
                Some(extension) if extension == "sources" => in_stanzas(&text),
                _ => in_lines(&text),
            }
        });
        best(found.collect()).ok_or_else(|| {
            let seen: Vec<_> = files.iter().map(|path| path.display().to_string()).collect();
            format!(
                "no mirror of Debian in apt's sources ({}): this needs Debian, or a source for its \
                 suite stable there",
                seen.join(", ")
            )
        })
    }

    /// The source of another suite on the mirror, in the one-line format.
    pub fn line(&self, suite: &str, architecture: &str) -> String {
        let keys = self.signed_by.as_deref().unwrap_or(KEYRING);
        // Keeps the machine's own decision about trust, whatever it is.
        let trust = match self.trusted {
            true => "trusted=yes".to_owned(),
            false => format!("signed-by={keys}"),
        };
        // Only the package index: no descriptions, icons or contents lists.
        let uri = &self.uri;
        format!("deb [arch={architecture} target=Packages {trust}] {uri} {suite} main\n")
    }
}

/// A mirror whose path ends like Debian's, otherwise the first.
fn best(found: Vec<Mirror>) -> Option<Mirror> {
    let usual = found.iter().find(|mirror| mirror.uri.trim_end_matches('/').ends_with("/debian"));
    usual.or(found.first()).cloned()
}

fn source_files(apt: &Path) -> Vec<PathBuf> {
    let parts = fs::read_dir(apt.join("sources.list.d")).into_iter().flatten().flatten();
    let mut files: Vec<_> = parts.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "list" || e == "sources"));
    files.push(apt.join("sources.list"));
    files.sort();
    files
}

fn is_debian<'a>(
    uri: &str,
    mut suites: impl Iterator<Item = &'a str>,
    mut components: impl Iterator<Item = &'a str>,
) -> bool {
    suites.any(|suite| DEBIAN.contains(&suite))
        && components.any(|component| component == "main")
        && !uri.contains("security")
}

/// `deb [option=value ..] uri suite component..`
fn in_lines(text: &str) -> Vec<Mirror> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let Some(rest) = line.trim().strip_prefix("deb ") else { continue };
        let (options, rest) = match rest.trim_start().strip_prefix('[') {
            Some(bracket) => bracket.split_once(']').unwrap_or_default(),
            None => ("", rest),
        };
        let mut words = rest.split_whitespace();
        let (Some(uri), Some(suite)) = (words.next(), words.next()) else { continue };
        if is_debian(uri, std::iter::once(suite), words) {
            let option = |name: &str| {
                let pairs = options.split_whitespace().filter_map(|pair| pair.split_once('='));
                pairs.into_iter().find_map(|(key, value)| (key == name).then(|| value.to_owned()))
            };
            found.push(mirror(uri, option("signed-by"), option("trusted")));
        }
    }
    found
}

/// `Field: value` in stanzas that end with an empty line.
fn in_stanzas(text: &str) -> Vec<Mirror> {
    let mut found = Vec::new();
    // Comments may be inside a field.
    let text: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    for stanza in text.split(|line| line.trim().is_empty()) {
        let field = |name: &str| {
            let is_it = |line: &&str| {
                let key = line.split_once(':').map(|(key, _)| key);
                key.is_some_and(|key| key.eq_ignore_ascii_case(name))
            };
            let at = stanza.iter().position(is_it)?;
            let mut value = stanza[at].split_once(':')?.1.trim().to_owned();
            for more in stanza[at + 1..].iter().take_while(|line| line.starts_with([' ', '\t'])) {
                value.push(' ');
                value.push_str(more.trim());
            }
            Some(value)
        };
        let words = |name: &str| field(name).unwrap_or_default();
        let is_off = field("Enabled").is_some_and(|value| value.eq_ignore_ascii_case("no"));
        if is_off || !words("Types").split_whitespace().any(|kind| kind == "deb") {
            continue;
        }
        let (suites, components) = (words("Suites"), words("Components"));
        for uri in words("URIs").split_whitespace() {
            if is_debian(uri, suites.split_whitespace(), components.split_whitespace()) {
                found.push(mirror(uri, field("Signed-By"), field("Trusted")));
            }
        }
    }
    found
}

fn mirror(uri: &str, signed_by: Option<String>, trusted: Option<String>) -> Mirror {
    Mirror {
        uri: uri.to_owned(),
        // Keys may also be given as text or as a fingerprint, but the line can only contain a file.
        signed_by: signed_by.filter(|keys| keys.starts_with('/') && !keys.contains([' ', ','])),
        trusted: trusted.is_some_and(|value| value.eq_ignore_ascii_case("yes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uris(found: &[Mirror]) -> Vec<&str> {
        found.iter().map(|mirror| mirror.uri.as_str()).collect()
    }

    #[test]
    fn lines_are_read() {
        let text = "# deb http://old.example/debian bookworm main
deb-src http://a.example/debian bookworm main
deb http://a.example/debian bookworm-updates main
deb http://a.example/debian-security stable main # not that
deb https://vendor.example/apt cloud-bookworm main
deb https://vendor.example/docker bookworm stable
deb [ arch=amd64 signed-by=/k.gpg ] http://a.example/debian/ bookworm contrib main
deb [trusted=yes] http://b.example/deb stable main
";
        let found = in_lines(text);
        assert_eq!(uris(&found), ["http://a.example/debian/", "http://b.example/deb"]);
        assert_eq!(
            found[0].line("trixie", "amd64"),
            "deb [arch=amd64 target=Packages signed-by=/k.gpg] http://a.example/debian/ trixie main\n"
        );
        assert!(found[1].line("trixie", "amd64").contains("trusted=yes"));
    }

    #[test]
    fn stanzas_are_read() {
        let text = "Types: deb deb-src
# a note
URIs: http://a.example/debian
 http://b.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .

Types: deb
URIs: http://a.example/debian-security
Suites: bookworm-security
Components: main

Types: deb
Enabled: no
URIs: http://off.example/debian
Suites: bookworm
Components: main

Types: deb
URIs: https://vendor.example/node
Suites: nodistro
Components: main
";
        let found = in_stanzas(text);
        assert_eq!(uris(&found), ["http://a.example/debian", "http://b.example/debian"]);
        assert!(found[0].line("trixie", "amd64").contains(KEYRING));
    }

    #[test]
    fn the_usual_path_is_preferred() {
        let found = in_lines("deb http://v.example/x stable main\ndeb http://d/debian sid main\n");
        assert_eq!(best(found).map(|mirror| mirror.uri).as_deref(), Some("http://d/debian"));
        assert_eq!(best(Vec::new()), None);
    }
}
