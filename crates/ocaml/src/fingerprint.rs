//! Identifies the version of an OCaml runtime by the names it exports.
//!
//! A native executable is linked so that libraries can find all global names of its runtime, even after
//! stripping. Every version introduced new ones. A runtime has the markers of all versions up to its own and
//! none of a later one. A runtime that has some but not all markers of a version, or lacks those of an earlier
//! one, is unknown.
//!
//! How the markers were found: the runtimes of the tags 4.08.1, 4.09.1, 4.10.2, 4.11.0, 4.11.2, 4.12.0, 4.12.1,
//! 4.13.1, 4.14.0 to 4.14.2, 5.0.0, 5.1.0, 5.1.1, 5.2.0 and 5.3.0~alpha1 were built, for native code and for
//! bytecode, and their names compared (`nm -g`). For 5.4 and 5.5 these are names that Debian's ocamlopt 5.4.1
//! and 5.5.2 export. Among the names that were new in a version, those were chosen that are in both kinds of
//! runtime, remain in all later versions of the same line, and are in object files that every program is linked
//! with: startup, collector, sampling.

use crate::version::Version;

/// What the names of a runtime reveal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// The version.
    pub version: Version,
    /// The kind of code that it runs.
    pub code: RuntimeCode,
}

/// The kind of code that a runtime runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeCode {
    /// Machine code.
    Native,
    /// Bytecode.
    Bytecode,
}

/// A version and names that it introduced.
type Markers = (Version, &'static [&'static str]);

const LINE_4: &[Markers] = &[
    (Version::new(4, 8), &["caml_init_custom_major_ratio"]),
    (Version::new(4, 9), &["caml_sys_modify_argv"]),
    (Version::new(4, 10), &["Caml_state"]),
    (Version::new(4, 11), &["caml_memprof_start", "caml_memprof_minor_update"]),
    (Version::new(4, 12), &["caml_memprof_main_ctx", "caml_check_pending_actions"]),
    (Version::new(4, 13), &["caml_init_policy", "caml_do_exit"]),
    (Version::new(4, 14), &["caml_terminate_signals", "caml_ephe_list_pure"]),
];

const LINE_5: &[Markers] = &[
    (Version::new(5, 0), &["caml_init_domains", "caml_state"]),
    (Version::new(5, 1), &["caml_plat_mem_map", "caml_minor_collections_count"]),
    (Version::new(5, 2), &["caml_memprof_new_domain", "caml_orphan_ephemerons"]),
    (Version::new(5, 3), &["caml_memprof_scan_roots", "caml_plat_latch_wait"]),
    (Version::new(5, 4), &["caml_gc_ramp_up", "caml_adopt_all_orphan_heaps"]),
    (Version::new(5, 5), &["caml_init_gc_tweaks", "caml_domain_count"]),
];

/// Identifies a runtime, asking `has` for names that it exports.
///
/// None if it is not an OCaml runtime, or one of an unknown version.
pub fn fingerprint(has: impl Fn(&str) -> bool) -> Option<Fingerprint> {
    let code = match (has("caml_prim_table"), has("caml_start_program")) {
        (true, false) => RuntimeCode::Bytecode,
        (false, true) => RuntimeCode::Native,
        _ => return None,
    };
    let is_five = LINE_5.first()?.1.iter().any(|name| has(name));
    let version = newest(if is_five { LINE_5 } else { LINE_4 }, has)?;
    Some(Fingerprint { version, code })
}

/// The last version of a line whose markers are all there, if those of all earlier versions are there and none
/// of later ones.
fn newest(line: &[Markers], has: impl Fn(&str) -> bool) -> Option<Version> {
    let mut version = None;
    let mut is_over = false;
    for (next, names) in line {
        let found = names.iter().filter(|name| has(name)).count();
        match found == names.len() {
            true if !is_over => version = Some(*next),
            false if found == 0 => is_over = true,
            _ => return None,
        }
    }
    version
}

#[cfg(test)]
mod tests {
    use super::*;

    extern crate std;
    use std::vec::Vec;

    fn names(line: &[Markers], versions: usize) -> Vec<&'static str> {
        line.iter().take(versions).flat_map(|(_, names)| *names).copied().collect()
    }

    fn tell(names: &[&str], code: &str) -> Option<Fingerprint> {
        fingerprint(|name| names.contains(&name) || name == code)
    }

    #[test]
    fn each_version_is_identified() {
        for line in [LINE_4, LINE_5] {
            for (before, (version, _)) in line.iter().enumerate() {
                let names = names(line, before + 1);
                let native = Fingerprint { version: *version, code: RuntimeCode::Native };
                assert_eq!(tell(&names, "caml_start_program"), Some(native));
                let bytecode = Fingerprint { version: *version, code: RuntimeCode::Bytecode };
                assert_eq!(tell(&names, "caml_prim_table"), Some(bytecode));
                assert_eq!(tell(&names, "main"), None);
            }
        }
    }

    #[test]
    fn runtime_that_lacks_a_marker_is_unknown() {
        for line in [LINE_4, LINE_5] {
            let all = names(line, line.len());
            for missing in &all {
                let rest: Vec<_> = all.iter().copied().filter(|name| name != missing).collect();
                let told = tell(&rest, "caml_start_program");
                let alone = line.iter().find(|(_, names)| *names == [*missing]);
                assert!(told.is_none() || alone.is_some(), "{missing}: {told:?}");
            }
        }
        assert_eq!(tell(&[], "caml_start_program"), None);
    }
}
