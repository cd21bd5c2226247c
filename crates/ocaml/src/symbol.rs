//! Translates linker symbols to the names that debug information uses: `camlStdlib__List__map_123` is
//! `Stdlib__List.map`.
//!
//! The compiler makes a symbol from the name of the compilation unit and the name of a function in it:
//!
//! | symbol | OCaml versions | meaning |
//! |---|---|---|
//! | `camlStdlib__List__map_123` | before 5.1 | function map, with a number that makes it unique |
//! | `camlStdlib__List.map_123` | 5.1 and later | the same; `$` if the assembler does not accept dots |
//! | `camlStdlib__list__map_123` | 4.07 to 4.12 | the same: units of the standard library were in lower case |
//! | `camlFoo__map_12_34_code` | flambda | function map of Foo |
//! | `camlFoo__f$27_12` | all | f': characters that assemblers do not accept are in hexadecimal |
//! | `camlFoo__fun_12` | all | an anonymous function |
//! | `camlFoo__entry` | all | what the unit does when it is loaded |
//!
//! Two underscores may also occur in the name of a unit (a library and its module, such as `Stdlib__List`) and
//! of a function. Modules begin with a capital letter and functions do not, except for functors; those end in a
//! number, which distinguishes them. Symbols do not contain modules within a unit. Symbols with the prefix
//! `caml_` belong to the runtime and are left unchanged.
//!
//! The names are those that the runtime gives to frames with debug information, so that a function has the same
//! name in a trace whether it was compiled with `-g` or not.

use core::fmt;

/// Before 5.1. Since then a dot, or a dollar.
const OLD_SEPARATOR: &str = "__";
const ENTRY: &str = "entry";
/// Names that every unit has, without a number.
const OF_EVERY_UNIT: &[&str] =
    &[ENTRY, "code_begin", "code_end", "data_begin", "data_end", "frametable", "gc_roots"];
/// First parts of units that may continue in lower case.
const THEN_LOWER_CASE: &[&str] = &["Stdlib", "Dune"];

/// Whether OCaml's compiler made this symbol. Others come from C, or belong to the runtime.
pub fn is_ocaml(symbol: &str) -> bool {
    split(symbol).is_some()
}

/// Whether OCaml's linker made this function, to apply others to fewer or more arguments than they take at
/// once: `caml_curry3_1`, `caml_tuplify2`, `caml_apply4`, `caml_send2`.
pub fn is_stub(symbol: &str) -> bool {
    let kinds = ["caml_curry", "caml_tuplify", "caml_apply", "caml_send"];
    let rest = kinds.iter().find_map(|kind| symbol.strip_prefix(kind));
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The compilation unit of a symbol that OCaml's compiler made.
pub fn unit(symbol: &str) -> Option<&str> {
    split(symbol).map(|(unit, _)| unit)
}

/// Writes the name that `symbol` stands for. Symbols that OCaml's compiler did not make are written unchanged.
///
/// # Errors
/// Those of `out`.
pub fn write_name(symbol: &str, out: &mut impl fmt::Write) -> fmt::Result {
    let Some((unit, name)) = split(symbol) else { return out.write_str(symbol) };
    out.write_str(unit)?;
    match name.map(without_numbers) {
        // The runtime has no function name either for code that runs when a unit is loaded.
        None | Some(ENTRY) => Ok(()),
        Some("fun") => out.write_str(".(fun)"),
        Some(name) if Unescaped(name).next().is_some_and(is_operator) => {
            out.write_str(".(")?;
            Unescaped(name).try_for_each(|c| out.write_char(c))?;
            out.write_char(')')
        }
        Some(name) => {
            out.write_char('.')?;
            Unescaped(name).try_for_each(|c| out.write_char(c))
        }
    }
}

/// The unit, and the name within it if there is one.
fn split(symbol: &str) -> Option<(&str, Option<&str>)> {
    let symbol = symbol.strip_prefix("caml").filter(|rest| begins_module(rest))?;
    if let Some((unit, name)) = symbol.split_once('.') {
        return Some((unit, Some(name)));
    }
    let dollars = symbol.match_indices('$').map(|(at, _)| at);
    for at in dollars {
        if let (unit, Some(rest)) = (symbol.get(..at)?, symbol.get(at..))
            && escaped(rest).is_none()
        {
            return Some((unit, rest.get(1..)));
        }
    }
    let mut from = 0;
    while let Some(length) = symbol.get(from..)?.find(OLD_SEPARATOR) {
        let end = from + length;
        let (unit, name) = (symbol.get(..end)?, symbol.get(end + OLD_SEPARATOR.len()..)?);
        let goes_on = is_module(name) || THEN_LOWER_CASE.contains(&unit) && is_lower_module(name);
        if !goes_on {
            return Some((unit, Some(name)));
        }
        from = end + OLD_SEPARATOR.len();
    }
    Some((symbol, None))
}

fn begins_module(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Whether the next part of a symbol still belongs to the unit. Functors begin with a capital letter too, but
/// end in a number like all functions.
fn is_module(text: &str) -> bool {
    begins_module(text) && (text.contains(OLD_SEPARATOR) || without_number(text) == text)
}

/// Whether the next part of a symbol still belongs to a unit in lower case.
fn is_lower_module(text: &str) -> bool {
    let (module, _) = text.split_once(OLD_SEPARATOR).unwrap_or((text, ""));
    module.starts_with(|c: char| c.is_ascii_lowercase())
        && !OF_EVERY_UNIT.contains(&module)
        && without_number(module) == module
}

/// The name without what makes it unique: `map_12` becomes `map`, and so does `map_12_34_code`.
fn without_numbers(name: &str) -> &str {
    let flambda = name.strip_suffix("_code").or_else(|| name.strip_suffix("_closure"));
    match flambda.map(without_number).filter(|rest| Some(*rest) != flambda) {
        Some(rest) => without_number(rest),
        None => without_number(name),
    }
}

fn without_number(name: &str) -> &str {
    match name.rsplit_once('_') {
        Some((rest, number)) if !rest.is_empty() && is_number(number) => rest,
        _ => name,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_operator(c: char) -> bool {
    c.is_ascii_punctuation() && c != '_'
}

/// The characters of a name, unescaped.
struct Unescaped<'a>(&'a str);

impl Iterator for Unescaped<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let (c, length) = match escaped(self.0) {
            Some(found) => found,
            None => self.0.chars().next().map(|c| (c, c.len_utf8()))?,
        };
        self.0 = self.0.get(length..).unwrap_or("");
        Some(c)
    }
}

/// The character that an escape at the beginning of `text` stands for, and the escape's length.
///
/// A dollar may also separate unit and name, and what follows may look like a number (`camlFoo$add_12`). But
/// escapes stand for punctuation, or for all UTF-8 bytes of a letter, and no name looks like that.
fn escaped(text: &str) -> Option<(char, usize)> {
    const LENGTH: usize = 3;
    let mut escapes = text.as_bytes().as_chunks::<LENGTH>().0.iter().map_while(|escape| {
        let [b'$', high, low] = escape else { return None };
        let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|d| u8::try_from(d).ok());
        Some(digit(high)? << 4 | digit(low)?)
    });
    let first = escapes.next()?;
    if first.is_ascii() {
        return is_operator(char::from(first)).then_some((char::from(first), LENGTH));
    }
    let mut bytes = [first, 0, 0, 0];
    for length in 2..=bytes.len() {
        *bytes.get_mut(length - 1)? = escapes.next()?;
        if let Some(Ok(letter)) = bytes.get(..length).map(str::from_utf8) {
            return letter.chars().next().map(|c| (c, length * LENGTH));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    extern crate std;
    use std::string::String;

    fn name(symbol: &str) -> String {
        let mut out = String::new();
        write_name(symbol, &mut out).expect("strings take all");
        out
    }

    #[test]
    fn symbols_become_names() {
        let table = [
            // 4.13 and before.
            ("camlStdlib__List__map_123", "Stdlib__List.map"),
            ("camlStdlib__print_string_269", "Stdlib.print_string"),
            ("camlA__f_82", "A.f"),
            ("camlStdlib__Sys__fun_304", "Stdlib__Sys.(fun)"),
            ("camlStdlib__Sys__entry", "Stdlib__Sys"),
            ("camlStdlib__Sys", "Stdlib__Sys"),
            ("camlStdlib__Sys__1", "Stdlib__Sys.1"),
            ("camlStdlib__$5e_135", "Stdlib.(^)"),
            ("camlAsmgen__$2b$2b_1322", "Asmgen.(++)"),
            ("camlCamlinternalFormat__k$27_3650", "CamlinternalFormat.k'"),
            ("camlEmit__mem__imp_1097", "Emit.mem__imp"),
            ("camlLexer____ocaml_lex_comment_rec_1138", "Lexer.__ocaml_lex_comment_rec"),
            ("camlDune__exe__Main__load_12", "Dune__exe__Main.load"),
            ("camlDune__exe__entry", "Dune__exe"),
            ("camlDune__exe", "Dune__exe"),
            ("camlWhy3__Mltree__fun_5919", "Why3__Mltree.(fun)"),
            ("camlFoo__bar_2_17", "Foo.bar_2"),
            ("camlStdlib__Hashtbl__Make_951", "Stdlib__Hashtbl.Make"),
            ("camlMain__Body_447", "Main.Body"),
            ("camlLib__Part_2__f_12", "Lib__Part_2.f"),
            // The standard library in lower case.
            ("camlStdlib__list__map_123", "Stdlib__list.map"),
            ("camlStdlib__sys", "Stdlib__sys"),
            ("camlStdlib__sys__entry", "Stdlib__sys"),
            ("camlStdlib__int32__abs_12", "Stdlib__int32.abs"),
            ("camlStdlib__entry", "Stdlib"),
            // 5.1 and later.
            ("camlStdlib__List.map_123", "Stdlib__List.map"),
            ("camlAst_helper.effect__12", "Ast_helper.effect_"),
            ("camlStdlib__Hashtbl.Make_951", "Stdlib__Hashtbl.Make"),
            ("camlLexer.__ocaml_lex_comment_rec_1138", "Lexer.__ocaml_lex_comment_rec"),
            ("camlAsmgen.$2b$2b_1322", "Asmgen.(++)"),
            ("camlCtype.add_nongen_vars_in_schema$27_5290", "Ctype.add_nongen_vars_in_schema'"),
            ("camlMain.\u{24}c3\u{24}a9t\u{24}c3\u{24}a9_12", "Main.été"),
            ("camlCcomp.fun_12", "Ccomp.(fun)"),
            ("camlCcomp.entry", "Ccomp"),
            // With dollars instead of dots, even if what follows looks like a number.
            ("camlFoo$bar_12", "Foo.bar"),
            ("camlFoo$create_12", "Foo.create"),
            ("camlFoo$cell_12", "Foo.cell"),
            ("camlFoo$f$27_12", "Foo.f'"),
            ("camlStdlib$$5e_135", "Stdlib.(^)"),
            // Flambda.
            ("camlFoo__bar_12_34_code", "Foo.bar"),
            ("camlFoo.bar_12_34_code", "Foo.bar"),
            ("camlFoo__zip_code_34", "Foo.zip_code"),
            ("camlFoo__zip_code_34_56_code", "Foo.zip_code"),
            ("camlFoo__bar_12_34_closure", "Foo.bar"),
        ];
        for (symbol, expected) in table {
            assert_eq!(name(symbol), expected, "{symbol}");
            assert!(is_ocaml(symbol), "{symbol}");
        }
    }

    #[test]
    fn other_names_stay_as_they_are() {
        for symbol in [
            "caml_startup",
            "caml_curry3_1",
            "caml_apply2",
            "caml_startup__frametable",
            "main",
            "camlp4",
            "caml",
            "",
            "__libc_start_main",
            "_ZN4core3fmt9Formatter3padE",
            "été",
        ] {
            assert_eq!(name(symbol), symbol);
            assert!(!is_ocaml(symbol), "{symbol}");
            let is_stub = is_stub(symbol);
            assert_eq!(is_stub, ["caml_curry3_1", "caml_apply2"].contains(&symbol), "{symbol}");
        }
    }

    #[test]
    fn odd_symbols_do_not_panic() {
        for symbol in [
            "camlA$",
            "camlA$$",
            "camlA.",
            "camlA__",
            "camlA____",
            "camlA$c3",
            "camlA._1",
            "camlA$é",
        ] {
            assert!(name(symbol).starts_with('A'), "{symbol}");
        }
    }
}
