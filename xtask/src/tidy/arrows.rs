//! Dependencies between our crates point downwards only.

use super::{Problem, Text, Tree};

/// The layers of ARCHITECTURE.md, the highest first. A crate may use crates of any lower layer, and none of its
/// own.
const LAYERS: &[&[&str]] = &[
    &["bactrian"],
    &["bactrian-mcp", "bactrian-fleet", "bactrian-lsp"],
    &["bactrian-web", "bactrian-terminal", "bactrian-export"],
    &["bactrian-advice"],
    &["bactrian-capture"],
    &["bactrian-tables"],
    &["bactrian-analysis"],
    &["bactrian-types"],
    &["bactrian-trace", "bactrian-snapshot", "bactrian-live", "bactrian-graph"],
    &["bactrian-ocaml", "bactrian-private"],
];

/// The agent and the library for observed programs are beside the layers because they run in other processes.
/// These are their dependencies, and those of crates that have to agree with them, in addition to the layers.
const BESIDE: &[(&str, &[&str])] = &[
    (
        "bactrian-agent",
        &["bactrian-agent-abi", "bactrian-agent-os", "bactrian-trace", "bactrian-ocaml"],
    ),
    ("bactrian-agent-abi", &[]),
    ("bactrian-agent-os", &["bactrian-agent-abi"]),
    ("bactrian-capture", &["bactrian-agent-abi"]),
    ("bactrian-observe", &["bactrian-live"]),
    ("bactrian-observe-ocaml", &["bactrian-observe", "bactrian-live"]),
];

/// Only tests may use it, but all of them: it depends on none of our crates.
const FOR_TESTS: &str = "bactrian-fixtures";

pub fn check(tree: &Tree) -> Vec<Problem> {
    let manifests = tree.texts.iter().filter(|text| {
        let inner = text.path.strip_prefix("crates/").and_then(|p| p.strip_suffix("/Cargo.toml"));
        inner.is_some_and(|name| !name.contains('/'))
    });
    manifests.flat_map(check_manifest).collect()
}

fn check_manifest(manifest: &Text) -> Vec<Problem> {
    let Manifest { name, uses } = read(manifest);
    if !is_known(name) {
        return vec![manifest.problem(0, unknown(name))];
    }
    let faults = uses.into_iter().filter_map(|Use { line, name: used, is_for_tests }| {
        let what = if used == FOR_TESTS && is_for_tests {
            return None;
        } else if used == FOR_TESTS {
            format!("{name} must use {used} in its tests only, as a dev-dependency")
        } else if !is_known(used) {
            unknown(used)
        } else if !is_allowed(name, used) {
            format!("{name} must not use {used}: arrows point downwards (see ARCHITECTURE.md)")
        } else {
            return None;
        };
        Some(manifest.problem(line, what))
    });
    faults.collect()
}

fn unknown(name: &str) -> String {
    format!("{name:?} is in no layer: give it a place in {} and in ARCHITECTURE.md", file!())
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

fn beside(name: &str) -> Option<&'static [&'static str]> {
    BESIDE.iter().find(|(user, _)| *user == name).map(|&(_, used)| used)
}

fn is_known(name: &str) -> bool {
    name == FOR_TESTS || layer(name).is_some() || beside(name).is_some()
}

fn is_allowed(user: &str, used: &str) -> bool {
    let downwards = match (layer(user), layer(used)) {
        (Some(upper), Some(lower)) => upper < lower,
        _ => false,
    };
    downwards || beside(user).is_some_and(|allowed| allowed.contains(&used))
}

struct Manifest<'a> {
    name: &'a str,
    /// Our crates that it depends on in any way.
    uses: Vec<Use<'a>>,
}

struct Use<'a> {
    /// The line with the dependency.
    line: usize,
    name: &'a str,
    is_for_tests: bool,
}

/// Parses the part of a manifest that our own manifests need: a name, and tables of dependencies in which each
/// line begins with a crate's name.
fn read(manifest: &Text) -> Manifest<'_> {
    let mut section = "";
    let mut found = Manifest { name: "", uses: Vec::new() };
    let ours = |name: &str| name == "bactrian" || name.starts_with("bactrian-");
    for (number, line) in manifest.numbered_lines() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            // `[dependencies.NAME]`
            if let Some((table, name)) = section.rsplit_once('.')
                && table.ends_with("dependencies")
                && ours(name)
            {
                let is_for_tests = table.ends_with("dev-dependencies");
                found.uses.push(Use { line: number, name, is_for_tests });
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = key.trim();
        if section == "package" && key == "name" {
            found.name = value.trim().trim_matches('"');
        } else if section.ends_with("dependencies") {
            let name = key.split_once('.').map_or(key, |(name, _)| name);
            let renamed =
                value.split_once("package = \"").and_then(|(_, rest)| rest.split_once('"'));
            let name = renamed.map_or(name, |(package, _)| package);
            if ours(name) {
                let is_for_tests = section.ends_with("dev-dependencies");
                found.uses.push(Use { line: number, name, is_for_tests });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::said;

    fn manifest(name: &str, dependencies: &str) -> Vec<String> {
        let text = format!("[package]\nname = \"{name}\"\n\n{dependencies}");
        said(check, &[("crates/x/Cargo.toml", &text)])
    }

    #[test]
    fn downward_arrows_may_skip_layers() {
        for (user, used) in [
            ("bactrian", "bactrian-trace"),
            ("bactrian-analysis", "bactrian-trace"),
            ("bactrian-capture", "bactrian-agent-abi"),
            ("bactrian-agent", "bactrian-trace"),
        ] {
            let table = format!("[dependencies]\n{used}.workspace = true\nserde = \"1\"\n");
            assert_eq!(manifest(user, &table), [""; 0], "{user} -> {used}");
        }
    }

    #[test]
    fn other_arrows_are_faults() {
        for (user, used) in [
            ("bactrian-trace", "bactrian-analysis"),
            ("bactrian-trace", "bactrian-graph"),
            ("bactrian-export", "bactrian-web"),
            ("bactrian-export", "bactrian-agent-abi"),
            ("bactrian-agent", "bactrian-analysis"),
            ("bactrian-agent-abi", "bactrian-ocaml"),
            ("bactrian-web", "bactrian-agent"),
        ] {
            let table = format!("[dev-dependencies]\n{used} = {{ path = \"..\" }}\n");
            let said = manifest(user, &table);
            assert_eq!(said.len(), 1, "{user} -> {used}");
            assert!(said[0].starts_with("crates/x/Cargo.toml:5: "), "{said:?}");
        }
    }

    #[test]
    fn every_way_to_write_a_dependency_is_seen() {
        for table in [
            "[dependencies.bactrian-web]\nworkspace = true\n",
            "[target.'cfg(unix)'.dependencies]\nbactrian-web = \"0\"\n",
            "[build-dependencies]\nweb = { package = \"bactrian-web\", version = \"0\" }\n",
        ] {
            assert_eq!(manifest("bactrian-trace", table).len(), 1, "{table}");
        }
    }

    #[test]
    fn fixtures_are_for_tests_only() {
        let table = |section: &str| format!("[{section}]\nbactrian-fixtures.workspace = true\n");
        for user in ["bactrian-ocaml", "bactrian-observe-ocaml", "bactrian"] {
            assert_eq!(manifest(user, &table("dev-dependencies")), [""; 0], "{user}");
            let said = manifest(user, &table("dependencies"));
            assert!(said.len() == 1 && said[0].contains("in its tests only"), "{said:?}");
        }
        let upwards = "[dev-dependencies]\nbactrian-trace.workspace = true\n";
        assert_eq!(manifest("bactrian-fixtures", upwards).len(), 1);
    }

    #[test]
    fn a_crate_without_a_layer_is_a_fault() {
        assert!(manifest("bactrian-utils", "")[0].contains("is in no layer"));
        let table = "[dependencies]\nbactrian-misc = \"1\"\n";
        assert!(manifest("bactrian", table)[0].contains("\"bactrian-misc\" is in no layer"));
    }
}
