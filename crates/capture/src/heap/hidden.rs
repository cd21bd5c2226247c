//! Static variables of the runtime in stripped executables, found through the code that uses them.
//!
//! Functions of the runtime keep their symbols. On x86-64 they address variables relative to the instruction,
//! so the addresses can be read off the code. If a function uses several parts of a structure, that
//! distinguishes the structure from everything else: the distances between the addresses are those between
//! its parts.

use std::collections::BTreeSet;

use bactrian_ocaml::accounting::Hidden;

use super::target::Target;
use crate::memory::Memory;

/// The functions examined are about a hundred bytes long.
const LONGEST_FUNCTION: u64 = 512;
/// The length of an instruction: prefix, opcode, addressing mode, and displacement.
const LENGTH: usize = 7;

/// The address of a static variable, by its symbol or through the code that uses it.
pub(super) fn variable(target: &Target, memory: &dyn Memory, hidden: &Hidden) -> Option<u64> {
    target.local(hidden.file, hidden.name).or_else(|| {
        let symbol = target.runtime_object().symbols.find(hidden.function)?;
        let mut code = vec![0; symbol.size.min(LONGEST_FUNCTION) as usize];
        if !memory.read(symbol.address, &mut code) {
            return None;
        }
        let found = with_parts(&references(&code, symbol.address, hidden.is_read), hidden.parts)?;
        // Variables are in writable memory.
        let regions = memory.regions();
        let after = regions.partition_point(|region| region.range.start <= found);
        let region = regions.get(after.checked_sub(1)?)?;
        (region.range.contains(&found) && region.writable).then_some(found)
    })
}

/// The addresses that code at `address` reads, or takes the address of. We do not know where instructions
/// begin, so the result may contain others.
fn references(code: &[u8], address: u64, is_read: bool) -> BTreeSet<u64> {
    let expected = if is_read { 0x8b } else { 0x8d };
    let instructions = code.windows(LENGTH).zip(0..);
    let found = instructions.filter_map(|(bytes, at)| {
        let [prefix, operation, mode, distance @ ..] = bytes.first_chunk::<LENGTH>()?;
        let is_wide = matches!(prefix, 0x48 | 0x4c);
        let is_one = *operation == expected && mode & 0xc7 == 5;
        let end = address.wrapping_add(at).wrapping_add(LENGTH as u64);
        (is_wide && is_one).then(|| end.wrapping_add_signed(i32::from_le_bytes(*distance).into()))
    });
    found.collect()
}

/// The only address from which all parts of a structure are referred to; None if there are several.
fn with_parts(references: &BTreeSet<u64>, parts: &[u64]) -> Option<u64> {
    let has_all = |start: &&u64| {
        parts
            .iter()
            .all(|part| start.checked_add(*part).is_some_and(|part| references.contains(&part)))
    };
    let mut found = references.iter().filter(has_all);
    let only = found.next()?;
    found.next().is_none().then_some(*only)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code in OCaml 5.3 of Debian, at 0xa7ea0.
    const CODE: &[u8] = &[
        0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x8d, 0x2d, 0xd4, 0xf3, 0x05, 0x00, 0x53, 0x48, 0x89,
        0xfb, 0x48, 0x89, 0xef, 0x48, 0x83, 0xec, 0x08, 0xe8, 0x54, 0x28, 0xfa, 0xff, 0x85, 0xc0,
        0x75, 0x22, 0x48, 0x89, 0xdf, 0x48, 0x8d, 0x35, 0xe6, 0xf3, 0x05, 0x00, 0xe8, 0x31, 0xbf,
        0xfe, 0xff,
    ];

    #[test]
    fn a_structure_is_identified_by_the_distances_of_its_parts() {
        let found = references(CODE, 0xa7ea0, false);
        assert_eq!(found, BTreeSet::from([0x10_7280, 0x10_72b0]));
        assert_eq!(references(CODE, 0xa7ea0, true), BTreeSet::new());
        assert_eq!(with_parts(&found, &[0, 0x30]), Some(0x10_7280));
        assert_eq!(with_parts(&found, &[0, 0x38]), None);
        // Both are possible.
        assert_eq!(with_parts(&found, &[0]), None);
        assert_eq!(with_parts(&BTreeSet::new(), &[0]), None);
        assert_eq!(with_parts(&BTreeSet::from([u64::MAX]), &[0, 8]), None);
        for end in 0..CODE.len() {
            references(&CODE[..end], u64::MAX - 9, false);
        }
    }
}
