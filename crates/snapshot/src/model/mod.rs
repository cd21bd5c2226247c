//! The contents of a snapshot, independent of their encoding.

mod group;
mod ids;
mod info;
mod names;
mod roots;
mod shape;
mod tables;

pub use group::{GROUP_BLOCKS, GroupFacts};
pub use ids::{
    BlockId, CodeId, CustomId, FrameId, ModuleId, NameId, StackId, ThreadId, VariableId,
};
pub use info::{CodeKind, Info, Reason, Skipped, SnapshotMethod};
pub use names::Names;
pub use roots::{
    Continuation, Ephemeron, FiberOwner, FiberStack, Finaliser, FinaliserKind, FinaliserPart,
    MODULES_OF_BYTECODE, Pointer, Root, RootKind, Sample, StackValue, WeakSlot,
};
pub use shape::{Columns, Scanned, tag};
pub use tables::{
    ClosureCode, Environment, FieldVariable, Frame, Label, Memory, Module, Number, Oddity,
    Sampling, SizeClass, SlotVariable, SnapshotLocation, Space, SpaceKind, StackNode, Statistic,
    Tables, Thread, Variable, Variables,
};
