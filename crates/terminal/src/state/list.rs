//! Which row of a list is chosen, how it is sorted, and which part of it is seen.
//!
//! What is chosen is a thing, not a position: it stays chosen when rows change their places.

use crate::lists::{Row, RowId};

/// Of one list.
#[derive(Clone, Debug, Default)]
pub struct List {
    chosen: Option<RowId>,
    /// Where the chosen one was last: if it goes, what is there now is chosen.
    position: usize,
    /// The first row that is seen.
    top: usize,
    /// The column by which it is sorted, and whether the largest come first.
    pub sorted: Option<(usize, bool)>,
}

impl List {
    /// The position of the chosen row.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The first row that is seen.
    pub fn top(&self) -> usize {
        self.top
    }

    /// Takes note of what the rows are now, and of how many are seen at a time.
    pub fn settle(&mut self, rows: &[Row], height: usize) {
        let found = self.chosen.as_ref().and_then(|id| rows.iter().position(|row| row.id == *id));
        self.position = found.unwrap_or(self.position.min(rows.len().saturating_sub(1)));
        if self.chosen.is_some() {
            self.chosen = rows.get(self.position).map(|row| row.id.clone());
        }
        self.scroll(rows.len(), height);
    }

    fn scroll(&mut self, length: usize, height: usize) {
        let height = height.max(1);
        self.top = self.top.min(self.position).max((self.position + 1).saturating_sub(height));
        self.top = self.top.min(length.saturating_sub(height));
    }

    /// Chooses a row by its position.
    pub fn choose(&mut self, position: usize, rows: &[Row], height: usize) {
        self.position = position.min(rows.len().saturating_sub(1));
        self.chosen = rows.get(self.position).map(|row| row.id.clone());
        self.scroll(rows.len(), height);
    }

    /// Chooses a thing, wherever it will stand.
    pub fn choose_id(&mut self, id: RowId) {
        self.chosen = Some(id);
    }

    /// Sorts by the next column; after the last one, in the order of declaration again.
    pub fn next_column(&mut self, count: usize) {
        self.sorted = match self.sorted {
            None if count > 0 => Some((0, false)),
            // Of numbers the large ones are wanted first.
            Some((column, _)) if column + 1 < count => Some((column + 1, true)),
            _ => None,
        };
    }

    /// Sorts the other way round.
    pub fn reverse(&mut self) {
        self.sorted = self.sorted.map(|(column, is_descending)| (column, !is_descending));
    }
}
