//! Search and window: which rows of a table to return.

use std::fmt;
use std::str::FromStr;

use regex_lite::{Error, Regex, RegexBuilder};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{Text, Written};

/// The schema of a number of rows, 0 for all.
pub struct Limit;

impl JsonSchema for Limit {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Limit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "integer", "minimum": 0, "x-value": "ROWS", "x-short": "n", "x-alias": "limit",
        })
    }
}

/// Which rows of a table to return.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Rows {
    /// Only rows whose names contain this, ignoring case; or /REGEX/
    pub search: Option<Text<Search>>,
    /// Reverse the order: the last rows first
    pub reverse: bool,
    /// How many rows; 0 for all
    #[schemars(with = "Limit")]
    pub number: usize,
    /// How many rows to skip before the first
    #[schemars(extend("x-value" = "ROWS"))]
    pub offset: usize,
}

impl Default for Rows {
    fn default() -> Rows {
        Rows { search: None, reverse: false, number: 20, offset: 0 }
    }
}

impl Rows {
    /// Keeps the requested rows out of rows in their final order. Returns how many match the search.
    pub fn cut<T>(&self, rows: &mut Vec<T>, name: impl Fn(&T) -> String) -> usize {
        if let Some(search) = &self.search {
            rows.retain(|row| search.fits(&name(row)));
        }
        self.window(rows)
    }

    /// Keeps the rows in the window, out of rows that all match the search. Returns their number.
    pub fn window<T>(&self, rows: &mut Vec<T>) -> usize {
        let all = rows.len();
        if self.reverse {
            rows.reverse();
        }
        rows.drain(..self.offset.min(all));
        if self.number > 0 {
            rows.truncate(self.number);
        }
        all
    }
}

/// A search in names.
#[derive(Clone, Debug)]
pub struct Search {
    text: String,
    /// Set if the search is a regular expression.
    regex: Option<Regex>,
}

impl Search {
    /// Whether a name matches, ignoring case.
    pub fn fits(&self, name: &str) -> bool {
        match &self.regex {
            Some(regex) => regex.is_match(name),
            None => name.to_lowercase().contains(&self.text.to_lowercase()),
        }
    }
}

impl PartialEq for Search {
    fn eq(&self, other: &Search) -> bool {
        self.text == other.text
    }
}

impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Search {
    type Err = Error;

    fn from_str(text: &str) -> Result<Search, Error> {
        let inner = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        let inner = inner.filter(|regex| !regex.is_empty());
        let regex = inner.map(|regex| RegexBuilder::new(regex).case_insensitive(true).build());
        Ok(Search { text: text.to_owned(), regex: regex.transpose()? })
    }
}

impl Written for Search {
    const VALUE: &'static str = "TEXT";
    const EXAMPLE: &'static str = "List.map or /^Stdlib/";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(rows: &Rows) -> (Vec<&'static str>, usize) {
        let mut all = vec!["List.map", "Array.map", "List.rev", "Main.run"];
        let count = rows.cut(&mut all, |row| (*row).to_owned());
        (all, count)
    }

    fn search(text: &str) -> Option<Text<Search>> {
        Some(Text(text.parse().expect("a search")))
    }

    #[test]
    fn window_applies_to_search_results() {
        let rows = Rows { search: search("MAP"), number: 1, offset: 1, reverse: false };
        assert_eq!(cut(&rows), (vec!["Array.map"], 2));
        assert_eq!(cut(&Rows { offset: 0, reverse: true, ..rows.clone() }).0, ["Array.map"]);
        assert_eq!(cut(&Rows { offset: 9, ..rows }), (vec![], 2));
        assert_eq!(cut(&Rows { number: 0, ..Rows::default() }).0.len(), 4);
        let rows = Rows { search: search("/^list.*v$/"), ..Rows::default() };
        assert_eq!(cut(&rows).0, ["List.rev"]);
        assert!("/(/".parse::<Search>().is_err());
    }
}
