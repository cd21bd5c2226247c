//! Typed numbers, so that they cannot be confused.

macro_rules! ids {
    ($($(#[$about:meta])* $name:ident)*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The same number as an index.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// An entry of [`Table::units`](crate::Table::units).
    UnitId
    /// An entry of [`Table::types`](crate::Table::types).
    TypeId
    /// An entry of [`Table::declarations`](crate::Table::declarations).
    DeclarationId
    /// An entry of [`Table::extensions`](crate::Table::extensions).
    ExtensionId
    /// An entry of [`Table::layouts`](crate::Table::layouts).
    LayoutId
}
