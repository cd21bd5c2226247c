//! The compilation units that a program was linked from: it records them itself, for Dynlink.

use bactrian_ocaml::RuntimeCode;
use bactrian_ocaml::bytecode::Sections;
use bactrian_ocaml::linked_units::{LinkedUnit, linked_units, plugin_units};
use bactrian_ocaml::value::header_words;

use super::finder::Finder;

/// An upper bound in bytes; programs with a thousand modules have some 100 kB.
const LONGEST_MAP: usize = 1 << 26;

impl Finder<'_> {
    /// Notes the program's units. The walk works without them, so failing to read them is not a gap.
    pub(super) fn linked_units(&mut self) {
        let units = match self.target.code {
            RuntimeCode::Native => self.native_units(),
            RuntimeCode::Bytecode => self.bytecode_units(),
        };
        self.found.units = units.unwrap_or_default();
        for object in &self.target.objects {
            let header = object.symbols.find("caml_plugin_header");
            let header = header.and_then(|header| self.string(header.address));
            if let Some(units) = header.and_then(|header| plugin_units(&header).ok()) {
                self.found.units.extend(units);
                self.found.plugins.push(object.path.clone());
            }
        }
    }

    /// A string in the program's data contains a marshalled list of them.
    fn native_units(&mut self) -> Option<Vec<LinkedUnit>> {
        let map = self.target.global("caml_globals_map")?;
        linked_units(&self.string(map)?).ok()
    }

    /// The words of a string.
    fn string(&mut self, at: u64) -> Option<Vec<u8>> {
        let header = self.words.word(at.checked_sub(8)?)?;
        let length = header_words(header as usize).checked_mul(8)?;
        if length > LONGEST_MAP {
            return None;
        }
        let mut bytes = vec![0; length];
        self.memory.read(at, &mut bytes).then_some(bytes)
    }

    /// A section of the file contains such a list, of interfaces only.
    fn bytecode_units(&self) -> Option<Vec<LinkedUnit>> {
        let sections = Sections::read(self.target.bytecode.as_deref()?).ok()??;
        linked_units(sections.find(b"CRCS")?.bytes).ok()
    }
}
