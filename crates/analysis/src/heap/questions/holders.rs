//! Questions about who holds what: summary, suspects, roots, dominators, paths, finalisers, and what if a
//! reference were missing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{
    ClassPaths, DominatorTree, DominatorsShape, Finalisers, FirstRootRow, Found, Paths, PathsShape,
    Roots, RootsShape, Series, Summary, Suspect, WhatIf, class_paths, dominators, finalisers,
    first_roots, paths, roots, summary, suspects, what_if,
};
use super::{answer, as_named, in_order};
use crate::question::{Answer, Evidence, FileNumber, Limit, Question, QuestionError, Rows};

/// What the memory is used for: words by use, blocks by kind and generation, the heap against the memory of the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct SummaryQuestion {
    /// The heap snapshot
    pub file: FileNumber,
}

impl Question for SummaryQuestion {
    const NAME: &'static str = "heap/summary";
    const COMMAND: Option<&'static str> = Some("heap summary");
    type Answer = Summary;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<Summary>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        Ok(answer(&heap, summary(&heap)))
    }
}

/// What is likely wrong, in sentences with evidence, worst first.
///
/// The last snapshot is looked at; earlier ones of the same process show what grows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct SuspectsQuestion {
    /// The heap snapshots
    pub files: Vec<FileNumber>,
}

/// What is likely wrong.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SuspectsAnswer {
    /// The snapshot that was looked at: the last that was taken.
    #[serde(skip)]
    pub file: FileNumber,
    /// The worst first.
    pub suspects: Vec<Suspect>,
}

impl Question for SuspectsQuestion {
    const NAME: &'static str = "heap/suspects";
    const COMMAND: Option<&'static str> = Some("heap suspects");
    type Answer = SuspectsAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<SuspectsAnswer>, QuestionError> {
        let files = in_order(evidence, &self.files)?;
        let Some((&last, earlier)) = files.split_last() else {
            return Err(QuestionError::Wrong("there is no heap snapshot".to_owned()));
        };
        let mut series = Series::default();
        let mut losses = Vec::new();
        for &file in earlier {
            // One heap at a time is in memory.
            let heap = evidence.heap(file)?;
            losses.push((file, heap.losses().clone().into()));
            series.add(heap, false);
        }
        let heap = evidence.heap(last)?;
        let growth = (!earlier.is_empty()).then(|| {
            series.look_at(&heap);
            series.finish()
        });
        losses.push((last, heap.losses().clone().into()));
        let suspects = suspects(&heap, growth.as_ref());
        let notes = heap.unreached_note();
        Ok(Answer::new(SuspectsAnswer { file: last, suspects }, as_named(losses)).with_notes(notes))
    }
}

/// Who holds the memory: kinds of roots, modules, threads and finalisers, their fields and frames.
///
/// `reachable` is all that can be reached from a root, `retained` what would be free without it, `fair share` its part if each
/// block is divided among those that point to it, `shallow` the blocks it points to itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct RootsQuestion {
    /// The heap snapshot
    pub file: FileNumber,
    /// Levels: 1 for kinds of roots, 2 for modules, threads and the like too, 3 for their fields and frames
    #[schemars(range(min = 1, max = 3), extend("x-value" = "LEVELS"))]
    pub depth: u8,
    /// How many rows below each; 0 for all
    #[schemars(with = "Limit")]
    pub number: usize,
}

impl Default for RootsQuestion {
    fn default() -> RootsQuestion {
        RootsQuestion { file: FileNumber::default(), depth: 2, number: 10 }
    }
}

impl Question for RootsQuestion {
    const NAME: &'static str = "heap/roots";
    const COMMAND: Option<&'static str> = Some("heap roots");
    type Answer = Roots;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<Roots>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let limit = evidence.at_most(self.number);
        Ok(answer(&heap, roots(&heap, &RootsShape { depth: self.depth, limit })))
    }
}

/// What roots point to: at once, while the rest is computed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct FirstRootsQuestion {
    /// The heap snapshot
    pub file: FileNumber,
}

impl Question for FirstRootsQuestion {
    const NAME: &'static str = "heap/first-roots";
    const COMMAND: Option<&'static str> = None;
    type Answer = FirstRootRow;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<FirstRootRow>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        Ok(Answer::new(first_roots(&heap, RootsQuestion::default().number), []))
    }
}

/// The dominator tree: what would be freed without whom, largest first.
///
/// A block dominates what can only be reached through it. At each level all blocks of a class are one row, and those that are
/// held by others of their class, directly or through others, belong to it too, so that a list or a tree is one row. What
/// several roots hold stands beside them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct DominatorsQuestion {
    /// The heap snapshot
    pub file: FileNumber,
    /// Begin at a block (0xADDRESS, @NUMBER), a module or value of one (Main.table), or a class
    #[schemars(extend("x-value" = "WHAT"))]
    pub of: Option<String>,
    /// Then go down to this row, by what it is called or @NUMBER; several, one after the other
    #[schemars(extend("x-value" = "ROW", "x-conflicts" = "blocks"))]
    pub below: Vec<String>,
    /// Each block by itself
    pub blocks: bool,
    /// How many levels
    #[schemars(extend("x-value" = "N"))]
    pub depth: usize,
    /// How many rows at each place; 0 for all
    #[schemars(with = "Limit")]
    pub number: usize,
    /// Leave out what dominates less than this part of the heap, in percent
    #[schemars(range(min = 0, max = 100), extend("x-value" = "PERCENT"))]
    pub min_share: f64,
}

impl Default for DominatorsQuestion {
    fn default() -> DominatorsQuestion {
        DominatorsQuestion {
            file: FileNumber::default(),
            of: None,
            below: Vec::new(),
            blocks: false,
            depth: 7,
            number: 10,
            min_share: 1.0,
        }
    }
}

impl Question for DominatorsQuestion {
    const NAME: &'static str = "heap/dominators";
    const COMMAND: Option<&'static str> = Some("heap dominators");
    type Answer = DominatorTree;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<DominatorTree>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let of = self.of.as_ref().map(|text| heap.find(text)).transpose()?;
        let shape = DominatorsShape {
            of,
            below: self.below.clone(),
            by_block: self.blocks,
            depth: self.depth,
            limit: self.number,
            min_share: self.min_share / 100.0,
            most_rows: evidence.most_rows(),
        };
        Ok(answer(&heap, dominators(&heap, &shape)?))
    }
}

/// Why something is alive: shortest paths from roots.
///
/// Of a block, the shortest path from each root that reaches it; paths with the same classes and fields are one. Of a class,
/// one shortest path to each of its blocks, as a tree; what repeats on a path, as lists do, is one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct PathsQuestion {
    /// The heap snapshot
    #[serde(default)]
    pub file: FileNumber,
    /// A block (0xADDRESS, @NUMBER, Main.table) or a class
    pub what: String,
    /// How many paths, or of a class rows at each place; 0 for all
    #[serde(default = "ten")]
    #[schemars(with = "Limit")]
    pub number: usize,
    /// How many levels, of a class
    #[serde(default = "twenty")]
    #[schemars(extend("x-value" = "N"))]
    pub depth: usize,
    /// Leave out what leads to less than this part of a class, in percent
    #[serde(default = "one_percent")]
    #[schemars(range(min = 0, max = 100), extend("x-value" = "PERCENT"))]
    pub min_share: f64,
    /// Of a class: the single blocks of one row, too, by one of them (0xADDRESS, @NUMBER)
    #[serde(default)]
    #[schemars(extend("x-value" = "BLOCK"))]
    pub members: Option<String>,
}

fn ten() -> usize {
    10
}

fn twenty() -> usize {
    20
}

fn one_percent() -> f64 {
    1.0
}

impl PathsQuestion {
    /// To this block or class of the first file.
    pub fn to(what: &str) -> PathsQuestion {
        PathsQuestion {
            file: FileNumber::default(),
            what: what.to_owned(),
            number: ten(),
            depth: twenty(),
            min_share: one_percent(),
            members: None,
        }
    }
}

/// Why something is alive.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PathsAnswer {
    /// One block.
    Block {
        /// The paths that are told.
        block: Paths,
        /// How many there are.
        row_count: usize,
    },
    /// All blocks of some classes.
    Class {
        /// The tree of paths.
        class: ClassPaths,
    },
}

impl Question for PathsQuestion {
    const NAME: &'static str = "heap/paths";
    const COMMAND: Option<&'static str> = Some("heap paths");
    type Answer = PathsAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<PathsAnswer>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let limit = evidence.at_most(self.number);
        let result = match heap.find(&self.what)? {
            Found::Node(_) if self.members.is_some() => {
                let what = &self.what;
                let why = format!("{what} is one block: only rows of a class have members");
                return Err(QuestionError::Wrong(why));
            }
            Found::Node(node) => {
                let mut block = paths(&heap, node);
                let row_count = block.rows.len();
                if limit > 0 {
                    block.rows.truncate(limit);
                }
                PathsAnswer::Block { block, row_count }
            }
            Found::Classes(classes) => {
                let members_of =
                    self.members.as_ref().map(|text| heap.find_node(text)).transpose()?;
                let shape = PathsShape {
                    depth: self.depth,
                    limit,
                    min_share: self.min_share / 100.0,
                    most_rows: evidence.most_rows(),
                    members_of,
                };
                PathsAnswer::Class { class: class_paths(&heap, &classes, &shape) }
            }
        };
        let mut answer = answer(&heap, result);
        if let (Some(members), PathsAnswer::Class { class }) = (&self.members, &answer.result)
            && class.members.is_none()
        {
            let note = format!("no row stands for {members}: none of the paths leads over it");
            answer = answer.with_notes([note]);
        }
        Ok(answer)
    }
}

/// Finalisers that can never run, because their functions hold their own values: certain leaks.
///
/// For each, the shortest way from the function to the value, block by block; finalisers with the same way are told once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct FinalisersQuestion {
    /// The heap snapshot
    pub file: FileNumber,
    /// How many different ways; 0 for all
    #[schemars(with = "Limit")]
    pub number: usize,
}

impl Default for FinalisersQuestion {
    fn default() -> FinalisersQuestion {
        FinalisersQuestion { file: FileNumber::default(), number: 10 }
    }
}

/// Finalisers that can never run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FinalisersAnswer {
    /// All of them, with the groups that were asked for.
    #[serde(flatten)]
    pub finalisers: Finalisers,
    /// How many groups there are.
    pub row_count: usize,
}

impl Question for FinalisersQuestion {
    const NAME: &'static str = "heap/finalisers";
    const COMMAND: Option<&'static str> = Some("heap finalisers");
    type Answer = FinalisersAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<FinalisersAnswer>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let mut finalisers = finalisers(&heap);
        let row_count = finalisers.groups.len();
        match evidence.at_most(self.number) {
            0 => {}
            most => finalisers.groups.truncate(most),
        }
        Ok(answer(&heap, FinalisersAnswer { finalisers, row_count }))
    }
}

/// What would be free if some references were not there, together and each alone.
///
/// A reference is named by a field of a type (Cache.entry.session), a module or a value of one (Log.lines), a class, a line that
/// allocates (cache.ml:12; of blocks that were sampled), a block, or a kind of roots (finalisers, stacks). The heap is gone through
/// without them, so that what several hold together is told, too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct WhatIfQuestion {
    /// The heap snapshot
    pub file: FileNumber,
    /// References to think away: a field (Main.entry.session), a value (Main.table), a class, a line (main.ml:12), finalisers; several
    #[schemars(extend("x-value" = "WHAT"))]
    pub cut: Vec<String>,
    /// Which rows
    #[serde(flatten)]
    pub rows: Rows,
}

/// What would be free.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WhatIfAnswer {
    /// With the rows that were asked for.
    #[serde(flatten)]
    pub what_if: WhatIf,
    /// How many rows there are.
    pub row_count: usize,
}

impl Question for WhatIfQuestion {
    const NAME: &'static str = "heap/what-if";
    const COMMAND: Option<&'static str> = Some("heap what-if");
    type Answer = WhatIfAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<WhatIfAnswer>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let mut what_if = what_if(&heap, &self.cut)?;
        let row_count = evidence.cut(&self.rows, &mut what_if.rows, |row| row.name.clone());
        Ok(answer(&heap, WhatIfAnswer { what_if, row_count }))
    }
}
