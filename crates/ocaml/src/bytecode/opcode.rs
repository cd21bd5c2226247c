//! The instruction set: names, operands, and which instructions allocate.
//!
//! Opcodes have kept their numbers from 4.11 to 5.5; OCaml 5.0 added four at the end. So there is one table,
//! with another one for differences between versions. Both were taken from `instruct.h` of each release,
//! operands and allocation from the interpreters of 4.13 and 5.2, and tested on bytecode of 4.11, 4.13, 4.14,
//! 5.3, 5.4 and 5.5.

use crate::version::Version;

/// The operands of an opcode, in 32-bit words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// None.
    None,
    /// An unsigned number.
    Unsigned,
    /// A signed number.
    Signed,
    /// Two unsigned numbers.
    UnsignedUnsigned,
    /// A jump target.
    Target,
    /// An unsigned number and a jump target.
    UnsignedTarget,
    /// A signed number and a jump target.
    SignedTarget,
    /// A global variable.
    Global,
    /// A global variable and one of its fields.
    GlobalField,
    /// A C primitive.
    Primitive,
    /// A number of arguments and a C primitive.
    UnsignedPrimitive,
    /// The numbers of integers and tags, and a jump target for each.
    Switch,
    /// The numbers of functions and variables, and the target for each function.
    Functions,
    /// The hash of a method, and a word that the interpreter uses as a cache.
    Method,
}

/// Whether an instruction allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocates {
    /// Never.
    No,
    /// By itself each time, unless the result is empty.
    Itself,
    /// By itself sometimes: for a partial application, or an effect that is caught.
    Sometimes,
    /// If the C primitive that it calls does.
    Primitive,
}

macro_rules! opcodes {
    ($($name:ident $operands:ident $allocates:ident,)*) => {
        /// An instruction of the abstract machine, by its name in OCaml's runtime. Its numeric value is the
        /// number in the code.
        #[allow(missing_docs, reason = "OCaml's runtime says what each one does")]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "the runtime's names")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Opcode { $($name,)* }

        /// All opcodes, by number.
        const ALL: &[(Opcode, &str, Operands, Allocates)] = &[
            $((Opcode::$name, stringify!($name), Operands::$operands, Allocates::$allocates),)*
        ];
    };
}

opcodes! {
    ACC0 None No,
    ACC1 None No,
    ACC2 None No,
    ACC3 None No,
    ACC4 None No,
    ACC5 None No,
    ACC6 None No,
    ACC7 None No,
    ACC Unsigned No,
    PUSH None No,
    PUSHACC0 None No,
    PUSHACC1 None No,
    PUSHACC2 None No,
    PUSHACC3 None No,
    PUSHACC4 None No,
    PUSHACC5 None No,
    PUSHACC6 None No,
    PUSHACC7 None No,
    PUSHACC Unsigned No,
    POP Unsigned No,
    ASSIGN Unsigned No,
    ENVACC1 None No,
    ENVACC2 None No,
    ENVACC3 None No,
    ENVACC4 None No,
    ENVACC Unsigned No,
    PUSHENVACC1 None No,
    PUSHENVACC2 None No,
    PUSHENVACC3 None No,
    PUSHENVACC4 None No,
    PUSHENVACC Unsigned No,
    PUSH_RETADDR Target No,
    APPLY Unsigned No,
    APPLY1 None No,
    APPLY2 None No,
    APPLY3 None No,
    APPTERM UnsignedUnsigned No,
    APPTERM1 Unsigned No,
    APPTERM2 Unsigned No,
    APPTERM3 Unsigned No,
    RETURN Unsigned No,
    RESTART None No,
    GRAB Unsigned Sometimes,
    CLOSURE UnsignedTarget Itself,
    CLOSUREREC Functions Itself,
    OFFSETCLOSUREM3 None No,
    OFFSETCLOSURE0 None No,
    OFFSETCLOSURE3 None No,
    OFFSETCLOSURE Signed No,
    PUSHOFFSETCLOSUREM3 None No,
    PUSHOFFSETCLOSURE0 None No,
    PUSHOFFSETCLOSURE3 None No,
    PUSHOFFSETCLOSURE Signed No,
    GETGLOBAL Global No,
    PUSHGETGLOBAL Global No,
    GETGLOBALFIELD GlobalField No,
    PUSHGETGLOBALFIELD GlobalField No,
    SETGLOBAL Global No,
    ATOM0 None No,
    ATOM Unsigned No,
    PUSHATOM0 None No,
    PUSHATOM Unsigned No,
    MAKEBLOCK UnsignedUnsigned Itself,
    MAKEBLOCK1 Unsigned Itself,
    MAKEBLOCK2 Unsigned Itself,
    MAKEBLOCK3 Unsigned Itself,
    MAKEFLOATBLOCK Unsigned Itself,
    GETFIELD0 None No,
    GETFIELD1 None No,
    GETFIELD2 None No,
    GETFIELD3 None No,
    GETFIELD Unsigned No,
    GETFLOATFIELD Unsigned Itself,
    SETFIELD0 None No,
    SETFIELD1 None No,
    SETFIELD2 None No,
    SETFIELD3 None No,
    SETFIELD Unsigned No,
    SETFLOATFIELD Unsigned No,
    VECTLENGTH None No,
    GETVECTITEM None No,
    SETVECTITEM None No,
    GETBYTESCHAR None No,
    SETBYTESCHAR None No,
    BRANCH Target No,
    BRANCHIF Target No,
    BRANCHIFNOT Target No,
    SWITCH Switch No,
    BOOLNOT None No,
    PUSHTRAP Target No,
    POPTRAP None No,
    RAISE None No,
    CHECK_SIGNALS None No,
    C_CALL1 Primitive Primitive,
    C_CALL2 Primitive Primitive,
    C_CALL3 Primitive Primitive,
    C_CALL4 Primitive Primitive,
    C_CALL5 Primitive Primitive,
    C_CALLN UnsignedPrimitive Primitive,
    CONST0 None No,
    CONST1 None No,
    CONST2 None No,
    CONST3 None No,
    CONSTINT Signed No,
    PUSHCONST0 None No,
    PUSHCONST1 None No,
    PUSHCONST2 None No,
    PUSHCONST3 None No,
    PUSHCONSTINT Signed No,
    NEGINT None No,
    ADDINT None No,
    SUBINT None No,
    MULINT None No,
    DIVINT None No,
    MODINT None No,
    ANDINT None No,
    ORINT None No,
    XORINT None No,
    LSLINT None No,
    LSRINT None No,
    ASRINT None No,
    EQ None No,
    NEQ None No,
    LTINT None No,
    LEINT None No,
    GTINT None No,
    GEINT None No,
    OFFSETINT Signed No,
    OFFSETREF Signed No,
    ISINT None No,
    GETMETHOD None No,
    BEQ SignedTarget No,
    BNEQ SignedTarget No,
    BLTINT SignedTarget No,
    BLEINT SignedTarget No,
    BGTINT SignedTarget No,
    BGEINT SignedTarget No,
    ULTINT None No,
    UGEINT None No,
    BULTINT UnsignedTarget No,
    BUGEINT UnsignedTarget No,
    GETPUBMET Method No,
    GETDYNMET None No,
    STOP None No,
    EVENT None No,
    BREAK None No,
    RERAISE None No,
    RAISE_NOTRACE None No,
    GETSTRINGCHAR None No,
    PERFORM None Sometimes,
    RESUME None No,
    RESUMETERM Unsigned No,
    REPERFORMTERM Unsigned No,
}

impl Opcode {
    /// Its number in the code.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Its operands.
    pub fn operands(self) -> Operands {
        ALL.get(usize::from(self.number())).map_or(Operands::None, |row| row.2)
    }

    /// Whether it allocates.
    pub fn allocates(self) -> Allocates {
        ALL.get(usize::from(self.number())).map_or(Allocates::No, |row| row.3)
    }
}

/// The instructions of a range of OCaml versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionSet {
    /// The first and the last version with this set.
    pub versions: (Version, Version),
    /// The last opcode of the set.
    last: Opcode,
    /// Opcodes that had other names.
    renamed: &'static [(Opcode, &'static str)],
}

const fn from_to(first: (u8, u8), last: (u8, u8)) -> (Version, Version) {
    (Version::new(first.0, first.1), Version::new(last.0, last.1))
}

/// The differences between versions. Before 4.12 closures had one word less for each function, so the distance
/// to the next one was 2.
pub const INSTRUCTION_SETS: [InstructionSet; 3] = [
    InstructionSet {
        versions: from_to((4, 11), (4, 11)),
        last: Opcode::GETSTRINGCHAR,
        renamed: &[
            (Opcode::OFFSETCLOSUREM3, "OFFSETCLOSUREM2"),
            (Opcode::OFFSETCLOSURE3, "OFFSETCLOSURE2"),
            (Opcode::PUSHOFFSETCLOSUREM3, "PUSHOFFSETCLOSUREM2"),
            (Opcode::PUSHOFFSETCLOSURE3, "PUSHOFFSETCLOSURE2"),
        ],
    },
    InstructionSet {
        versions: from_to((4, 12), (4, 14)),
        last: Opcode::GETSTRINGCHAR,
        renamed: &[],
    },
    InstructionSet { versions: from_to((5, 0), (5, 5)), last: Opcode::REPERFORMTERM, renamed: &[] },
];

impl InstructionSet {
    /// The set of a version; None if it is unknown.
    pub fn of(version: Version) -> Option<&'static InstructionSet> {
        INSTRUCTION_SETS.iter().find(|set| {
            let (first, last) = set.versions;
            (first..=last).contains(&version)
        })
    }

    /// The opcode with a number.
    pub fn opcode(&self, number: u32) -> Option<Opcode> {
        let &(opcode, ..) = ALL.get(usize::try_from(number).ok()?)?;
        (opcode <= self.last).then_some(opcode)
    }

    /// The name of an opcode.
    pub fn name(&self, opcode: Opcode) -> &'static str {
        let renamed = self.renamed.iter().find(|(other, _)| *other == opcode).map(|row| row.1);
        renamed.or_else(|| ALL.get(usize::from(opcode.number())).map(|row| row.1)).unwrap_or("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_runtime() {
        for (opcode, number) in [
            (Opcode::ACC0, 0),
            (Opcode::RETURN, 40),
            (Opcode::MAKEBLOCK, 62),
            (Opcode::C_CALL1, 93),
            (Opcode::STOP, 143),
            (Opcode::GETSTRINGCHAR, 148),
            (Opcode::REPERFORMTERM, 152),
        ] {
            assert_eq!(opcode.number(), number, "{opcode:?}");
        }
        for (number, row) in ALL.iter().enumerate() {
            assert_eq!(usize::from(row.0.number()), number);
        }
    }

    #[test]
    fn versions_differ_as_the_table_says() {
        let set = |major, minor| InstructionSet::of(Version::new(major, minor));
        assert_eq!((set(4, 10), set(5, 9)), (None, None));
        let [old, four, five] = [(4, 11), (4, 13), (5, 3)].map(|(major, minor)| {
            set(major, minor).unwrap_or_else(|| panic!("{major}.{minor} is known"))
        });
        assert_eq!(old.name(Opcode::OFFSETCLOSURE3), "OFFSETCLOSURE2");
        assert_eq!(four.name(Opcode::OFFSETCLOSURE3), "OFFSETCLOSURE3");
        assert_eq!((four.opcode(149), five.opcode(149)), (None, Some(Opcode::PERFORM)));
        assert_eq!((five.opcode(153), five.opcode(u32::MAX)), (None, None));
    }
}
