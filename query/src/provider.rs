//! A table of one or several files for the engine. It is read in parallel parts, and only the columns of the query are read. For
//! batches in which no row passes the filter, only the columns of the filter are read.

use std::fmt;
use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use bactrian_tables::schema::Table;
use bactrian_tables::{Batch, Part, Predicate, Scan, Tables};
use datafusion::arrow::array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, StringViewArray,
};
use datafusion::arrow::datatypes::{DataType, Field, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};

use crate::columns::{Arrays, schema};

/// The column with the file of a row.
pub const FILE: &str = "file";

/// The maximum number of batches that wait for the engine.
const WAITING: usize = 2;

/// A file with this table.
#[derive(Clone)]
pub struct Source {
    pub name: Arc<str>,
    pub tables: Arc<dyn Tables>,
}

/// A table of some files.
pub struct EvidenceTable {
    table: &'static Table,
    files: Vec<Source>,
    schema: SchemaRef,
}

impl EvidenceTable {
    pub fn new(table: &'static Table, files: Vec<Source>) -> EvidenceTable {
        let file = (files.len() > 1).then(|| Field::new(FILE, DataType::Utf8View, false));
        EvidenceTable { table, files, schema: schema(table, file) }
    }

    /// The condition that a batch must satisfy to contain rows that pass these filters.
    fn judge(&self, state: &dyn Session, filters: &[Expr]) -> Result<Option<Judge>> {
        let place = |name: &str| self.table.columns.iter().position(|it| it.name == name);
        let is_ours =
            |filter: &&Expr| filter.column_refs().iter().all(|it| place(&it.name).is_some());
        let ours: Vec<Expr> = filters.iter().filter(is_ours).cloned().collect();
        let mut needs: Vec<usize> = ours
            .iter()
            .flat_map(|filter| {
                filter
                    .column_refs()
                    .into_iter()
                    .filter_map(|it| place(&it.name))
                    .collect::<Vec<_>>()
            })
            .collect();
        needs.sort_unstable();
        needs.dedup();
        let Some(filter) = conjunction(ours).filter(|_| !needs.is_empty()) else { return Ok(None) };
        let schema = Arc::new(self.schema.project(&needs)?);
        let of = DFSchema::try_from(schema.as_ref().clone())?;
        let filter = state.create_physical_expr(unqualified(filter)?, &of)?;
        Ok(Some(Judge { needs, schema, filter }))
    }
}

/// The filter with unqualified column names, since there is only one table.
fn unqualified(filter: Expr) -> Result<Expr> {
    use datafusion::common::Column;
    use datafusion::common::tree_node::{Transformed, TreeNode};
    let plain = filter.transform(|it| {
        Ok(match it {
            Expr::Column(column) => {
                Transformed::yes(Expr::Column(Column::new_unqualified(column.name)))
            }
            other => Transformed::no(other),
        })
    });
    Ok(plain?.data)
}

impl fmt::Debug for EvidenceTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EvidenceTable").field(&self.table.name).finish()
    }
}

#[async_trait]
impl TableProvider for EvidenceTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all = || (0..self.schema.fields().len()).collect();
        let columns: Vec<usize> = projection.cloned().unwrap_or_else(all);
        let schema = Arc::new(self.schema.project(&columns)?);
        let judge = self.judge(state, filters)?.map(Arc::new);
        let mut parts: Vec<Arc<dyn PartitionStream>> = Vec::new();
        for file in &self.files {
            let of = match file.tables.has_parts(self.table) {
                true => state.config().target_partitions().max(1),
                false => 1,
            };
            parts.extend((0..of).map(|index| -> Arc<dyn PartitionStream> {
                Arc::new(RowStream(Arc::new(Rows {
                    table: self.table,
                    file: file.clone(),
                    part: Part { index, of },
                    columns: columns.clone(),
                    schema: Arc::clone(&schema),
                    judge: judge.clone(),
                })))
            }));
        }
        Ok(Arc::new(StreamingTableExec::try_new(schema, parts, None, [], false, limit)?))
    }
}

/// Decides whether a batch may contain a row that passes the filters.
struct Judge {
    /// The columns that it needs.
    needs: Vec<usize>,
    schema: SchemaRef,
    filter: Arc<dyn PhysicalExpr>,
}

impl Judge {
    fn accepts(&self, batch: &Batch, arrays: &mut Arrays) -> Result<bool> {
        let columns = self.needs.iter().filter_map(|place| batch.columns[*place].as_ref());
        let columns = columns.map(|values| arrays.of(values)).collect::<Result<Vec<_>, _>>()?;
        let rows = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        let told = self.filter.evaluate(&rows)?.into_array(batch.rows)?;
        let told = told.as_any().downcast_ref::<BooleanArray>();
        // Values that are not Boolean are left to the engine.
        Ok(told.is_none_or(|told| told.true_count() > 0))
    }
}

/// A part of the rows of a file.
struct Rows {
    table: &'static Table,
    file: Source,
    part: Part,
    columns: Vec<usize>,
    schema: SchemaRef,
    judge: Option<Arc<Judge>>,
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.table.name, self.file.name)
    }
}

impl Rows {
    fn record(&self, batch: &Batch, arrays: &mut Arrays) -> Result<RecordBatch> {
        let column = |place: &usize| -> Result<ArrayRef> {
            match batch.columns.get(*place) {
                Some(Some(values)) => Ok(arrays.of(values)?),
                Some(None) => Err(DataFusionError::Internal("a column was not made".to_owned())),
                None => {
                    let names = std::iter::repeat_n(self.file.name.as_ref(), batch.rows);
                    Ok(Arc::new(StringViewArray::from_iter_values(names)))
                }
            }
        };
        let columns = self.columns.iter().map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }

    /// Reads them, and passes them to `send` until it returns false.
    fn read(&self, mut send: impl FnMut(RecordBatch) -> bool) -> Result<()> {
        let arrays = std::cell::RefCell::new(Arrays::default());
        let accepts = |batch: &Batch| match &self.judge {
            Some(judge) => judge.accepts(batch, &mut arrays.borrow_mut()).map_err(io::Error::other),
            None => Ok(true),
        };
        let needs = |place: usize| self.judge.as_ref().is_some_and(|it| it.needs.contains(&place));
        let scan = Scan {
            table: self.table,
            is_wanted: &|place| self.columns.contains(&place),
            part: self.part,
            predicate: self.judge.as_ref().map(|_| Predicate { needs: &needs, accepts: &accepts }),
        };
        let mut is_enough = false;
        let read = self.file.tables.scan(&scan, &mut |batch| {
            let rows = self.record(&batch, &mut arrays.borrow_mut()).map_err(io::Error::other)?;
            is_enough = !send(rows);
            // Any error ends the scan.
            if is_enough { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
        });
        match read {
            Err(error) if !is_enough => Err(DataFusionError::IoError(error)),
            _ => Ok(()),
        }
    }
}

/// Rows as a record batch.
#[derive(Debug)]
struct RowStream(Arc<Rows>);

impl PartitionStream for RowStream {
    fn schema(&self) -> &SchemaRef {
        &self.0.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream = RecordBatchReceiverStream::builder(Arc::clone(&self.0.schema), WAITING);
        let (send, rows) = (stream.tx(), Arc::clone(&self.0));
        stream.spawn_blocking(move || rows.read(|batch| send.blocking_send(Ok(batch)).is_ok()));
        stream.build()
    }
}
