//! Which variables a function of the runtime uses: a way to static variables that have no names any more.
//!
//! Code names a variable by its distance from the instruction. Instructions are not decoded, only looked for:
//! what is found must be checked by whoever knows what the variable holds.

/// Longer functions are not looked at to the end.
const LONGEST: u64 = 1024;
/// Loads, adds and takes addresses, with 64 bits: what pointers are handled with.
const OPCODES: [u8; 3] = [0x8b, 0x03, 0x8d];

use super::Target;
use crate::memory::Memory;

impl Target {
    /// Addresses of variables without a name that a function uses, in the order it does; none if there is no such
    /// function.
    pub fn variables_of(&self, memory: &dyn Memory, function: &str) -> Vec<u64> {
        let found = self
            .objects
            .iter()
            .find_map(|object| object.symbols.find(function).map(|symbol| (object, *symbol)));
        let Some((object, symbol)) = found else { return Vec::new() };
        let mut code = vec![0; symbol.size.min(LONGEST) as usize];
        if !memory.read(symbol.address, &mut code) {
            return Vec::new();
        }
        let mut variables = named(&code, symbol.address);
        variables.retain(|at| {
            let is_known = object.symbols.data_at(*at).is_some_and(|known| known.address == *at);
            object.range.contains(at) && at.is_multiple_of(8) && !is_known
        });
        variables
    }
}

/// Addresses that code at an address names.
fn named(code: &[u8], address: u64) -> Vec<u64> {
    let instructions = (0_u64..).zip(code.windows(7)).filter_map(|(at, bytes)| {
        let [0x48 | 0x4c, opcode, mode, distance @ ..] = bytes else { return None };
        // No register, but a distance from the next instruction.
        let is_relative = mode & 0b1100_0111 == 0b101;
        let distance = i32::from_le_bytes(*distance.first_chunk()?);
        let next = address.checked_add(at + 7)?;
        let is_one = is_relative && OPCODES.contains(opcode);
        is_one.then(|| next.checked_add_signed(i64::from(distance)))?
    });
    instructions.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_named_by_distance() {
        // mov 0x83369(%rip),%rax; test %rax,%rax; je; mov (%rax),%rax; lea -0x10(%rip),%rdi; ret
        let code = b"\x48\x8b\x05\x69\x33\x08\x00\x48\x85\xc0\x74\x04\x48\x8b\x00\
                     \x48\x8d\x3d\xf0\xff\xff\xff\xc3";
        assert_eq!(named(code, 0x91ef0), [0x11_5260, 0x91ef0 + 22 - 16]);
        assert_eq!(named(&code[..6], 0x91ef0), [0; 0]);
        assert_eq!(named(code, u64::MAX - 3), [0; 0]);
    }
}
