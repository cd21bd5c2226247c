//! The tables that all threads share. The profiler stores a table as one array per field.

use bactrian_analysis::{StackId, StackTree};
use serde::Serialize;
use serde_json::{Value, json};

use crate::frames::{self, Frames};
use crate::functions::Functions;
use crate::path::every_stack;
use crate::stream::{Same, Stream};
use crate::strings::Strings;

/// The indices of stacks in the stack table.
#[derive(Clone, Copy, Debug)]
pub struct StackNumbers {
    /// The first stack of the table. The empty stack is included only if it has a frame to show.
    first: usize,
}

impl StackNumbers {
    pub fn new(frames: &Frames<'_>) -> StackNumbers {
        StackNumbers { first: usize::from(!frames.has_no_stack()) }
    }

    /// The index of a stack in the table.
    pub fn of(self, stack: StackId) -> usize {
        stack.index().saturating_sub(self.first)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shared<S> {
    stack_table: S,
    frame_table: FrameTable,
    func_table: FuncTable,
    sources: Sources,
    string_array: Vec<String>,
    resource_table: Value,
    native_symbols: Value,
}

#[derive(Serialize)]
struct StackTable<F, P> {
    length: usize,
    frame: F,
    prefix: P,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FrameTable {
    length: usize,
    func: Vec<usize>,
    line: Vec<Option<u32>>,
    column: Vec<Option<u32>>,
    /// There are no machine addresses.
    address: Same<i32>,
    inline_depth: Same<u32>,
    category: Same<u32>,
    subcategory: Same<u32>,
    native_symbol: Same<()>,
    #[serde(rename = "innerWindowID")]
    inner_window_id: Same<()>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FuncTable {
    length: usize,
    name: Vec<usize>,
    source: Vec<Option<usize>>,
    #[serde(rename = "isJS")]
    is_js: Same<bool>,
    #[serde(rename = "relevantForJS")]
    relevant_for_js: Same<bool>,
    resource: Same<i32>,
    line_number: Same<()>,
    column_number: Same<()>,
}

#[derive(Serialize)]
struct Sources {
    length: usize,
    uuid: Same<()>,
    filename: Vec<usize>,
}

pub fn shared_tables<'a>(
    tree: &'a StackTree,
    frames: &'a Frames<'a>,
    numbers: StackNumbers,
) -> impl Serialize + 'a {
    let functions = Functions::new(frames);
    let mut strings = Strings::default();
    let mut files = Strings::default();
    let func_table = FuncTable {
        length: functions.all.len(),
        name: functions.all.iter().map(|function| strings.number(function.name)).collect(),
        source: functions.all.iter().map(|f| f.file.map(|file| files.number(file))).collect(),
        is_js: Same(false, functions.all.len()),
        relevant_for_js: Same(false, functions.all.len()),
        resource: Same(-1, functions.all.len()),
        line_number: Same((), functions.all.len()),
        column_number: Same((), functions.all.len()),
    };
    let sources = Sources {
        length: files.all().len(),
        uuid: Same((), files.all().len()),
        filename: files.all().iter().map(|file| strings.number(file)).collect(),
    };
    Shared {
        stack_table: stack_table(tree, frames, numbers),
        frame_table: frame_table(frames, functions.of_frames),
        func_table,
        sources,
        string_array: strings.all().iter().map(|&text| text.to_owned()).collect(),
        resource_table: json!({ "length": 0, "name": [], "host": [], "type": [], "lib": [] }),
        native_symbols: json!({
            "length": 0,
            "libIndex": [],
            "address": [],
            "name": [],
            "functionSize": [],
        }),
    }
}

fn stack_table<'a>(
    tree: &'a StackTree,
    frames: &'a Frames<'a>,
    numbers: StackNumbers,
) -> impl Serialize + 'a {
    let stacks = move || every_stack(tree).skip(numbers.first);
    let prefix = move |stack| {
        let outer = tree.parent(stack);
        (outer != StackId::ROOT).then(|| numbers.of(outer))
    };
    StackTable {
        length: tree.len() - numbers.first,
        frame: Stream(move || stacks().map(|stack| frames.innermost(stack))),
        prefix: Stream(move || stacks().map(prefix)),
    }
}

fn frame_table(frames: &Frames<'_>, functions: Vec<usize>) -> FrameTable {
    let length = functions.len();
    FrameTable {
        length,
        func: functions,
        line: frames.iter().map(|label| label.line).collect(),
        column: frames.iter().map(frames::column).collect(),
        address: Same(-1, length),
        inline_depth: Same(0, length),
        category: Same(0, length),
        subcategory: Same(0, length),
        native_symbol: Same((), length),
        inner_window_id: Same((), length),
    }
}
