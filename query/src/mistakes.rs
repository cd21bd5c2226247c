//! What is wrong with a query, and where.

use bactrian::Failure;
use datafusion::common::DataFusionError;

/// Says what is wrong, below the line of the query.
pub fn mistake(sql: &str, error: &DataFusionError) -> Failure {
    if let DataFusionError::IoError(error) = error.find_root() {
        return Failure::Input(anyhow::anyhow!("{error}"));
    }
    let diagnostic = error.diagnostic();
    let said = error.find_root().strip_backtrace();
    let (what, place) = match diagnostic {
        Some(diagnostic) => {
            let place = diagnostic.span.map(|span| (span.start.line, span.start.column));
            (diagnostic.message.clone(), place.or_else(|| placed(&said)))
        }
        None => (said.clone(), placed(&said)),
    };
    let mut text = plain(&what);
    if let Some((line, column)) = place
        && let Some(written) = sql.lines().nth((line as usize).saturating_sub(1))
    {
        let column = (column as usize).saturating_sub(1).min(written.chars().count());
        text += &format!("\n  {written}\n  {:column$}^", "");
    }
    let helps = diagnostic.iter().flat_map(|it| it.helps.iter().map(|help| help.message.clone()));
    let valid = said
        .split_once("Valid fields are ")
        .map(|(_, names)| format!("There are {}", names.trim_end_matches('.')));
    for help in helps.chain(valid) {
        text += &format!("\n{help}");
    }
    Failure::Usage(text)
}

/// The engine's message, without the names of its parts.
fn plain(said: &str) -> String {
    let known = [
        "SQL error: ",
        "Schema error: ",
        "Error during planning: ",
        "ParserError(",
        "This feature is not implemented: ",
        "Execution error: ",
    ];
    let mut text = said;
    while let Some(rest) = known.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        text = rest;
    }
    text.trim_matches(['"', ')']).to_owned()
}

/// The position in the parser's message: `.. at Line: 1, Column: 8`.
fn placed(said: &str) -> Option<(u64, u64)> {
    let (_, rest) = said.split_once("Line: ")?;
    let (line, rest) = rest.split_once(", Column: ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((line.parse().ok()?, digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_points_into_the_query() {
        assert_eq!(placed("Expected: x, found: y at Line: 2, Column: 13"), Some((2, 13)));
        assert_eq!(placed("no place"), None);
    }
}
