//! The selection, sorting and scroll position of a list.
//!
//! The selection is an item, not a position: it stays selected when rows move.

use crate::lists::{Row, RowId};

/// The state of one list.
#[derive(Clone, Debug, Default)]
pub struct List {
    chosen: Option<RowId>,
    /// The last position of the selected item. If the item disappears, the row at this position is selected.
    position: usize,
    /// The first visible row.
    top: usize,
    /// The sort column, and whether the order is descending.
    pub sorted: Option<(usize, bool)>,
}

impl List {
    /// The position of the selected row.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The first visible row.
    pub fn top(&self) -> usize {
        self.top
    }

    /// Adapts to new rows and to the number of visible rows.
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

    /// Selects a row by its position.
    pub fn choose(&mut self, position: usize, rows: &[Row], height: usize) {
        self.position = position.min(rows.len().saturating_sub(1));
        self.chosen = rows.get(self.position).map(|row| row.id.clone());
        self.scroll(rows.len(), height);
    }

    /// Selects an item, wherever its row will be.
    pub fn choose_id(&mut self, id: RowId) {
        self.chosen = Some(id);
    }

    /// Sorts by the next column; after the last one, in the order of declaration again.
    pub fn next_column(&mut self, count: usize) {
        self.sorted = match self.sorted {
            None if count > 0 => Some((0, false)),
            // Numbers are sorted in descending order first.
            Some((column, _)) if column + 1 < count => Some((column + 1, true)),
            _ => None,
        };
    }

    /// Reverses the sort order.
    pub fn reverse(&mut self) {
        self.sorted = self.sorted.map(|(column, is_descending)| (column, !is_descending));
    }
}
