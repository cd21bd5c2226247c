//! The cargo that builds the agent, kept apart from the cargo that builds Bactrian. The outer
//! cargo passes its profile, flags and target to build scripts as environment variables. The agent's build must not depend
//! on them: it has a profile of its own, and no library to link with.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// Beginnings of names under which cargo takes settings of the outer build from the environment. `CARGO_TARGET_` is both
/// linker and flags of a target, and the folder of its output.
const SETTINGS: &[&str] = &["CARGO_PROFILE_", "CARGO_TARGET_", "CARGO_BUILD_TARGET"];
const WHOLE_NAMES: &[&str] = &["CARGO_INCREMENTAL", "RUSTC_WORKSPACE_WRAPPER"];

/// Removes settings of the outer build from what `cargo` inherits. `inherited` are the names of all variables.
///
/// Flags for rustc are not removed but replaced: only `CARGO_ENCODED_RUSTFLAGS` wins over every other source of them,
/// configuration files included. The one flag there keeps the folder of the repository out of the agent.
pub fn isolate<Name: AsRef<OsStr>>(
    cargo: &mut Command,
    inherited: impl IntoIterator<Item = Name>,
    repository: &Path,
) {
    for name in inherited {
        let name = name.as_ref();
        let text = name.to_string_lossy();
        let is_setting = SETTINGS.iter().any(|beginning| text.starts_with(beginning));
        if is_setting || WHOLE_NAMES.contains(&&*text) {
            cargo.env_remove(name);
        }
    }
    let remap = format!("--remap-path-prefix={}=bactrian", repository.display());
    cargo.env("CARGO_ENCODED_RUSTFLAGS", remap);
}
