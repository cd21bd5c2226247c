//! Which variables a function of the runtime uses: a way to find static variables without symbols.
//!
//! Code addresses a variable relative to the instruction. Instructions are not decoded, only searched for:
//! the caller must check the results, knowing what the variable should contain.

/// Only this many bytes of a function are examined.
const LONGEST: u64 = 1024;
/// 64-bit loads, additions and lea: the operations on pointers.
const OPCODES: [u8; 3] = [0x8b, 0x03, 0x8d];

use super::Target;
use crate::memory::Memory;

impl Target {
    /// The addresses of variables without symbols that a function uses, in the order of use; empty if there
    /// is no such function.
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

/// The addresses that code refers to.
fn named(code: &[u8], address: u64) -> Vec<u64> {
    let instructions = (0_u64..).zip(code.windows(7)).filter_map(|(at, bytes)| {
        let [0x48 | 0x4c, opcode, mode, distance @ ..] = bytes else { return None };
        // The operand is relative to the next instruction, not a register.
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
    fn variables_addressed_relative_to_instructions_are_found() {
        // mov 0x83369(%rip),%rax; test %rax,%rax; je; mov (%rax),%rax; lea -0x10(%rip),%rdi; ret
        let code = b"\x48\x8b\x05\x69\x33\x08\x00\x48\x85\xc0\x74\x04\x48\x8b\x00\
                     \x48\x8d\x3d\xf0\xff\xff\xff\xc3";
        assert_eq!(named(code, 0x91ef0), [0x11_5260, 0x91ef0 + 22 - 16]);
        assert_eq!(named(&code[..6], 0x91ef0), [0; 0]);
        assert_eq!(named(code, u64::MAX - 3), [0; 0]);
    }
}
