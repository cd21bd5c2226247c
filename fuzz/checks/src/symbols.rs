//! The promises of the translation of symbols, checked on arbitrary text.

use bactrian_ocaml::symbol;

/// How much longer than its symbol, which includes `caml`, a name may be: parentheses and a dot.
const MORE: usize = 4;

/// Translates `symbol` and checks what must hold for any input.
pub fn check(symbol: &str) {
    let mut name = String::new();
    symbol::write_name(symbol, &mut name).expect("strings take all that is written");
    match symbol::unit(symbol) {
        Some(unit) => {
            assert!(name.starts_with(unit), "{name:?} is not in {unit:?}");
            assert!(name.len() <= symbol.len() + MORE, "{name:?} is longer than its symbol");
        }
        None => assert_eq!(name, symbol),
    }
    assert_eq!(symbol::is_ocaml(symbol), symbol::unit(symbol).is_some());
}
