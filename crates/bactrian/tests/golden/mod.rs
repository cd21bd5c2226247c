//! Golden files: a command's output and exit status. `UPDATE_GOLDEN=1 cargo test` rewrites them.

use std::fs;
use std::path::Path;
use std::process::Output;

/// Runs every line of a table of names and command lines, and compares the result with the file of that name,
/// with a prefix, in this directory.
pub fn check(prefix: &str, table: &[(&str, &str)], run: impl Fn(&str) -> Output) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let mut wrong = Vec::new();
    for (name, line) in table {
        let Output { status, stdout, stderr } = run(line);
        let mut seen = format!("$ bactrian {line}\n{}", text(stdout));
        if !stderr.is_empty() {
            seen.push_str(&format!("--- standard error\n{}", text(stderr)));
        }
        seen.push_str(&format!("--- status {}\n", status.code().expect("an exit status")));
        let path = folder.join(format!("{prefix}{name}.txt"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, &seen).expect("a writable checkout");
        }
        let golden = fs::read_to_string(&path).unwrap_or_default();
        if golden != seen {
            wrong.push(format!("{name} should print\n{golden}\nbut prints\n{seen}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
