//! Flame graphs as plain data: exactly what a picture of stacks shows.
//!
//! Frames are parallel lists, depth first, larger siblings before smaller ones. Frames that are too small to
//! be visible are omitted and counted, so that the size of the answer depends on what is shown, not on the
//! trace.

use std::collections::HashMap;

use bactrian_trace::{Origin, TraceInfo, origin_of};
use bactrian_types::written;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call_tree::{Branch, CallTree, Direction, TreeShape, call_tree};
use crate::diff::significant;
use crate::estimate::{Estimate, Tally};
use crate::filter::Pattern;
use crate::labels::{By, Label, LabelId, module_of};
use crate::measure::Measure;
use crate::placed::{Placed, placed};
use crate::profile::Profile;
use crate::question::{Answer, Evidence, FileNumber, Question, QuestionError, Text};
use crate::stack_tree::{StackId, StackTree};
use crate::stacks_options::StacksOptions;

/// Deeper calls are omitted from trees around a function.
const MAX_LEVELS: usize = 400;

/// Frames of a flame graph.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Flame {
    /// The program; absent in a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The total of the measure, including what is not shown.
    pub all: Estimate,
    /// What was measured.
    pub measure: Measure,
    /// The stack shown as the root, by its number; 0 is the root of all stacks.
    pub at: usize,
    /// The stacks from the root of all to the one shown as the root.
    pub path: Vec<PathStep>,
    /// Labels of frames.
    pub labels: Vec<FlameLabel>,
    /// For each frame, the index of its caller's frame; the root, which comes first, has its own.
    pub parent: Vec<u32>,
    /// For each frame, the index of its label.
    pub label: Vec<u32>,
    /// For each frame, what it allocates itself and in everything it calls, in the measure's unit.
    pub total: Vec<f64>,
    /// For each frame, what it allocates itself.
    pub own: Vec<f64>,
    /// For each frame, the number of its stack.
    pub id: Vec<u32>,
    /// For each frame, the number of callees left out.
    pub more: Vec<u32>,
    /// In a comparison: `total` in the earlier trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Vec<f64>>,
    /// In a comparison: whether `total` changed significantly; no more than 5 in 100 of the frames marked are due to chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub significant: Option<Vec<bool>>,
}

/// Flame graph: what is allocated, or live, in each frame and in everything it calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct FlameQuestion {
    /// The trace
    pub file: FileNumber,
    /// The stack to show as the root, by its number; 0 is the root of all stacks
    #[schemars(extend("x-value" = "STACK"))]
    pub at: usize,
    /// Leave out frames below this share of what is shown, in percent
    #[schemars(range(min = 0, max = 100), extend("x-value" = "PERCENT"))]
    pub min_share: f64,
    /// Which stacks
    #[serde(flatten)]
    pub stacks: StacksOptions,
}

/// Frames with a smaller share, in percent, are too small to be visible.
const MIN_SHARE: f64 = 0.05;

impl Default for FlameQuestion {
    fn default() -> FlameQuestion {
        FlameQuestion {
            file: FileNumber::default(),
            at: 0,
            min_share: MIN_SHARE,
            stacks: StacksOptions::default(),
        }
    }
}

impl Question for FlameQuestion {
    const NAME: &'static str = "trace/flame";
    const COMMAND: Option<&'static str> = Some("flame --output flame.svg");
    type Answer = Flame;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<Flame>, QuestionError> {
        let (trace, measured) = self.stacks.of(evidence, self.file)?;
        let flame = Flame::new(&measured.profile, self.at, self.min_share / 100.0);
        let at = self.at;
        let mut flame = flame
            .ok_or_else(|| QuestionError::Wrong(format!("at={at}: there is no such stack")))?;
        flame.program = Some(TraceInfo::text(&trace.trace().info().executable).into_owned());
        Ok(Answer::new(flame, [measured.profile.losses.into()]).with_notes(measured.notes))
    }
}

/// Flame graphs of the callers and the callees of a function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct FlamesAroundQuestion {
    /// The trace
    #[serde(default)]
    pub file: FileNumber,
    /// The function: a name, or /REGEX/
    pub focus: Text<Pattern>,
    /// Leave out frames below this share of what is shown, in percent
    #[serde(default = "min_share")]
    #[schemars(range(min = 0, max = 100), extend("x-value" = "PERCENT"))]
    pub min_share: f64,
    /// Which stacks
    #[serde(flatten)]
    pub stacks: StacksOptions,
}

fn min_share() -> f64 {
    MIN_SHARE
}

impl Question for FlamesAroundQuestion {
    const NAME: &'static str = "trace/around";
    const COMMAND: Option<&'static str> = Some("tree");
    type Answer = Around;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<Around>, QuestionError> {
        let (_, measured) = self.stacks.of(evidence, self.file)?;
        let around = around(&measured.profile, &self.focus, self.min_share / 100.0);
        Ok(Answer::new(around, [measured.profile.losses.into()]).with_notes(measured.notes))
    }
}

/// Flame graph of two traces: the later one, with how it differs from the earlier one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct DiffFlameQuestion {
    /// The earlier trace
    pub before: FileNumber,
    /// The later trace
    pub after: FileNumber,
    /// Leave out frames below this share of what is shown, in percent
    #[schemars(range(min = 0, max = 100), extend("x-value" = "PERCENT"))]
    pub min_share: f64,
    /// Which stacks
    #[serde(flatten)]
    pub stacks: StacksOptions,
}

impl Default for DiffFlameQuestion {
    fn default() -> DiffFlameQuestion {
        DiffFlameQuestion {
            before: FileNumber(0),
            after: FileNumber(1),
            min_share: MIN_SHARE,
            stacks: StacksOptions::default(),
        }
    }
}

impl Question for DiffFlameQuestion {
    const NAME: &'static str = "trace/diff-flame";
    const COMMAND: Option<&'static str> = Some("flame --output flame.svg");
    type Answer = Flame;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<Flame>, QuestionError> {
        let [before, after] = [evidence.trace(self.before)?, evidence.trace(self.after)?];
        let keep_little = || before.keeps_little() && after.keeps_little();
        let measure = self.stacks.metric.measure(keep_little);
        let before = self.stacks.profile(&before, measure)?;
        let after = self.stacks.profile(&after, measure)?;
        let flame = Flame::of_both(&before.profile, &after.profile, self.min_share / 100.0);
        let losses = [before.profile.losses.into(), after.profile.losses.into()];
        Ok(Answer::new(flame, losses).with_notes(after.notes))
    }
}

/// A stack on the path to the one that is shown as the root.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "FlameStep")]
pub struct PathStep {
    /// The number of the stack.
    pub id: u32,
    /// Its innermost frame.
    pub label: String,
}

/// Label of a frame, and what code it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FlameLabel {
    /// Its name.
    #[serde(flatten)]
    pub label: Label,
    /// The module of a function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// What code it belongs to; absent for the program's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<FrameOrigin>,
}

/// What code a frame belongs to, if not to the program's own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FrameOrigin {
    /// A library that is wrapped, or comes with the compiler.
    Library,
    /// The standard library.
    Stdlib,
    /// Primitives in C.
    C,
}

impl FlameLabel {
    /// The frame's label, made from a label of this grouping.
    pub fn new(label: &Label, by: By) -> FlameLabel {
        let is_named = !label.name.starts_with('[');
        let module = match by {
            By::Line | By::File => None,
            By::Site | By::Instruction | By::Function | By::Module => {
                is_named.then(|| written(module_of(&label.name)).into_owned())
            }
        };
        let file = label.file.as_deref().unwrap_or_default();
        let origin = match origin_of(&label.name, file) {
            Origin::Program => None,
            Origin::Library => Some(FrameOrigin::Library),
            Origin::Stdlib => Some(FrameOrigin::Stdlib),
            Origin::C => Some(FrameOrigin::C),
        };
        FlameLabel { label: label.clone(), module, origin: origin.filter(|_| is_named) }
    }

    fn whole() -> FlameLabel {
        let label = Label { name: "all".to_owned(), ..Label::default() };
        FlameLabel { label, module: None, origin: None }
    }
}

/// Flame graphs of the callers and the callees of a function.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "FlamesAround")]
pub struct Around {
    /// The total of the measure.
    pub all: Estimate,
    /// The share of the total that goes through the function.
    pub share: f64,
    /// What it calls.
    pub callees: Flame,
    /// Its callers, from the function outwards.
    pub callers: Flame,
}

impl Flame {
    /// The flame graph of a profile's first measure, from a stack downwards, without frames below `min_share`
    /// of it. None if there is no such stack.
    pub fn new(profile: &Profile, at: usize, min_share: f64) -> Option<Flame> {
        let (tree, column) = (&*profile.tree, profile.first());
        let root = tree.id(at)?;
        let totals = column.totals(tree);
        let value = |tally: Tally| column.estimate(tally).value;
        let size = |stack: StackId| totals[stack.index()].sum();
        let placed = placed(tree, root, min_share, size);
        let mut path: Vec<_> = std::iter::successors(Some(root), |&stack| {
            (stack != StackId::ROOT).then(|| tree.parent(stack))
        })
        .map(|stack| PathStep {
            id: stack.index() as u32,
            label: match stack {
                StackId::ROOT => FlameLabel::whole().label.name,
                stack => profile.labels.get(tree.label(stack)).written().into_owned(),
            },
        })
        .collect();
        path.reverse();
        let by = profile.labels.by();
        let label = |id: LabelId| FlameLabel::new(profile.labels.get(id), by);
        let mut flame = Flame::empty(column.estimate(totals[0]), column.measure);
        flame.at = at;
        flame.path = path;
        flame.draw(tree, &placed, label);
        let of = |of: &dyn Fn(StackId) -> Tally| -> Vec<f64> {
            placed.iter().map(|place| value(of(place.stack))).collect()
        };
        flame.total = of(&|stack| totals[stack.index()]);
        flame.own = of(&|stack| column.own(stack));
        Some(flame)
    }

    /// The flame graph of two profiles, whose stacks are matched by their labels. Totals are those of
    /// `after`, beside those of `before`. Frames that are small in both are omitted.
    pub fn of_both(before: &Profile, after: &Profile, min_share: f64) -> Flame {
        let mut union = Union::default();
        let by = after.labels.by();
        let (before_places, after_places) = (union.take_in(before, by), union.take_in(after, by));
        let sums = |profile: &Profile, places: &[StackId]| {
            let column = profile.first();
            let totals = column.totals(&profile.tree);
            let nothing = column.estimate(Tally::default());
            let mut sums = vec![(0.0, nothing); union.tree.len()];
            for (stack, place) in places.iter().enumerate() {
                let own = profile.tree.id(stack).map(|stack| column.own(stack));
                let own = column.estimate(own.unwrap_or_default()).value;
                sums[place.index()] = (own, column.estimate(totals[stack]));
            }
            sums
        };
        let (then, now) = (sums(before, &before_places), sums(after, &after_places));
        let larger = |stack: StackId| {
            let [then, now] = [&then, &now].map(|sums| sums[stack.index()].1.value);
            then.max(now)
        };
        let placed = placed(&union.tree, StackId::ROOT, min_share, larger);
        let column = after.first();
        let mut flame = Flame::empty(column.estimate(column.total()), column.measure);
        let whole = PathStep { id: 0, label: FlameLabel::whole().label.name };
        flame.path = vec![whole];
        flame.draw(&union.tree, &placed, |id| union.labels[id.index()].clone());
        let of = |sums: &[(f64, Estimate)]| -> (Vec<f64>, Vec<Estimate>) {
            placed.iter().map(|place| sums[place.stack.index()]).unzip()
        };
        let values = |totals: &[Estimate]| totals.iter().map(|total| total.value).collect();
        let (_, then) = of(&then);
        let (own, now) = of(&now);
        let changes: Vec<Estimate> =
            then.iter().zip(&now).map(|(then, now)| then.change_to(now)).collect();
        (flame.own, flame.total, flame.before) = (own, values(&now), Some(values(&then)));
        flame.significant = Some(significant(&changes));
        flame
    }

    fn empty(all: Estimate, measure: Measure) -> Flame {
        Flame {
            program: None,
            all,
            measure,
            at: 0,
            path: Vec::new(),
            labels: vec![FlameLabel::whole()],
            parent: Vec::new(),
            label: Vec::new(),
            total: Vec::new(),
            own: Vec::new(),
            id: Vec::new(),
            more: Vec::new(),
            before: None,
            significant: None,
        }
    }

    /// Writes the frames, except for their sizes. The first label is that of the root.
    fn draw(&mut self, tree: &StackTree, placed: &[Placed], label: impl Fn(LabelId) -> FlameLabel) {
        let mut known: HashMap<LabelId, u32> = HashMap::new();
        for &Placed { stack, parent, more } in placed {
            let place = match stack {
                StackId::ROOT => 0,
                stack => *known.entry(tree.label(stack)).or_insert_with(|| {
                    self.labels.push(label(tree.label(stack)));
                    self.labels.len() as u32 - 1
                }),
            };
            self.label.push(place);
            self.parent.push(parent);
            self.id.push(stack.index() as u32);
            self.more.push(more);
        }
    }

    /// Converts a call tree to frames.
    fn of_call_tree(tree: &CallTree, measure: Measure, by: By) -> Flame {
        let mut flame = Flame::empty(tree.all, measure);
        flame.path = vec![PathStep { id: 0, label: FlameLabel::whole().label.name }];
        // The sum of an empty iterator is minus zero; adding zero makes it positive.
        let total = tree.branches.iter().map(|branch| branch.total.value).sum::<f64>() + 0.0;
        flame.push(0, 0, (0.0, total), tree.left_out);
        let mut known: HashMap<&Label, u32> = HashMap::new();
        let mut open: Vec<(u32, &Branch)> =
            tree.branches.iter().rev().map(|branch| (0, branch)).collect();
        while let Some((parent, branch)) = open.pop() {
            let label = *known.entry(&branch.label).or_insert_with(|| {
                flame.labels.push(FlameLabel::new(&branch.label, by));
                flame.labels.len() as u32 - 1
            });
            let place = flame.parent.len() as u32;
            flame.push(parent, label, (branch.own.value, branch.total.value), branch.left_out);
            open.extend(branch.children.iter().rev().map(|child| (place, child)));
        }
        flame
    }

    fn push(&mut self, parent: u32, label: u32, (own, total): (f64, f64), more: usize) {
        self.id.push(self.parent.len() as u32);
        self.parent.push(parent);
        self.label.push(label);
        self.own.push(own);
        self.total.push(total);
        self.more.push(more as u32);
    }
}

/// What functions call and who calls them, without frames below `min_share` of the functions' total.
pub fn around(profile: &Profile, focus: &Pattern, min_share: f64) -> Around {
    let question = |direction, min_share, max_levels| TreeShape {
        direction,
        focus: Some(focus.clone()),
        min_share,
        max_levels,
    };
    // One level suffices for the functions' total.
    let share = call_tree(profile, &question(Direction::Callees, 0.0, 1)).share;
    let [callees, callers] = [Direction::Callees, Direction::Callers]
        .map(|direction| call_tree(profile, &question(direction, min_share * share, MAX_LEVELS)));
    let (measure, by) = (profile.first().measure, profile.labels.by());
    Around {
        all: callees.all,
        share,
        callees: Flame::of_call_tree(&callees, measure, by),
        callers: Flame::of_call_tree(&callers, measure, by),
    }
}

/// The stacks of several profiles in one tree, matched by their labels.
#[derive(Default)]
struct Union {
    tree: StackTree,
    labels: Vec<FlameLabel>,
    ids: HashMap<Label, LabelId>,
}

impl Union {
    /// Adds the stacks of a profile and returns where they are in the tree.
    fn take_in(&mut self, profile: &Profile, by: By) -> Vec<StackId> {
        let mut labels = Vec::with_capacity(profile.labels.len());
        for (_, label) in profile.labels.iter() {
            let next = LabelId::from_index(self.labels.len());
            let id = *self.ids.entry(label.clone()).or_insert(next);
            if id == next {
                self.labels.push(FlameLabel::new(label, by));
            }
            labels.push(id);
        }
        let mut places = vec![StackId::ROOT; profile.tree.len()];
        for stack in profile.tree.ids() {
            let outer = places[profile.tree.parent(stack).index()];
            let label = labels[profile.tree.label(stack).index()];
            places[stack.index()] = self.tree.child(outer, label);
        }
        places
    }
}
