//! Questions about traces, heap snapshots and live numbers, answered as plain data. Questions about snapshots
//! are in [`heap`], those about live numbers in [`live`].
//!
//! A question about a trace is a [`Filter`] (which objects) and a [`Measure`] (what to measure). Most answers
//! are derived from a [`Profile`], the measures of every distinct stack, which other modules sum by site or
//! function ([`top`]), turn into a call tree ([`call_tree`]), or compare with another trace ([`diff`]). Every
//! number has its only definition here; views merely display it.
//!
//! Guarantees: memory depends on the number of distinct stacks, one bit per object where its end matters, and
//! the number of simultaneously live objects where lifetimes or a timeline are requested; never on the number
//! of events. Callers with many questions keep the trace in columns ([`TraceQuestions`]), which takes some
//! bytes per object, within a budget. Estimates carry their error. Every answer includes what was lost in
//! reading.

mod budget;
mod by_type;
mod call_tree;
pub mod check;
mod diff;
mod estimate;
mod filter;
mod filter_options;
mod flame;
pub mod gc_rules;
pub mod heap;
mod hot_paths;
mod info;
mod labels;
pub mod library;
mod lifetimes;
pub mod live;
mod live_count;
mod measure;
mod objects;
mod parallel;
mod pass;
mod placed;
mod profile;
pub mod question;
mod rewrite;
mod selection;
mod sorted_rows;
mod source_lines;
mod stack_tree;
mod stack_walk;
mod stacks_options;
mod standard_library;
mod timeline;
mod top;
mod trace_file;
mod trace_questions;
mod trace_table;
mod under_way;
pub mod units;

pub use by_type::{TopTypes, TypeRow, top_types};
pub use call_tree::{Branch, CallTree, Direction, TreeAnswer, TreeQuestion, TreeShape, call_tree};
pub use diff::{Change, Delta, Diff, DiffAnswer, DiffQuestion, DiffSort, diff};
pub use estimate::{Estimate, Scale, Tally};
pub use filter::{Collected, Filter, FramePattern, Hidden, Live, Pattern};
pub use filter_options::{FilterOptions, ObjectHeap};
pub use flame::{
    Around, DiffFlameQuestion, Flame, FlameLabel, FlameQuestion, FlamesAroundQuestion, FrameOrigin,
    PathStep, around,
};
pub use hot_paths::{HotPath, HotPaths, HotPathsQuestion, hot_paths};
pub use info::{
    Contents, ContentsAnswer, ContentsQuestion, Info, InfoQuestion, RecorderInfo, contents, info,
};
pub use labels::{By, Label, LabelId, Labels};
pub use lifetimes::{
    LIFETIME_CLASSES, LifetimeRow, Lifetimes, LifetimesAnswer, LifetimesQuestion, LifetimesSort,
    SIZE_CLASSES, lifetimes,
};
pub use measure::{Measure, Metric, Of, Unit, keeps_little};
pub use pass::{Outcome, Visitor, run};
pub use profile::{Column, Profile};
pub use rewrite::{Changes, Rewritten, rewrite};
pub use selection::{Peak, Selection, find_peak};
pub use source_lines::{
    LineNumbers, LineStack, SourceAnswer, SourceQuestion, find_source, lines_of, stacks_through,
};
pub use stack_tree::{Recursion, StackId, StackTree};
pub use stacks_options::{MetricOption, StacksOptions};
pub use timeline::{
    Timeline, TimelineAnswer, TimelineInterval, TimelineQuestion, timeline, timeline_in,
};
pub use top::{Row, Top, TopAnswer, TopBy, TopByWhat, TopQuestion, TopSort, top};
pub use trace_file::{Progress, TraceFile};
pub use trace_questions::{Names, NamesQuestion, TraceQuestions};
pub use under_way::{Cancelled, StepProgress, UnderWay, wait_until};

/// The version of the JSON that `--json` prints, described in `docs/json.md`.
pub const SCHEMA_VERSION: u32 = 2;
