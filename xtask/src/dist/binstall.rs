//! Checks that `cargo binstall` would find the archive: compares the manifest's metadata with the archive's name and layout.

use std::fs;

use super::{release::Release, tree::Tree};
use crate::Outcome;

pub fn check(release: &Release, tree: &Tree, archive: &str) -> Outcome {
    let manifest = release.source.join("crates/bactrian/Cargo.toml");
    let manifest = fs::read_to_string(&manifest).map_err(|error| error.to_string())?;
    let url = field(&manifest, "pkg-url", &release.version)?;
    if url.rsplit('/').next() != Some(archive) {
        return Err(format!("crates/bactrian/Cargo.toml: pkg-url does not end in {archive}"));
    }
    let program = tree.parent.join(field(&manifest, "bin-dir", &release.version)?);
    match program.is_file() {
        true => Ok(()),
        false => {
            Err("crates/bactrian/Cargo.toml: bin-dir is not the program's path in the archive"
                .to_owned())
        }
    }
}

/// A field of the manifest, with its placeholders replaced.
fn field(manifest: &str, name: &str, version: &str) -> Result<String, String> {
    let start = format!("{name} = \"");
    let line = manifest.lines().find_map(|line| line.strip_prefix(&start)?.strip_suffix('"'));
    let line = line.ok_or_else(|| format!("crates/bactrian/Cargo.toml: no {name}"))?;
    let line = line.replace("{ version }", version);
    Ok(line.replace("{ name }", "bactrian").replace("{ bin }", "bactrian"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_replaced() {
        let manifest = "[a]\nbin-dir = \"{ name }-{ version }/bin/{ bin }\"\n";
        assert_eq!(
            field(manifest, "bin-dir", "1.2.3").as_deref(),
            Ok("bactrian-1.2.3/bin/bactrian")
        );
        assert!(field(manifest, "pkg-url", "1.2.3").is_err());
    }
}
