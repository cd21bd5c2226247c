//! Instructions as text, in the format of OCaml's own `dumpobj`.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::Write;

use super::instruction::Instruction;
use super::opcode::Operands;
use super::program::Program;

pub(super) fn show(program: &Program<'_>, instruction: &Instruction<'_>) -> String {
    let mut shown: String = program.code.instruction_set().name(instruction.opcode).into();
    let mut targets = instruction.targets();
    let mut target = || targets.next().map(|target| target.to_string()).unwrap_or_default();
    let signed = |index| instruction.operand(index).unwrap_or(0).to_string();
    let number = |index| instruction.unsigned(index).unwrap_or(0);
    let primitive = |index| {
        let number = number(index);
        program.primitive(number).map_or_else(|| format!("primitive {number}"), Into::into)
    };
    let (first, second) = match instruction.opcode.operands() {
        Operands::None => return shown,
        Operands::Unsigned => (number(0).to_string(), None),
        Operands::Signed | Operands::Method => (signed(0), None),
        Operands::UnsignedUnsigned => (number(0).to_string(), Some(number(1).to_string())),
        Operands::Target => (target(), None),
        Operands::UnsignedTarget => (number(0).to_string(), Some(target())),
        Operands::SignedTarget => (signed(0), Some(target())),
        Operands::Global => (program.globals.show(number(0)), None),
        Operands::GlobalField => (program.globals.show(number(0)), Some(number(1).to_string())),
        Operands::Primitive => (primitive(0), None),
        Operands::UnsignedPrimitive => (number(0).to_string(), Some(primitive(1))),
        Operands::Switch => {
            let integers = number(0) & 0xffff;
            let kinds = (0..integers).map(|n| ("int", n)).chain((0..).map(|n| ("tag", n)));
            let cases = instruction.targets().zip(kinds);
            let cases = cases.map(|(target, (kind, n))| format!("{kind} {n} -> {target}"));
            (cases.collect::<alloc::vec::Vec<_>>().join(", "), None)
        }
        Operands::Functions => {
            let all = instruction.targets().map(|target| format!(", {target}"));
            (number(1).to_string() + &all.collect::<String>(), None)
        }
    };
    // Writing to a string does not fail.
    let _ = write!(shown, " {first}");
    if let Some(second) = second {
        let _ = write!(shown, ", {second}");
    }
    shown
}
