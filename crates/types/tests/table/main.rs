//! Tables of types: they read back as written, and damaged ones are rejected.

mod everything;

use bactrian_types::{
    ExtensionId, LayoutId, ModuleItem, Table, Type, TypeId, TypeTableError, UnitId,
};
use everything::everything;

#[test]
fn tables_round_trip() {
    let table = everything();
    assert_eq!(Table::read(&table.to_bytes()), Ok(table));
    assert_eq!(Table::read(&Table::default().to_bytes()), Ok(Table::default()));
}

#[test]
fn damaged_tables_are_rejected() {
    let bytes = everything().to_bytes();
    for cut in 0..bytes.len() {
        assert!(Table::read(&bytes[..cut]).is_err(), "cut at {cut}");
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        assert!(Table::read(&changed).is_err(), "changed at {at}");
    }
    assert_eq!(Table::read(b"something else"), Err(TypeTableError::NotATable));
}

#[test]
fn invalid_numbers_are_rejected() {
    let wrong = |change: &dyn Fn(&mut Table)| {
        let mut table = everything();
        change(&mut table);
        match Table::read(&table.to_bytes()) {
            Err(TypeTableError::Wrong(_, what)) => what,
            other => panic!("{other:?}"),
        }
    };
    let later = Type::Tuple(vec![TypeId(3)]);
    assert_eq!(
        wrong(&|table| table.types[3] = later.clone()),
        "a type that is made of a later one"
    );
    assert_eq!(
        wrong(&|table| table.declarations[1].arity = 2),
        "a type with too few or too many arguments"
    );
    assert_eq!(wrong(&|table| table.sites[0].of = TypeId(99)), "a type that does not exist");
    assert_eq!(wrong(&|table| table.variables[0].unit = UnitId(1)), "a unit that does not exist");
    assert_eq!(wrong(&|table| table.functions[0].unit = UnitId(1)), "a unit that does not exist");
    let nowhere = Some(TypeId(1_000_000));
    assert_eq!(
        wrong(&|table| table.functions[0].captured[0].of = nowhere),
        "a type that does not exist"
    );
    let nothing = ModuleItem::Extension(ExtensionId(1));
    assert_eq!(
        wrong(&|table| table.variables[0].item = nothing.clone()),
        "a constructor that does not exist"
    );
    assert_eq!(wrong(&|table| table.layouts[0].public = 9), "a module with too few fields");
    assert_eq!(
        wrong(&|table| table.units[0].layout = Some(LayoutId(1))),
        "a layout that does not exist"
    );
}
