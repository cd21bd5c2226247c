//! `unsafe` occurs in few files, and each use says why it is sound.
//!
//! The compiler denies `unsafe` unless an attribute expects it; this check keeps the attribute from being added
//! lightly.

use super::rust_code::{code_only, words};
use super::{Problem, Tree};

/// Files, or folders with a trailing slash, in which `unsafe` is allowed.
const ALLOWED: &[&str] = &[
    "crates/trace/src/input.rs",
    "crates/graph/src/column.rs",
    "crates/graph/src/memory.rs",
    "crates/agent/",
    "crates/agent-os/",
    "crates/capture/src/attach/sys.rs",
    // Reads signal dispositions.
    "crates/capture/src/inherited.rs",
    "crates/capture/src/seccomp.rs",
    "crates/capture/src/snapshot/frozen.rs",
    // The processor's time stamp counter.
    "crates/observe/src/clock.rs",
    // Handlers of fork and exit, and signal masks.
    "crates/observe/src/process.rs",
    // Tests of fork have to fork.
    "crates/observe/tests/process/fork.rs",
    // Functions called from C: texts are pointers.
    "crates/observe-ocaml/src/",
];

const REASON: &str = "// SAFETY:";
/// The documentation of an `unsafe fn` has this instead: the duty is the caller's.
const DUTY: &str = "/// # Safety";

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for text in tree.with_extension(&["rs"]) {
        let allowed = ALLOWED.iter().any(|allowed| match allowed.strip_suffix('/') {
            Some(_) => text.path.starts_with(allowed),
            None => text.path == *allowed,
        });
        let code = code_only(&text.content);
        let code: Vec<_> = code.lines().collect();
        let lines: Vec<_> = text.content.lines().collect();
        for at in (0..code.len()).filter(|&at| uses_unsafe(code[at])) {
            if !allowed {
                let what = format!("`unsafe` is only for the files listed in {}", file!());
                problems.push(text.problem(at + 1, what));
            } else if !is_explained(&lines[..at], &code[..at]) {
                let what = format!("say just above, after `{REASON}`, why this is sound");
                problems.push(text.problem(at + 1, what));
            }
        }
    }
    problems
}

/// Whether a line of code has an `unsafe` other than in an attribute or in a function pointer type.
fn uses_unsafe(code: &str) -> bool {
    words(code, "unsafe").any(|at| {
        if code[..at].ends_with("#[") {
            return false;
        }
        let rest = code[at + "unsafe".len()..].trim_start();
        let rest = rest.strip_prefix("extern").unwrap_or(rest).trim_start();
        let arguments = rest.strip_prefix("fn").map(str::trim_start);
        !arguments.is_some_and(|arguments| arguments.starts_with('('))
    })
}

/// Whether the comment above the statement that continues after `lines` gives a reason. Attributes and the
/// beginning of the statement may be in between.
fn is_explained(lines: &[&str], code: &[&str]) -> bool {
    let continues = |at: &usize| {
        let code = code[*at].trim();
        !code.is_empty() && (code.starts_with("#[") || !code.ends_with([';', '{', '}', ',']))
    };
    let above = (0..lines.len()).rev().skip_while(continues);
    let comment = above.map(|at| lines[at].trim()).take_while(|line| line.starts_with("//"));
    comment.into_iter().any(|line| line.starts_with(REASON) || line.starts_with(DUTY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::said;

    const PLACE: &str = ALLOWED[0];

    fn faults(path: &str, text: &str) -> usize {
        said(check, &[(path, text)]).len()
    }

    #[test]
    fn unsafe_with_a_reason_is_accepted() {
        for text in [
            "// SAFETY: it is mapped.\nlet a = unsafe { f() };\n",
            "// SAFETY: it is\n// mapped.\nlet a =\n    unsafe { f() };\n",
            "// SAFETY: plain data.\n#[expect(unsafe_code)]\nunsafe impl Send for A {}\n",
            "/// Frees it.\n///\n/// # Safety\n/// Once only.\npub unsafe fn free() {\n",
            "type Hook = unsafe extern \"C\" fn(u64);\n",
            "#[unsafe(no_mangle)]\npub fn ours() {}\n",
        ] {
            assert_eq!(faults(PLACE, text), 0, "{text}");
        }
    }

    #[test]
    fn unsafe_without_a_reason_is_a_fault() {
        for text in [
            "let a = unsafe { f() };\n",
            "// It is mapped.\nlet a = unsafe { f() };\n",
            "// SAFETY: of another.\nlet b = 1;\nlet a = unsafe { f() };\n",
            "// SAFETY: too far up.\n\nunsafe impl Send for A {}\n",
            "extern \"C\" {\n}\nunsafe extern \"C\" {\n",
        ] {
            assert_eq!(faults(PLACE, text), 1, "{text}");
        }
    }

    #[test]
    fn unsafe_elsewhere_is_a_fault_with_any_reason() {
        let text = "// SAFETY: it is mapped.\nlet a = unsafe { f() };\n";
        assert_eq!(faults("crates/graph/src/lib.rs", text), 1);
        let only_the_word = "// unsafe\n#![deny(unsafe_code)]\nlet a = \"unsafe\";\n";
        assert_eq!(faults("crates/graph/src/lib.rs", only_the_word), 0);
    }
}
