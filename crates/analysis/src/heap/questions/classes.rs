//! Questions about blocks by type, tag and allocation site, and about the fields of types.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{
    BlockFilter, ClassBy, ClassFilter, ClassRow, ClassTable, Fields, TypeCoverage, classes_of,
    fields, type_coverage,
};
use super::answer;
use crate::library::LibraryOptions;
use crate::question::{Answer, CommandLine, Evidence, FileNumber, Question, QuestionError, Rows};
use crate::sorted_rows::SortRows;

/// Blocks by class: by type, tag, or what allocated them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct ClassesQuestion {
    /// The heap snapshot
    pub file: FileNumber,
    /// What to group by
    #[schemars(extend("x-verb" = true))]
    pub by: ClassBy,
    /// Which blocks
    #[serde(flatten)]
    pub blocks: BlockFilter,
    /// Which code to show
    #[serde(flatten)]
    pub library: LibraryOptions,
    /// What to sort by
    pub sort: ClassSort,
    /// Which rows
    #[serde(flatten)]
    pub rows: Rows,
}

/// Orders of classes, the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("x-value" = "ORDER"))]
pub enum ClassSort {
    /// Shallow size
    #[default]
    Shallow,
    /// Retained size
    Retained,
    /// Number of blocks
    Blocks,
    /// Growth per second of classes that are old and still grow
    Growth,
    /// Name
    Name,
}

/// Blocks by class.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClassesAnswer {
    /// The table, with the requested rows.
    #[serde(flatten)]
    pub table: ClassTable,
    /// Number of rows.
    pub row_count: usize,
    /// How many types are known, if there is a table of types.
    pub coverage: Option<TypeCoverage>,
}

impl Question for ClassesQuestion {
    const NAME: &'static str = "heap/classes";
    const COMMAND: Option<&'static str> = Some("heap types");
    type Answer = ClassesAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<ClassesAnswer>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let filter = ClassFilter {
            classes: self.blocks.class.as_ref().map(|text| heap.find_classes(text)).transpose()?,
            module: self.blocks.module.clone(),
            function: self.blocks.function.clone(),
            site: self.blocks.site.clone(),
            raw: self.library.raw,
        };
        let mut table = classes_of(&heap, self.by, &filter);
        match self.sort {
            ClassSort::Shallow => {}
            ClassSort::Retained => table.rows.sort_rows_by_key(|row| Reverse(row.retained)),
            ClassSort::Blocks => {
                table.rows.sort_rows_by(|a, b| b.blocks.value.total_cmp(&a.blocks.value));
            }
            ClassSort::Growth => {
                let growth = |row: &ClassRow| row.growth().unwrap_or(0.0);
                table.rows.sort_rows_by(|a, b| growth(b).total_cmp(&growth(a)));
            }
            ClassSort::Name => table.rows.sort_rows_by(|a, b| a.label.cmp(&b.label)),
        }
        let row_count = evidence.cut(&self.rows, &mut table.rows, |row| row.label.text());
        let coverage = type_coverage(&heap);
        Ok(answer(&heap, ClassesAnswer { table, row_count, coverage }))
    }

    fn command(&self, evidence: &dyn Evidence) -> Result<Option<CommandLine>, QuestionError> {
        CommandLine::with_verb(self, evidence, &format!("heap {}", self.by.verb()))
    }
}

/// Retained size of each field of a record or constructor.
///
/// What a block of the type dominates is counted for the field that leads to it, in the nearest such block above it, so that
/// nothing is counted twice. `shared` are pointers to blocks that something else holds as well, `same` pointers to other blocks
/// of the type, which count by themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct FieldsQuestion {
    /// The heap snapshot
    #[serde(default)]
    pub file: FileNumber,
    /// The type, as listed by `bactrian heap types`, or a part of its name
    #[serde(rename = "type")]
    pub class: String,
    /// What to sort by
    #[serde(default)]
    pub sort: FieldsSort,
    /// Which rows
    #[serde(flatten)]
    pub rows: Rows,
}

/// Orders of fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("x-value" = "ORDER"))]
pub enum FieldsSort {
    /// Retained size, the largest first
    #[default]
    Retained,
    /// Number of pointers
    Pointers,
    /// Name
    Name,
}

/// Retained size of each field of a type.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FieldsAnswer {
    /// The type, with the requested fields.
    pub fields: Fields,
    /// Number of fields.
    pub row_count: usize,
    /// How many types are known, if there is a table of types.
    pub coverage: Option<TypeCoverage>,
}

impl Question for FieldsQuestion {
    const NAME: &'static str = "heap/fields";
    const COMMAND: Option<&'static str> = Some("heap fields");
    type Answer = FieldsAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<FieldsAnswer>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let classes = heap.find_classes(&self.class)?;
        let mut fields = fields(&heap, &classes);
        match self.sort {
            FieldsSort::Retained => {}
            FieldsSort::Pointers => fields.rows.sort_rows_by_key(|row| Reverse(row.pointers)),
            FieldsSort::Name => fields.rows.sort_rows_by(|a, b| a.field.cmp(&b.field)),
        }
        let row_count = evidence.cut(&self.rows, &mut fields.rows, |row| row.field.clone());
        let coverage = type_coverage(&heap);
        Ok(answer(&heap, FieldsAnswer { fields, row_count, coverage }))
    }
}
