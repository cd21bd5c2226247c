//! Whose profiles they are: what is said of them by options, by the environment, and by the trace.

use std::path::Path;

use bactrian_ocaml::executable::Identity;
use bactrian_trace::Input;

use crate::redact::Redact;
use crate::stack_ids::{FIRST, mix};

/// Whose profiles they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The service; empty: the name of the program.
    pub service: String,
    /// Its version, if that was said.
    pub version: Option<String>,
    /// The machine; empty: as the trace says.
    pub host: String,
    /// Whatever else was said, by name.
    pub labels: Vec<(String, String)>,
    /// Which build it is; empty: that of the executable, as long as it is there.
    pub build_id: String,
    /// What is not told of it.
    pub redact: Redact,
}

impl Origin {
    /// Takes from the program what was not said.
    pub fn complete(&mut self, program: &Path) {
        if self.service.is_empty() {
            let name = program.file_name().map(|name| name.to_string_lossy().into_owned());
            self.service = name.unwrap_or_else(|| "unknown".to_owned());
        }
        if self.build_id.is_empty() {
            self.build_id = build_id(program).unwrap_or_else(|| "unknown".to_owned());
        }
    }

    /// All labels in one text: `zone=a,team=b`.
    pub fn labels(&self) -> String {
        let all = self.labels.iter().map(|(name, value)| format!("{name}={value}"));
        all.collect::<Vec<_>>().join(",")
    }
}

/// What the linker called it; otherwise its name and size, which are the same on all machines.
fn build_id(path: &Path) -> Option<String> {
    // Mapped, not read: programs are large, and their notes at the beginning.
    let bytes = Input::open(path).ok()?;
    if let Some(identity) = Identity::read(&bytes) {
        return Some(identity.build_id.iter().map(|byte| format!("{byte:02x}")).collect());
    }
    let name = path.file_name()?.as_encoded_bytes();
    Some(format!("{:016x}", mix(mix(FIRST, name), &bytes.len().to_le_bytes())))
}
