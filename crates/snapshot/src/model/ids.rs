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
    /// A block. Blocks are numbered from 0 in the order of their addresses.
    BlockId
    /// A text of [`Names`](crate::Names). Number 0 is the empty text, which stands for "not known".
    NameId
    /// An entry of [`Tables::modules`](crate::Tables::modules).
    ModuleId
    /// An entry of [`Tables::threads`](crate::Tables::threads).
    ThreadId
    /// An entry of [`Tables::frames`](crate::Tables::frames).
    FrameId
    /// An entry of [`Tables::codes`](crate::Tables::codes).
    CodeId
    /// An entry of [`Tables::customs`](crate::Tables::customs).
    CustomId
    /// An entry of [`Tables::stacks`](crate::Tables::stacks).
    StackId
    /// An entry of [`Variables::all`](crate::Variables::all).
    VariableId
}
