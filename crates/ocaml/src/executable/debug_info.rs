//! Whether a native program's modules were compiled with `-g`.
//!
//! Each module has a table of its return addresses, under a symbol that survives stripping. Flags in an entry
//! say whether the runtime can tell its function, file and line. Entries of calls have that with and without
//! `-g`, entries of allocations only with it. So allocations decide. For allocations of a module without debug
//! information, only the function's name may be known, from the symbol; their callers are known.
//!
//! An entry consists of the return address (64 bits), frame size and flags (16), number of live slots (16), and
//! each slot (16). With flag 2 there follow a count byte and one byte for each allocation. With flag 1 there
//! follows, aligned to 4 bytes, the location of the debug information (32), once or for each allocation.
//! Entries are aligned to 8 bytes. A frame size of 0xffff is not a size and has no flags: it marks the frame
//! that called into OCaml. This is the format since 4.11; before, entries had no information about allocations.

use std::string::String;
use std::vec::Vec;

use super::elf::Elf;

const HAS_DEBUG_INFO: u16 = 1;
const HAS_ALLOCATIONS: u16 = 2;
const NO_FLAGS: u16 = 0xffff;
const SUFFIX: &[u8] = b"frametable";

/// Modules that allocate, by whether the locations of allocations are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DebugInfo {
    /// The number of modules compiled with `-g`.
    pub with: usize,
    /// The modules compiled without, sorted.
    pub without: Vec<String>,
}

impl DebugInfo {
    /// None if no table is found, or if the tables make no sense.
    pub(super) fn find(elf: &Elf<'_>) -> Option<DebugInfo> {
        if !elf.has_usual_words() {
            return None;
        }
        let mut found = DebugInfo::default();
        let mut is_any = false;
        // Tables do not overlap, so a file that claims more entries than fit into it is hostile.
        let mut entries_left = elf.loaded().map(<[u8]>::len).sum::<usize>() / 16;
        let tables = elf.globals().filter(|(name, _)| name.ends_with(SUFFIX));
        let mut tables: Vec<_> = tables.collect();
        tables.sort_unstable();
        tables.dedup_by_key(|(name, _)| *name);
        for (name, address) in tables {
            let Some(module) = module_of(name) else { continue };
            match knows_allocations(elf.bytes_at(address)?, &mut entries_left)? {
                Some(true) => found.with += 1,
                Some(false) => found.without.push(module),
                // It does not allocate.
                None => {}
            }
            is_any = true;
        }
        // Symbols are sorted including what follows a module's name.
        found.without.sort_unstable();
        is_any.then_some(found)
    }
}

/// The module whose table has this name. None for the tables of the runtime and of the linker.
fn module_of(name: &[u8]) -> Option<String> {
    let unit = name.strip_suffix(SUFFIX)?;
    let unit = unit.strip_suffix(b"__").or_else(|| unit.strip_suffix(b"."))?;
    let module = unit.strip_prefix(b"caml")?;
    let begins = module.first().is_some_and(u8::is_ascii_uppercase);
    begins.then(|| String::from_utf8_lossy(module).into_owned())
}

/// Whether the locations of a table's allocations are known: `Some(None)` if there are no allocations, `None`
/// if it is impossible to tell.
fn knows_allocations(table: &[u8], entries_left: &mut usize) -> Option<Option<bool>> {
    let (count, mut rest) = table.split_first_chunk::<8>()?;
    let mut known = None;
    for _ in 0..u64::from_le_bytes(*count) {
        *entries_left = entries_left.checked_sub(1)?;
        let half = |at: usize| Some(u16::from_le_bytes([*rest.get(at)?, *rest.get(at + 1)?]));
        let (flags, live) = (half(8)?, usize::from(half(10)?));
        let mut length = 12 + 2 * live;
        let flags = if flags == NO_FLAGS { 0 } else { flags };
        let mut places = 1;
        if flags & HAS_ALLOCATIONS != 0 {
            places = usize::from(*rest.get(length)?);
            length += 1 + places;
            if flags & HAS_DEBUG_INFO != 0 && places > 0 {
                return Some(Some(true));
            }
            // Since 4.14 there are points that allocate nothing but poll for signals.
            known = known.or((places > 0).then_some(false));
        }
        if flags & HAS_DEBUG_INFO != 0 {
            length = length.next_multiple_of(4) + 4 * places;
        }
        rest = rest.get(length.next_multiple_of(8)..)?;
    }
    Some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(flags: u16, live: &[u16], allocations: &[u8]) -> Vec<u8> {
        let mut bytes = 0x1234_u64.to_le_bytes().to_vec();
        bytes.extend(flags.to_le_bytes());
        bytes.extend((live.len() as u16).to_le_bytes());
        bytes.extend(live.iter().flat_map(|slot| slot.to_le_bytes()));
        let flags = if flags == NO_FLAGS { 0 } else { flags };
        if flags & HAS_ALLOCATIONS != 0 {
            bytes.push(allocations.len() as u8);
            bytes.extend(allocations);
        }
        if flags & HAS_DEBUG_INFO != 0 {
            bytes.resize(bytes.len().next_multiple_of(4) + 4 * allocations.len().max(1), 0);
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    fn table(entries: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = (entries.len() as u64).to_le_bytes().to_vec();
        bytes.extend(entries.concat());
        bytes
    }

    fn known(table: &[u8]) -> Option<Option<bool>> {
        knows_allocations(table, &mut 1000)
    }

    #[test]
    fn entries_of_allocations_decide_about_debug_info() {
        let mut entries = std::vec![
            entry(16, &[], &[]),
            entry(32, &[8, 16, 24], &[]),
            entry(NO_FLAGS, &[1, 2], &[]),
            entry(16 | HAS_DEBUG_INFO, &[4], &[]),
        ];
        assert_eq!(known(&table(&entries)), Some(None));
        entries.push(entry(16 | HAS_ALLOCATIONS, &[], &[]));
        assert_eq!(known(&table(&entries)), Some(None));
        entries.push(entry(16 | HAS_ALLOCATIONS, &[8], &[3, 4, 5]));
        entries.push(entry(16 | HAS_DEBUG_INFO, &[], &[]));
        assert_eq!(known(&table(&entries)), Some(Some(false)));
        entries.push(entry(16 | HAS_ALLOCATIONS | HAS_DEBUG_INFO, &[8], &[3, 4, 5]));
        assert_eq!(known(&table(&entries)), Some(Some(true)));
        assert_eq!(known(&table(&[])), Some(None));
    }

    #[test]
    fn truncated_tables_give_no_answer() {
        let whole = table(&[entry(16, &[], &[]), entry(16 | HAS_ALLOCATIONS, &[8], &[3, 4, 5])]);
        for end in 0..whole.len() {
            assert_eq!(known(&whole[..end]), None, "{end}");
        }
        assert_eq!(knows_allocations(&whole, &mut 1), None);
    }

    #[test]
    fn tables_belong_to_modules() {
        for (name, module) in [
            ("camlStdlib__List__frametable", Some("Stdlib__List")),
            ("camlStdlib__List.frametable", Some("Stdlib__List")),
            ("camlLib__Part_2__frametable", Some("Lib__Part_2")),
            ("caml_frametable", None),
            ("caml_system__frametable", None),
            ("caml_startup.frametable", None),
            ("frametable", None),
            ("camlX__data_begin", None),
        ] {
            assert_eq!(module_of(name.as_bytes()).as_deref(), module, "{name}");
        }
    }
}
