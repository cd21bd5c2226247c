//! Filters on the command line: which objects a question is about.

use bactrian_analysis::{Estimate, Filter, FilterOptions};

use crate::derived_args::DerivedArgs;
use crate::failure::Failure;
use crate::output::Console;

/// The arguments of a filter.
pub type FilterArgs = DerivedArgs<FilterOptions>;

impl FilterArgs {
    /// The filter.
    pub fn filter(&self) -> Result<Filter, Failure> {
        self.0.filter().map_err(|error| Failure::Usage(error.to_string()))
    }
}

/// Warns if the filter admits nothing.
pub fn warn_if_empty(
    filter: &Filter,
    found: &Estimate,
    console: &mut Console,
) -> Result<(), Failure> {
    if found.value <= 0.0 && !filter.admits_all() {
        console.warn("no sampled object matches the filters")?;
    }
    Ok(())
}
