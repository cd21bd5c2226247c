//! The software bill of materials, as CycloneDX 1.5. It lists the crates that cargo compiles for the binary, with the digests of
//! the lock file, and the npm packages in the page.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use super::release::Release;
use crate::Outcome;
use crate::command::{cargo, output};

struct Component {
    name: String,
    version: String,
    licence: String,
    /// The package URL.
    purl: String,
    /// The algorithm's name, and the digest in hexadecimal.
    digest: Option<(&'static str, String)>,
}

pub fn write(release: &Release) -> Outcome {
    let mut components = crates(release)?;
    components.extend(npm_packages(release)?);
    let compiler = output(Command::new("rustc").arg("--version"))?;
    let compiler = compiler.split_whitespace().nth(1).unwrap_or("unknown").to_owned();
    components.push(Component {
        name: "rust-std".to_owned(),
        purl: format!("pkg:generic/rust-std@{compiler}"),
        version: compiler,
        licence: "MIT OR Apache-2.0".to_owned(),
        digest: None,
    });
    let listed: Vec<_> = components.iter().map(Component::json).collect();
    let text = format!(
        r#"{{
  "bomFormat": "CycloneDX",
  "specVersion": "1.5",
  "version": 1,
  "metadata": {{
    "timestamp": {},
    "component": {{
      "type": "application",
      "name": "bactrian",
      "version": {},
      "licenses": [{{ "expression": "MIT OR Apache-2.0" }}],
      "properties": [{{ "name": "git:commit", "value": {} }}]
    }}
  }},
  "components": [
{}
  ]
}}
"#,
        quoted(&time(&release.epoch)?),
        quoted(&release.version),
        quoted(&release.commit),
        listed.join(",\n")
    );
    super::write(&release.out.join(format!("{}.cdx.json", release.name())), &text)
}

impl Component {
    fn json(&self) -> String {
        let mut fields = vec![
            "\"type\": \"library\"".to_owned(),
            format!("\"name\": {}", quoted(&self.name)),
            format!("\"version\": {}", quoted(&self.version)),
            format!("\"purl\": {}", quoted(&self.purl)),
        ];
        if !self.licence.is_empty() {
            // An older way of writing "or", which is not valid SPDX.
            let expression = self.licence.replace('/', " OR ");
            fields.push(format!("\"licenses\": [{{ \"expression\": {} }}]", quoted(&expression)));
        }
        if let Some((algorithm, hex)) = &self.digest {
            let (algorithm, hex) = (quoted(algorithm), quoted(hex));
            fields.push(format!("\"hashes\": [{{ \"alg\": {algorithm}, \"content\": {hex} }}]"));
        }
        format!("    {{ {} }}", fields.join(", "))
    }
}

/// ISO 8601, as the format demands.
fn time(epoch: &str) -> Result<String, String> {
    let mut date = Command::new("date");
    date.args(["--utc", &format!("--date=@{epoch}"), "+%Y-%m-%dT%H:%M:%SZ"]);
    output(&mut date).map(|text| text.trim_end().to_owned())
}

fn quoted(text: &str) -> String {
    let mut json = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            c if u32::from(c) < 0x20 => json.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => json.push(c),
        }
    }
    json + "\""
}

fn crates(release: &Release) -> Result<Vec<Component>, String> {
    let mut tree = cargo("tree --locked --quiet --package bactrian --edges normal,build");
    tree.args(["--target", "x86_64-unknown-linux-gnu", "--prefix", "none", "--format", "{p}|{l}"]);
    let tree = output(tree.current_dir(&release.source))?;
    let lock = release.source.join("Cargo.lock");
    let lock = fs::read_to_string(&lock).map_err(|error| format!("Cargo.lock: {error}"))?;
    Ok(crates_in(&tree, &checksums(&lock)))
}

/// Lines of `cargo tree` as `name vVERSION (..)|LICENCE (*)`; each package once, ours left out.
fn crates_in(tree: &str, checksums: &BTreeMap<(String, String), String>) -> Vec<Component> {
    let mut found = BTreeMap::new();
    for line in tree.lines() {
        let Some((package, licence)) = line.split_once('|') else { continue };
        let mut words = package.split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else { continue };
        let key = (name.to_owned(), version.trim_start_matches('v').to_owned());
        // Packages that are not from the registry have no checksum: these are our own.
        let Some(checksum) = checksums.get(&key) else { continue };
        let (name, version) = key.clone();
        found.entry(key).or_insert(Component {
            purl: format!("pkg:cargo/{name}@{version}"),
            name,
            version,
            licence: licence.trim_end_matches(" (*)").to_owned(),
            digest: Some(("SHA-256", checksum.clone())),
        });
    }
    found.into_values().collect()
}

/// Maps name and version to the checksum in Cargo.lock.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let packages = lock.split("[[package]]").skip(1);
    let entries = packages.filter_map(|package| {
        let field = |name: &str| {
            let mut lines = package.lines();
            let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))?;
            Some(line.trim_matches('"').to_owned())
        };
        Some(((field("name")?, field("version")?), field("checksum")?))
    });
    entries.collect()
}

/// The npm packages in the page: all that are not for development only.
fn npm_packages(release: &Release) -> Result<Vec<Component>, String> {
    let lock = release.source.join("ui/package-lock.json");
    let lock = fs::read_to_string(lock).map_err(|error| format!("package-lock.json: {error}"))?;
    npm_packages_in(&lock)
}

/// npm writes each field on its own line, and each package at the same depth.
fn npm_packages_in(lock: &str) -> Result<Vec<Component>, String> {
    let mut found = Vec::new();
    for part in lock.split("\n    \"node_modules/").skip(1) {
        let Some((name, rest)) = part.split_once("\": {\n") else { continue };
        let own = rest.split("\n    }").next().unwrap_or_default();
        let field = |name: &str| {
            let start = format!("      \"{name}\": ");
            let line = own.lines().find_map(|line| line.strip_prefix(&start))?;
            Some(line.trim_end_matches(',').trim_matches('"').to_owned())
        };
        if field("dev").is_some() || field("devOptional").is_some() {
            continue;
        }
        let version = field("version").ok_or_else(|| format!("{name}: no version"))?;
        let digest = field("integrity").and_then(|text| hex_of(text.strip_prefix("sha512-")?));
        found.push(Component {
            purl: format!("pkg:npm/{}@{version}", name.replace('@', "%40")),
            name: name.to_owned(),
            version,
            licence: field("license").unwrap_or_default(),
            digest: digest.map(|hex| ("SHA-512", hex)),
        });
    }
    match found.is_empty() {
        true => Err("package-lock.json: no packages were found".to_owned()),
        false => Ok(found),
    }
}

/// Base64 to hexadecimal.
fn hex_of(base64: &str) -> Option<String> {
    let (mut bits, mut count, mut hex) = (0u32, 0, String::new());
    for c in base64.bytes().take_while(|c| *c != b'=') {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            hex.push_str(&format!("{:02x}", bits >> count & 0xff));
        }
    }
    Some(hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_have_the_lock_files_digest_and_our_own_are_omitted() {
        let lock = "[[package]]\nname = \"serde\"\nversion = \"1.0.1\"\nsource = \"x\"\nchecksum = \"ab12\"\n
[[package]]\nname = \"bactrian\"\nversion = \"0.1.0\"\n";
        let tree = "bactrian v0.1.0 (a folder)|MIT\nserde v1.0.1|MIT/Apache-2.0\nserde v1.0.1|MIT/Apache-2.0 (*)\n";
        let found = crates_in(tree, &checksums(lock));
        let json: Vec<_> = found.iter().map(Component::json).collect();
        assert_eq!(
            json,
            [
                r#"    { "type": "library", "name": "serde", "version": "1.0.1", "purl": "pkg:cargo/serde@1.0.1", "licenses": [{ "expression": "MIT OR Apache-2.0" }], "hashes": [{ "alg": "SHA-256", "content": "ab12" }] }"#
            ]
        );
    }

    #[test]
    fn npm_packages_for_development_are_omitted() {
        let lock = r#"{
  "packages": {
    "": {
      "name": "page"
    },
    "node_modules/@a/b": {
      "version": "2.0.0",
      "dev": true
    },
    "node_modules/preact": {
      "version": "11.2.0",
      "integrity": "sha512-+/8=",
      "license": "MIT"
    }
  }
}"#;
        let found = npm_packages_in(lock).expect("one is there");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].purl, "pkg:npm/preact@11.2.0");
        assert_eq!(found[0].digest, Some(("SHA-512", "fbff".to_owned())));
        assert!(npm_packages_in("{}").is_err());
    }

    #[test]
    fn text_is_quoted_as_json() {
        assert_eq!(quoted("a\"\\\n"), r#""a\"\\\u000a""#);
    }
}
