//! Functions on the graph that SQL cannot express: what a block dominates and reaches, and how roots hold it.
//!
//! With several snapshots, the file is the second argument.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use bactrian::query::OpenedFile;
use bactrian_analysis::heap::{Heap, PathRow, PathStep, paths};
use datafusion::arrow::array::{Array, ArrayRef, Int64Array, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::datasource::MemTable;
use datafusion::logical_expr::{ColumnarValue, Expr, Volatility, create_udf};
use datafusion::prelude::SessionContext;

const WORD: u64 = 8;

/// The number of a block.
type Node = u32;
/// A table of blocks, given by one block.
type TableOf = fn(&Heap, Node) -> Result<RecordBatch>;

/// Names of functions, for completion.
pub const NAMES: [&str; 4] = ["path", "dominated_by", "reachable", "paths_to_roots"];

/// The open snapshots.
#[derive(Clone)]
struct Heaps(Arc<[(String, Arc<Heap>)]>);

impl Heaps {
    /// The snapshot of this name, or the only one.
    fn named(&self, name: Option<&str>) -> Result<&Heap> {
        match (&*self.0, name) {
            ([(_, heap)], None) => Ok(heap),
            ([], _) => plan_err!("this is a function of snapshots, and there is none"),
            (all, Some(name)) => match all.iter().find(|(known, _)| known == name) {
                Some((_, heap)) => Ok(heap),
                None => plan_err!("there is no snapshot {name:?}"),
            },
            (all, None) => {
                plan_err!("there are several snapshots: say which, as (1234, {:?})", all[0].0)
            }
        }
    }
}

/// A block of a heap.
fn block(heap: &Heap, id: i64) -> Result<Node> {
    match Node::try_from(id) {
        Ok(node) if (node as usize) < heap.blocks() => Ok(node),
        _ => plan_err!("there is no block {id}: there are {}", heap.blocks()),
    }
}

/// Registers all functions.
pub fn register(context: &SessionContext, files: &[OpenedFile]) {
    let heaps = files.iter().filter_map(|file| Some((file.name.clone(), file.heap.clone()?)));
    let heaps = Heaps(heaps.collect());
    let tables: [(&'static str, TableOf); 3] = [
        ("dominated_by", dominated_by),
        ("reachable", reachable),
        ("paths_to_roots", paths_to_roots),
    ];
    for (name, of) in tables {
        context.register_udtf(name, Arc::new(OfBlock { name, heaps: heaps.clone(), of }));
    }
    let mut arguments = vec![DataType::Int64];
    if heaps.0.len() > 1 {
        arguments.push(DataType::Utf8View);
    }
    let path = move |arguments: &[ColumnarValue]| paths_of(&heaps, arguments);
    context.register_udf(create_udf(
        "path",
        arguments,
        DataType::Utf8View,
        Volatility::Immutable,
        Arc::new(path),
    ));
}

/// A function of a block that returns a table.
struct OfBlock {
    name: &'static str,
    heaps: Heaps,
    of: TableOf,
}

impl fmt::Debug for OfBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl TableFunctionImpl for OfBlock {
    fn call_with_args(
        &self,
        arguments: TableFunctionArgs<'_, '_>,
    ) -> Result<Arc<dyn TableProvider>> {
        let (id, file) = match arguments.exprs() {
            [id] => (whole(id), None),
            [
                id,
                Expr::Literal(ScalarValue::Utf8(Some(file)) | ScalarValue::Utf8View(Some(file)), _),
            ] => (whole(id), Some(file.as_str())),
            _ => (None, None),
        };
        let Some(id) = id else {
            return plan_err!("{} takes the number of a block, as {}(1234)", self.name, self.name);
        };
        let heap = self.heaps.named(file)?;
        let rows = (self.of)(heap, block(heap, id)?)?;
        Ok(Arc::new(MemTable::try_new(rows.schema(), vec![vec![rows]])?))
    }
}

fn whole(argument: &Expr) -> Option<i64> {
    match argument {
        Expr::Literal(ScalarValue::Int64(number), _) => *number,
        _ => None,
    }
}

/// Blocks with their distances.
fn lines(heap: &Heap, how_far: &str, found: &[(Node, u64)]) -> Result<RecordBatch> {
    let whole = |of: &dyn Fn(Node) -> u64| -> ArrayRef {
        let numbers = found.iter().map(|(node, _)| i64::try_from(of(*node)).unwrap_or(i64::MAX));
        Arc::new(Int64Array::from_iter_values(numbers))
    };
    let far = found.iter().map(|(_, far)| i64::try_from(*far).unwrap_or(i64::MAX));
    let titles: Vec<String> = heap.classes().iter().map(|class| class.title()).collect();
    let class_of = heap.class_of();
    let class =
        |node: Node| titles.get(class_of[node as usize] as usize).map_or("", String::as_str);
    let words = heap.weights();
    Ok(RecordBatch::try_from_iter([
        ("id", whole(&u64::from)),
        (how_far, Arc::new(Int64Array::from_iter_values(far)) as ArrayRef),
        (
            "class",
            Arc::new(StringViewArray::from_iter_values(found.iter().map(|(node, _)| class(*node)))),
        ),
        ("words", whole(&|node| words.get(node as usize).copied().unwrap_or(0).into())),
        ("retained", whole(&|node| heap.retained_words(node).saturating_mul(WORD))),
    ])?)
}

/// What a block dominates, including itself.
fn dominated_by(heap: &Heap, node: Node) -> Result<RecordBatch> {
    let tree = heap.dominator_tree();
    let mut found = vec![(node, 0)];
    let mut at = 0;
    while let Some(&(node, depth)) = found.get(at) {
        found.extend(tree.children(node).iter().map(|child| (*child, depth + 1)));
        at += 1;
    }
    lines(heap, "depth", &found)
}

/// What can be reached from a block, including itself.
fn reachable(heap: &Heap, node: Node) -> Result<RecordBatch> {
    let mut is_found = vec![false; heap.blocks()];
    is_found[node as usize] = true;
    let mut found = Vec::new();
    let mut waiting = VecDeque::from([(node, 0)]);
    while let Some((node, distance)) = waiting.pop_front() {
        found.push((node, distance));
        for &to in heap.graph().successors(node) {
            if let Some(seen @ false) = is_found.get_mut(to as usize) {
                *seen = true;
                waiting.push_back((to, distance + 1));
            }
        }
    }
    lines(heap, "distance", &found)
}

/// How roots hold a block: the steps of paths that differ, from the root on.
fn paths_to_roots(heap: &Heap, node: Node) -> Result<RecordBatch> {
    let found = paths(heap, node).rows;
    let mut steps: Vec<&PathStep> = Vec::new();
    let mut numbers: [Vec<i64>; 3] = Default::default();
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    for (path, PathRow { count, steps: of, .. }) in found.iter().enumerate() {
        for (at, step) in of.iter().enumerate() {
            for (column, number) in numbers.iter_mut().zip([path as u64, *count, at as u64]) {
                column.push(whole(number));
            }
            steps.push(step);
        }
    }
    let text = |of: fn(&PathStep) -> &str| -> ArrayRef {
        Arc::new(StringViewArray::from_iter_values(steps.iter().map(|step| of(step))))
    };
    let is_block = |node: Node| (node as usize) < heap.blocks();
    let ids = steps.iter().map(|step| is_block(step.node).then(|| i64::from(step.node)));
    let [paths, alike, positions] =
        numbers.map(|column| -> ArrayRef { Arc::new(Int64Array::from(column)) });
    let schema = Schema::new(vec![
        Field::new("path", DataType::Int64, false),
        Field::new("alike", DataType::Int64, false),
        Field::new("step", DataType::Int64, false),
        Field::new("id", DataType::Int64, true),
        Field::new("held_by", DataType::Utf8View, false),
        Field::new("what", DataType::Utf8View, false),
    ]);
    Ok(RecordBatch::try_new(
        Arc::new(schema),
        vec![
            paths,
            alike,
            positions,
            Arc::new(ids.collect::<Int64Array>()),
            text(|step| &step.step),
            text(|step| &step.what),
        ],
    )?)
}

/// The shortest path to each block.
fn paths_of(heaps: &Heaps, arguments: &[ColumnarValue]) -> Result<ColumnarValue> {
    let arrays = ColumnarValue::values_to_arrays(arguments)?;
    let ids = arrays[0].as_any().downcast_ref::<Int64Array>();
    let files = arrays.get(1).and_then(|it| it.as_any().downcast_ref::<StringViewArray>());
    let Some(ids) = ids else {
        return plan_err!("path takes the number of a block, as path(1234)");
    };
    let path = |at: usize| -> Result<Option<String>> {
        if ids.is_null(at) {
            return Ok(None);
        }
        let heap = heaps.named(files.map(|files| files.value(at)))?;
        let found = paths(heap, block(heap, ids.value(at))?).rows;
        Ok(found.first().map(|row| {
            let steps = row.steps.iter().map(|PathStep { step, what, .. }| match step.is_empty() {
                true => what.clone(),
                false => format!("{step}: {what}"),
            });
            steps.collect::<Vec<_>>().join(" → ")
        }))
    };
    let told = (0..ids.len()).map(path).collect::<Result<Vec<_>>>()?;
    Ok(ColumnarValue::Array(Arc::new(StringViewArray::from_iter(told))))
}
