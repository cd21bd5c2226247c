//! Decodes words of code into instructions.

use alloc::format;
use alloc::string::String;

use super::opcode::{InstructionSet, Opcode, Operands};
use crate::error::OcamlError;

/// Size of a word of code in bytes.
pub(super) const WORD: usize = 4;

/// The number of an instruction: how many 32-bit words precede it in the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pc(pub u32);

impl core::fmt::Display for Pc {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

/// The code of a program.
#[derive(Clone, Copy, Debug)]
pub struct CodeSection<'a> {
    words: &'a [[u8; WORD]],
    /// Its byte offset in the file.
    offset: usize,
    set: &'static InstructionSet,
}

impl<'a> CodeSection<'a> {
    /// Takes the bytes at `offset` of a file as code.
    ///
    /// # Errors
    /// If they are not whole words, or too many for instruction numbers.
    pub fn new(
        bytes: &'a [u8],
        offset: usize,
        set: &'static InstructionSet,
    ) -> Result<CodeSection<'a>, OcamlError> {
        let (words, rest) = bytes.as_chunks();
        // Targets are signed 32-bit differences.
        if !rest.is_empty() || words.len() > i32::MAX as usize {
            let reason = format!("code of {} bytes", bytes.len());
            return Err(OcamlError::Damaged { offset: offset as u64, reason });
        }
        Ok(CodeSection { words, offset, set })
    }

    /// Its length in words: the number of an instruction after its end.
    pub fn end(&self) -> Pc {
        Pc(self.words.len() as u32)
    }

    /// The instruction set of the code.
    pub fn instruction_set(&self) -> &'static InstructionSet {
        self.set
    }

    /// The byte offset of an instruction in the file.
    pub fn offset_of(&self, at: Pc) -> u64 {
        self.offset as u64 + u64::from(at.0) * WORD as u64
    }

    /// All instructions from the first to the last. After an error there are no more, because it is unknown
    /// where the next one begins.
    pub fn instructions(&self) -> Instructions<'a> {
        Instructions { code: *self, at: Some(Pc(0)) }
    }

    /// The instruction with a given number, if one begins there.
    ///
    /// # Errors
    /// If none does, as far as can be seen.
    pub fn decode(&self, at: Pc) -> Result<Instruction<'a>, OcamlError> {
        let damaged =
            |reason: String| Err(OcamlError::Damaged { offset: self.offset_of(at), reason });
        let words = self.words.get(at.0 as usize..).unwrap_or(&[]);
        let Some((first, rest)) = words.split_first() else {
            return damaged(format!("no instruction {at}: the code ends"));
        };
        let number = u32::from_le_bytes(*first);
        let Some(opcode) = self.set.opcode(number) else {
            return damaged(format!("no instruction has the number {number}"));
        };
        let word = |index: usize| rest.get(index).map_or(0, |word| u32::from_le_bytes(*word));
        let count = match opcode.operands() {
            Operands::None => 0,
            Operands::Unsigned
            | Operands::Signed
            | Operands::Target
            | Operands::Global
            | Operands::Primitive => 1,
            Operands::UnsignedUnsigned
            | Operands::UnsignedTarget
            | Operands::SignedTarget
            | Operands::GlobalField
            | Operands::UnsignedPrimitive
            | Operands::Method => 2,
            Operands::Switch => 1 + u64::from(word(0) & 0xffff) + u64::from(word(0) >> 16),
            Operands::Functions => 2 + u64::from(word(0)),
        };
        let Some(operands) = usize::try_from(count).ok().and_then(|count| rest.get(..count)) else {
            let name = self.set.name(opcode);
            return damaged(format!("{name} with {count} operands at the end of the code"));
        };
        let instruction = Instruction { at, opcode, operands };
        let outside = |target: &i64| !(0..=i64::from(self.end().0)).contains(target);
        let mut targets = instruction.distances().map(|(base, distance)| base + distance);
        if let Some(target) = targets.find(outside) {
            let name = self.set.name(opcode);
            return damaged(format!("{name} to {target}, outside of the code"));
        }
        Ok(instruction)
    }
}

/// The instructions of a program's code.
#[derive(Clone, Debug)]
pub struct Instructions<'a> {
    code: CodeSection<'a>,
    at: Option<Pc>,
}

impl<'a> Iterator for Instructions<'a> {
    type Item = Result<Instruction<'a>, OcamlError>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at.filter(|at| *at < self.code.end())?;
        let instruction = self.code.decode(at);
        self.at = instruction.as_ref().ok().map(Instruction::end);
        Some(instruction)
    }
}

/// An instruction with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction<'a> {
    /// Its number.
    pub at: Pc,
    /// What it does.
    pub opcode: Opcode,
    operands: &'a [[u8; WORD]],
}

impl<'a> Instruction<'a> {
    /// The number of the instruction after it.
    pub fn end(&self) -> Pc {
        // There are fewer words than numbers.
        Pc(self.at.0 + 1 + self.operands.len() as u32)
    }

    /// The words after the opcode, uninterpreted.
    pub fn operands(&self) -> impl Iterator<Item = i32> + use<'a> {
        self.operands.iter().map(|word| i32::from_le_bytes(*word))
    }

    /// One of these words.
    pub fn operand(&self, index: usize) -> Option<i32> {
        self.operands.get(index).map(|word| i32::from_le_bytes(*word))
    }

    /// One of these words as an unsigned number.
    pub fn unsigned(&self, index: usize) -> Option<u32> {
        self.operands.get(index).map(|word| u32::from_le_bytes(*word))
    }

    /// The targets of jumps and the functions that it mentions, in order.
    pub fn targets(&self) -> impl Iterator<Item = Pc> + use<'a> {
        // Decoding has checked that they are within the code.
        self.distances().map(|(base, distance)| Pc((base + distance) as u32))
    }

    /// For each target, the word that it is relative to and the distance from there.
    fn distances(&self) -> impl Iterator<Item = (i64, i64)> + use<'a> {
        let (first, is_without) = match self.opcode.operands() {
            Operands::Target => (0, false),
            Operands::UnsignedTarget | Operands::SignedTarget | Operands::Switch => (1, false),
            Operands::Functions => (2, false),
            _ => (0, true),
        };
        let targets = if is_without { &[] } else { self.operands.get(first..).unwrap_or(&[]) };
        let base = i64::from(self.at.0) + 1 + first as i64;
        targets.iter().map(move |word| (base, i64::from(i32::from_le_bytes(*word))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Version;
    use std::vec::Vec;

    fn bytes(words: &[i32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Opcode, operands and targets.
    type Seen = (Opcode, Vec<i32>, Vec<u32>);

    fn decode(words: &[i32]) -> Result<Vec<Seen>, OcamlError> {
        let set = InstructionSet::of(Version::new(5, 3)).expect("known");
        let bytes = bytes(words);
        let code = CodeSection::new(&bytes, 100, set)?;
        let one = |instruction: Result<Instruction<'_>, OcamlError>| {
            let instruction = instruction?;
            let targets = instruction.targets().map(|target| target.0).collect();
            Ok((instruction.opcode, instruction.operands().collect(), targets))
        };
        code.instructions().map(one).collect()
    }

    #[test]
    fn targets_are_relative_to_their_own_word() {
        let branch = Opcode::BRANCH.number().into();
        assert_eq!(decode(&[branch, 1]), Ok([(Opcode::BRANCH, [1].into(), [2].into())].into()));
        let beq = Opcode::BEQ.number().into();
        assert_eq!(decode(&[beq, 7, -2]), Ok([(Opcode::BEQ, [7, -2].into(), [0].into())].into()));
        let switch = Opcode::SWITCH.number().into();
        let expected = (Opcode::SWITCH, [1 << 16 | 2, 3, 1, -2].into(), [5, 3, 0].into());
        assert_eq!(decode(&[switch, 1 << 16 | 2, 3, 1, -2]), Ok([expected].into()));
        let functions = Opcode::CLOSUREREC.number().into();
        let expected = (Opcode::CLOSUREREC, [2, 9, -3, 2].into(), [0, 5].into());
        assert_eq!(decode(&[functions, 2, 9, -3, 2]), Ok([expected].into()));
    }

    #[test]
    fn invalid_code_is_an_error_with_its_offset() {
        let stop = i32::from(Opcode::STOP.number());
        let branch = i32::from(Opcode::BRANCH.number());
        for (words, offset) in [
            (&[stop, 153][..], 104),
            (&[stop, -1], 104),
            (&[branch], 100),
            (&[stop, branch, 2], 104),
            (&[branch, -2], 100),
            (&[i32::from(Opcode::CLOSUREREC.number()), -1, 0], 100),
            (&[i32::from(Opcode::SWITCH.number()), -1], 100),
            (&[i32::from(Opcode::SWITCH.number())], 100),
        ] {
            let ended = decode(words);
            let seen =
                matches!(&ended, Err(OcamlError::Damaged { offset: at, .. }) if *at == offset);
            assert!(seen, "{words:?}: {ended:?}");
        }
        let set = InstructionSet::of(Version::new(5, 3)).expect("known");
        assert!(CodeSection::new(&[0; 7], 0, set).is_err());
    }
}
