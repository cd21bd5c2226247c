//! The labels of profiles, from options, from the environment, and from the trace.

use std::path::Path;

use bactrian_ocaml::executable::Identity;
use bactrian_trace::Input;

use crate::redact::Redact;
use crate::stack_ids::{FIRST, mix};

/// The labels of profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The service; if empty, the name of the program.
    pub service: String,
    /// Its version, if given.
    pub version: Option<String>,
    /// The host; if empty, that of the trace.
    pub host: String,
    /// All other labels, by name.
    pub labels: Vec<(String, String)>,
    /// The build; if empty, that of the executable, while it exists.
    pub build_id: String,
    /// What is left out.
    pub redact: Redact,
}

impl Origin {
    /// Fills in from the program what the options have left open.
    pub fn complete(&mut self, program: &Path) {
        if self.service.is_empty() {
            let name = program.file_name().map(|name| name.to_string_lossy().into_owned());
            self.service = name.unwrap_or_else(|| "unknown".to_owned());
        }
        if self.build_id.is_empty() {
            self.build_id = build_id(program).unwrap_or_else(|| "unknown".to_owned());
        }
    }

    /// All other labels in one text: `zone=a,team=b`.
    pub fn labels(&self) -> String {
        let all = self.labels.iter().map(|(name, value)| format!("{name}={value}"));
        all.collect::<Vec<_>>().join(",")
    }
}

/// The linker's build id; otherwise name and size, which are the same on all machines.
fn build_id(path: &Path) -> Option<String> {
    // Mapped, not read: programs are large, and their notes are at the beginning.
    let bytes = Input::open(path).ok()?;
    if let Some(identity) = Identity::read(&bytes) {
        return Some(identity.build_id.iter().map(|byte| format!("{byte:02x}")).collect());
    }
    let name = path.file_name()?.as_encoded_bytes();
    Some(format!("{:016x}", mix(mix(FIRST, name), &bytes.len().to_le_bytes())))
}
