//! A chart of a quantity over time, in characters.

/// Rows of the chart.
const HEIGHT: usize = 12;
/// An eighth of a character to a whole one.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// What stands behind.
const SHADE: char = '░';

/// Draws `values` as columns, before `behind` if there is one, with `scale` naming the values of rows.
/// All have the same length; the result has one line per row, top first.
pub fn chart(values: &[f64], behind: Option<&[f64]>, scale: impl Fn(f64) -> String) -> Vec<String> {
    let highest = values.iter().chain(behind.unwrap_or(&[])).copied().fold(0.0, f64::max);
    let unit = if highest > 0.0 { highest / HEIGHT as f64 } else { 1.0 };
    let labels: Vec<_> = (0..=HEIGHT).map(|row| scale(unit * row as f64)).collect();
    let margin = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let rows = (0..HEIGHT).rev().map(|row| {
        // Every third row and the top have their value beside them.
        let label = if row % 3 == 2 { labels[row + 1].as_str() } else { "" };
        let cells = values.iter().enumerate().map(|(column, &value)| {
            let front = cell(value / unit - row as f64);
            let back = behind.is_some_and(|behind| behind[column] / unit - row as f64 >= 0.5);
            match front {
                ' ' if back => SHADE,
                front => front,
            }
        });
        let space = margin - label.chars().count();
        format!("{:space$}{label} │{}", "", cells.collect::<String>())
    });
    rows.collect()
}

/// How a cell looks of which `filled` is filled: 0 is nothing, 1 all.
fn cell(filled: f64) -> char {
    match (filled * 8.0).round() {
        eighths if eighths < 1.0 => ' ',
        eighths => BLOCKS[(eighths as usize - 1).min(7)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_grow_in_eighths() {
        let rows = chart(&[0.0, 6.0, 12.0, 0.5], None, |value| format!("{value}"));
        assert_eq!(rows[0], "12 │  █ ");
        assert_eq!(rows[5], "   │  █ ");
        assert_eq!(rows[6], " 6 │ ██ ");
        assert_eq!(rows[11], "   │ ██▄");
    }

    #[test]
    fn what_is_behind_shows_where_nothing_is_before() {
        let rows = chart(&[0.0, 12.0], Some(&[12.0, 12.0]), |_| String::new());
        assert!(rows.iter().all(|row| row == " │░█"));
    }

    #[test]
    fn nothing_is_drawn_flat() {
        assert!(chart(&[0.0; 3], None, |_| String::new()).iter().all(|row| row == " │   "));
    }
}
