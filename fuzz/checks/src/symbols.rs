//! The promises of names made from symbols, checked on arbitrary text.

use bactrian_ocaml::symbol;

/// What a name may have more than its symbol, which has `caml`: parentheses and a dot.
const MORE: usize = 4;

/// Makes a name of `symbol` and checks what holds for any input.
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
