//! Questions about single blocks and lists of them, and the resolution of what users type.

use std::cmp::Reverse;

use bactrian_graph::Node;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{
    BlockGroup, BlockRow, BlocksShape, Condition, Found, Shown, ValueLimits, block_groups, blocks,
    copies, show,
};
use super::answer;
use crate::question::{Answer, Evidence, FileNumber, Limit, Question, QuestionError, Rows};

/// One block or root: its contents, what points to it, where it was allocated.
///
/// With a table of types, the block is printed as an OCaml value, as far as the snapshot keeps its contents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ShowQuestion {
    /// The heap snapshot
    #[serde(default)]
    pub file: FileNumber,
    /// The block: 0xADDRESS, @NUMBER, or a module or value of one (Main.table, Main.3)
    pub block: String,
    /// How many fields, and how many of the blocks that point to it; 0 for all
    #[serde(default = "rows")]
    #[schemars(with = "Limit")]
    pub number: usize,
    /// Levels of the printed value
    #[serde(default = "levels")]
    #[schemars(extend("x-value" = "LEVELS"))]
    pub depth: usize,
    /// Elements of each list, array or block in the printed value
    #[serde(default = "items")]
    #[schemars(extend("x-value" = "COUNT"))]
    pub items: usize,
}

fn rows() -> usize {
    20
}

fn levels() -> usize {
    4
}

fn items() -> usize {
    10
}

impl ShowQuestion {
    /// About this block of the first file.
    pub fn of(block: &str) -> ShowQuestion {
        ShowQuestion {
            file: FileNumber::default(),
            block: block.to_owned(),
            number: rows(),
            depth: levels(),
            items: items(),
        }
    }
}

impl Question for ShowQuestion {
    const NAME: &'static str = "heap/show";
    const COMMAND: Option<&'static str> = Some("heap show");
    type Answer = Shown;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<Shown>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let node = heap.find_node(&self.block)?;
        let limits = ValueLimits { depth: self.depth, items: self.items };
        Ok(answer(&heap, show(&heap, node, evidence.at_most(self.number), &limits)))
    }
}

/// What a text refers to: a block or root, or classes by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct FindQuestion {
    /// The heap snapshot
    #[serde(default)]
    pub file: FileNumber,
    /// The text to look up
    pub what: String,
}

/// What a text refers to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum FindAnswer {
    /// A block or root.
    Node {
        /// Its number.
        node: Node,
    },
    /// Classes.
    Classes {
        /// The names of the first classes.
        classes: Vec<String>,
        /// Number of classes.
        class_count: usize,
    },
}

/// The most class names listed for a text that matches many.
const MOST_NAMES: usize = 50;

impl Question for FindQuestion {
    const NAME: &'static str = "heap/find";
    const COMMAND: Option<&'static str> = None;
    type Answer = FindAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<FindAnswer>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let found = match heap.find(&self.what)? {
            Found::Node(node) => FindAnswer::Node { node },
            Found::Classes(classes) => {
                let named = classes.iter().filter_map(|&class| heap.classes().get(class as usize));
                FindAnswer::Classes {
                    classes: named.take(MOST_NAMES).map(|class| class.name.clone()).collect(),
                    class_count: classes.len(),
                }
            }
        };
        Ok(Answer::new(found, []))
    }
}

/// The blocks of a type, one by one or grouped by the value of a field.
///
/// Strings are shown as far as the snapshot keeps them (`--strings`). Equal strings are recognised even without their contents;
/// the most repeated ones come first, with their number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct BlocksQuestion {
    /// The heap snapshot
    #[serde(default)]
    pub file: FileNumber,
    /// The type, as listed by `heap types`, or a part of its name
    #[serde(rename = "type")]
    pub class: String,
    /// What to sort by
    #[serde(default)]
    pub sort: BlocksSort,
    /// Only blocks whose field has this value (FIELD=VALUE) or contains this (FIELD~PART); may be repeated
    #[serde(default, rename = "where")]
    #[schemars(extend("x-value" = "CONDITION"))]
    pub conditions: Vec<String>,
    /// Group blocks that have the same value in this field
    #[serde(default)]
    #[schemars(extend("x-value" = "FIELD"))]
    pub group_by: Option<String>,
    /// Which rows
    #[serde(flatten)]
    pub rows: Rows,
}

/// What is to be said if values are asked for, and strings are not kept.
const NO_STRINGS: &str = "the snapshot keeps no strings (`--strings 32` keeps their first \
    bytes): it is only known which of them are equal";

/// The most duplicate strings listed.
const MOST_COPIES: usize = 5;

/// Orders of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("x-value" = "ORDER"))]
pub enum BlocksSort {
    /// Retained size, the largest first
    #[default]
    Retained,
    /// Shallow size
    Size,
    /// Age, as far as it is known from samples
    Age,
    /// Number, which is the order of addresses
    Number,
}

/// Blocks of a type.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BlocksAnswer {
    /// Number of blocks.
    pub blocks: u64,
    /// Shallow size of all blocks.
    pub shallow: u64,
    /// Strings and numbers that exist more than once, the largest first, at most five; empty if blocks are grouped.
    pub copies: Vec<BlockGroup>,
    /// The requested blocks; empty if they are grouped.
    pub rows: Vec<BlockRow>,
    /// Groups by the value of a field, most blocks first.
    pub groups: Vec<BlockGroup>,
    /// Number of rows or groups.
    pub row_count: usize,
}

impl Question for BlocksQuestion {
    const NAME: &'static str = "heap/blocks";
    const COMMAND: Option<&'static str> = Some("heap blocks");
    type Answer = BlocksAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<BlocksAnswer>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let classes = heap.find_classes(&self.class)?;
        let condition = |text: &String| {
            Condition::parse(text).ok_or_else(|| {
                QuestionError::Wrong(format!("where={text}: write FIELD=VALUE or FIELD~PART"))
            })
        };
        let conditions = self.conditions.iter().map(condition).collect::<Result<_, _>>()?;
        let mut nodes = blocks(&heap, &BlocksShape { classes, conditions })?;
        let (count, words) =
            (nodes.len() as u64, nodes.iter().map(|&node| heap.own_words(node)).sum::<u64>());
        let mut found = BlocksAnswer {
            blocks: count,
            shallow: words.saturating_mul(super::super::WORD),
            copies: Vec::new(),
            rows: Vec::new(),
            groups: Vec::new(),
            row_count: 0,
        };
        if let Some(field) = &self.group_by {
            found.groups = block_groups(&heap, &nodes, field)?;
            found.row_count =
                evidence.cut(&self.rows, &mut found.groups, |group| group.value.clone());
        } else {
            found.copies = copies(&heap, &nodes, MOST_COPIES);
            match self.sort {
                BlocksSort::Retained => {
                    nodes.sort_by_key(|&node| (Reverse(heap.retained_words(node)), node));
                }
                BlocksSort::Size => {
                    nodes.sort_by_key(|&node| (Reverse(heap.own_words(node)), node));
                }
                BlocksSort::Age => {
                    nodes.sort_by_cached_key(|&node| (Reverse(heap.block_age(node)), node));
                }
                BlocksSort::Number => {}
            }
            found.row_count = evidence.cut(&self.rows, &mut nodes, |node| heap.describe(*node));
            found.rows = nodes.into_iter().map(|node| heap.block_row(node)).collect();
        }
        let is_without = heap.snapshot().columns().strings.is_none();
        let found_none = !self.conditions.is_empty() && found.blocks == 0;
        let note = (is_without
            && (found_none || found.groups.iter().any(BlockGroup::is_of_string)))
        .then(|| NO_STRINGS.to_owned());
        Ok(answer(&heap, found).with_notes(note))
    }
}
