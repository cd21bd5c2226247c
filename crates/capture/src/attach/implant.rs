//! The agent as it is written into a running process: we lay it out and relocate it, as the dynamic linker
//! does in a program that is about to start.

use std::ops::Range;

use bactrian_agent_abi::control;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSymbol, RelocationFlags, RelocationTarget, elf};

use crate::cache::Fingerprint;

const PAGE: u64 = 4096;

/// The agent, not yet at an address.
pub struct Implant<'a> {
    file: ElfFile64<'a, LittleEndian>,
    bytes: &'a [u8],
    parts: Vec<Part>,
    /// The offset of its [`control::Control`].
    pub control: u64,
    /// The offset of the variable that points to the [`linker_tables`](super::linker_tables).
    pub tables_pointer: u64,
}

/// A loadable segment.
struct Part {
    address: u64,
    file: Range<usize>,
    memory: u64,
    flags: u32,
}

/// Pages and their protection, as `mprotect` takes it.
pub struct Rights {
    pub pages: Range<u64>,
    pub rights: u64,
}

/// Functions for which the agent brings its own version, because libc selects its version when the program
/// starts.
const OWN: [&str; 5] = ["bcmp", "memcpy", "memmove", "memset", "strlen"];

impl<'a> Implant<'a> {
    /// Parses the agent's file.
    pub fn read(bytes: &'a [u8]) -> Result<Implant<'a>, String> {
        let bad = |error: object::Error| format!("the agent: {error}");
        let file = ElfFile64::<LittleEndian>::parse(bytes).map_err(bad)?;
        let headers = file.elf_header().program_headers(LittleEndian, bytes).map_err(bad)?;
        let loads = headers.iter().filter(|header| header.p_type(LittleEndian) == elf::PT_LOAD);
        let parts = loads
            .map(|header| {
                let (offset, size) = header.file_range(LittleEndian);
                let end = offset.checked_add(size)?;
                Some(Part {
                    address: header.p_vaddr(LittleEndian),
                    file: usize::try_from(offset).ok()?..usize::try_from(end).ok()?,
                    memory: header.p_memsz(LittleEndian),
                    flags: header.p_flags(LittleEndian),
                })
            })
            .collect::<Option<Vec<_>>>()
            .ok_or("the agent is too large")?;
        let mut implant = Implant { file, bytes, parts, control: 0, tables_pointer: 0 };
        implant.control = implant.own(control::SYMBOL).ok_or("the agent has no control")?;
        implant.tables_pointer =
            implant.own("bactrian_told").ok_or("the agent cannot be adapted to the program")?;
        Ok(implant)
    }

    /// Identifies this build of the agent, to recognise an agent that is already in a process.
    pub fn number(&self) -> u64 {
        Fingerprint::new().with(self.bytes).number()
    }

    /// Its size in memory, in bytes.
    pub fn length(&self) -> u64 {
        let ends = self.parts.iter().map(|part| part.address + part.memory);
        ends.max().unwrap_or(0).next_multiple_of(PAGE)
    }

    /// The bytes to be written at `base`. `find` finds functions of the program's libc.
    pub fn placed_at(
        &self,
        base: u64,
        find: impl Fn(&str) -> Option<u64>,
    ) -> Result<Vec<u8>, String> {
        let mut image = vec![0; usize::try_from(self.length()).map_err(|error| error.to_string())?];
        let outside = "a part of the agent is outside its image";
        for part in &self.parts {
            let bytes = self.bytes.get(part.file.clone()).ok_or(outside)?;
            let place = image.get_mut(part.address as usize..).ok_or(outside)?;
            place.get_mut(..bytes.len()).ok_or(outside)?.copy_from_slice(bytes);
        }
        let symbols = self.file.dynamic_symbol_table().ok_or("the agent has no symbols")?;
        for (at, relocation) in self.file.dynamic_relocations().into_iter().flatten() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let addend = relocation.addend().cast_unsigned();
            let value = match (r_type, relocation.target()) {
                (elf::R_X86_64_RELATIVE, _) => base.wrapping_add(addend),
                (
                    elf::R_X86_64_GLOB_DAT | elf::R_X86_64_JUMP_SLOT | elf::R_X86_64_64,
                    RelocationTarget::Symbol(index),
                ) => {
                    use object::ObjectSymbolTable;
                    let symbol = symbols.symbol_by_index(index).map_err(|e| e.to_string())?;
                    let name = symbol.name().map_err(|error| error.to_string())?;
                    let found = match symbol.is_undefined() {
                        false => Some(base + symbol.address()),
                        true if OWN.contains(&name) => {
                            self.own(&format!("bactrian_{name}")).map(|own| base + own)
                        }
                        // The agent's replacement for what the program does not have.
                        true => find(name).or_else(|| {
                            self.own(&format!("bactrian_{name}")).map(|own| base + own)
                        }),
                    };
                    let found = found.ok_or_else(|| format!("its libc has no {name}"))?;
                    found.wrapping_add(addend)
                }
                (kind, _) => return Err(format!("the agent has a relocation of kind {kind}")),
            };
            let place = usize::try_from(at).ok().and_then(|at| image.get_mut(at..at + 8));
            place.ok_or(outside)?.copy_from_slice(&value.to_le_bytes());
        }
        Ok(image)
    }

    /// The protection of its pages, relative to the base. Pages that are not mentioned can be read and
    /// written.
    pub fn rights(&self) -> impl Iterator<Item = Rights> {
        let only = self.parts.iter().filter(|part| part.flags & elf::PF_W == 0);
        only.map(|part| {
            let end = (part.address + part.memory).next_multiple_of(PAGE);
            let execute = if part.flags & elf::PF_X != 0 { libc::PROT_EXEC } else { 0 };
            Rights {
                pages: part.address / PAGE * PAGE..end,
                rights: u64::from((libc::PROT_READ | execute).unsigned_abs()),
            }
        })
    }

    fn own(&self, name: &str) -> Option<u64> {
        let mut symbols = self.file.dynamic_symbols();
        symbols.find(|symbol| symbol.name() == Ok(name)).map(|symbol| symbol.address())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::AGENT;

    #[test]
    fn the_agent_can_be_placed_anywhere() {
        let implant = Implant::read(AGENT).expect("the agent");
        let find = |name: &str| {
            let known = ["clock_gettime", "dl_iterate_phdr", "__errno_location"];
            known.contains(&name).then_some(0x1234_5000)
        };
        let [one, other] = [0x7000_0000_0000, 0x7000_0001_0000]
            .map(|base| implant.placed_at(base, find).expect("it can be placed"));
        assert_eq!(one.len() as u64, implant.length());
        // Function pointers are relocated.
        let hook = implant.control as usize + std::mem::offset_of!(control::Control, poll);
        let word = |image: &[u8]| {
            u64::from_le_bytes(image[hook..hook + 8].try_into().expect("eight bytes"))
        };
        assert_eq!(word(&other) - word(&one), 0x1_0000);
        let refused = implant.placed_at(0x7000_0000_0000, |_| None).expect_err("no libc");
        assert!(refused.starts_with("its libc has no "), "{refused}");
        let code = implant.rights().filter(|part| part.rights & libc::PROT_EXEC as u64 != 0);
        assert_eq!(code.count(), 1);
    }
}
