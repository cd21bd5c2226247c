//! Checks that the same commit gives the same bytes, by a second build from scratch in a folder whose name has another length.

use std::fs;
use std::path::Path;

use super::{build, names, pack};
use crate::Outcome;
use crate::command::root;

pub fn build_twice() -> Outcome {
    let first = build(false)?;
    let work = root().join(".cache/dist/built-once-more");
    super::fresh(&work)?;
    let second = first.elsewhere(&work, &work.join("out"))?;
    pack(&second, false)?;
    let differing = differing(&first.out, &second.out)?;
    match differing.is_empty() {
        true => {
            println!("-- both builds have the same files, byte for byte");
            Ok(())
        }
        false => Err(format!(
            "these files differ between the builds in {} and {}: {}",
            first.out.display(),
            second.out.display(),
            differing.join(", ")
        )),
    }
}

/// The names of files that are in only one of the folders, or differ.
fn differing(one: &Path, other: &Path) -> Result<Vec<String>, String> {
    let mut all = names(one)?;
    all.extend(names(other)?);
    all.sort();
    all.dedup();
    all.retain(|name| match (fs::read(one.join(name)), fs::read(other.join(name))) {
        (Ok(one), Ok(other)) => one != other,
        _ => true,
    });
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_changed_files_differ() {
        let folder = std::env::temp_dir().join(format!("bactrian-compare-{}", std::process::id()));
        let (one, other) = (folder.join("one"), folder.join("other"));
        for (side, files) in
            [(&one, ["same", "changed", "gone"]), (&other, ["same", "changed", "new"])]
        {
            fs::create_dir_all(side).expect("temporary files can be made");
            for name in files {
                let text =
                    if name == "changed" { side.display().to_string() } else { String::new() };
                fs::write(side.join(name), text).expect("temporary files can be made");
            }
        }
        let found = differing(&one, &other);
        fs::remove_dir_all(&folder).expect("it is ours");
        assert_eq!(found.as_deref(), Ok(&["changed", "gone", "new"].map(str::to_owned)[..]));
    }
}
