//! The response time of the page in a real browser, measured by `ui/tests/measure.mjs`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{build, folder};
use xtask::Outcome;
use xtask::command::{output, root, succeed};

/// The number of blocks in the generated snapshot.
const BLOCKS: &str = "20000000";

pub fn run(arguments: &[String]) -> Outcome {
    let (mut wide, mut heap, mut rounds) = (None, None, 3);
    let mut arguments = arguments.iter();
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{option} needs a value"))?;
        match option.as_str() {
            "--trace" => wide = Some(PathBuf::from(value)),
            "--heap" => heap = Some(PathBuf::from(value)),
            "--rounds" => rounds = value.parse().map_err(|_| "--rounds needs a number")?,
            _ => return Err(format!("there is no option {option}")),
        }
    }
    let built = build()?;
    let folder = folder()?;
    let bench = built.join("bactrian-bench");
    let wide = match wide {
        Some(path) => path,
        None => {
            let path = folder.join("wide.ctf");
            if !path.exists() {
                let mut generate = Command::new(&bench);
                generate.args(["generate-trace", "--shape", "wide", "-o"]);
                succeed(generate.arg(&path))?;
            }
            path
        }
    };
    let heap = match heap {
        Some(path) => path,
        None => {
            let (table, heap) = (folder.join("page.types"), folder.join("page.heap"));
            if !heap.exists() {
                let mut generate = Command::new(&bench);
                generate.args(["types-generate", BLOCKS]);
                succeed(generate.arg(&table).arg(&heap))?;
            }
            heap
        }
    };
    let bactrian = built.join("bactrian");
    println!("{} rounds; seconds, round by round", rounds);
    // First without an index, then with the one that was kept.
    let cache = folder.join("page-cache");
    drop(std::fs::remove_dir_all(&cache));
    measure(&bactrian, &cache, "trace", &wide, rounds)?;
    let measured = measure(&bactrian, &cache, "heap", &heap, rounds.max(2));
    drop(std::fs::remove_dir_all(&cache));
    measured
}

fn measure(bactrian: &Path, cache: &Path, kind: &str, file: &Path, rounds: usize) -> Outcome {
    println!("{kind}: {}", file.display());
    let mut node = Command::new("node");
    node.arg("tests/measure.mjs").arg(kind).arg(file).arg(rounds.to_string());
    node.current_dir(root().join("ui")).env("BACTRIAN", bactrian).env("XDG_CACHE_HOME", cache);
    node.env("BACTRIAN_FIXTURES", root()).env("BACTRIAN_PICTURES", "screenshots");
    print!("{}", output(&mut node)?);
    Ok(())
}
