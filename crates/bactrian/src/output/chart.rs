//! Charts of a quantity over time, in characters.

/// The number of rows.
const HEIGHT: usize = 12;
/// Eighths of a character cell.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The background series.
const SHADE: char = '░';

/// Draws `values` as columns, in front of `behind` if there is one; `scale` labels the values of rows. Both
/// have the same length. The result has one line per row, top first.
pub fn chart(values: &[f64], behind: Option<&[f64]>, scale: impl Fn(f64) -> String) -> Vec<String> {
    let highest = values.iter().chain(behind.unwrap_or(&[])).copied().fold(0.0, f64::max);
    let unit = if highest > 0.0 { highest / HEIGHT as f64 } else { 1.0 };
    let labels: Vec<_> = (0..=HEIGHT).map(|row| scale(unit * row as f64)).collect();
    let margin = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let rows = (0..HEIGHT).rev().map(|row| {
        // Every third row and the top row are labelled.
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

/// A cell of which a fraction is filled: 0 is empty, 1 full.
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
    fn background_shows_where_the_foreground_is_empty() {
        let rows = chart(&[0.0, 12.0], Some(&[12.0, 12.0]), |_| String::new());
        assert!(rows.iter().all(|row| row == " │░█"));
    }

    #[test]
    fn zero_values_are_drawn_empty() {
        assert!(chart(&[0.0; 3], None, |_| String::new()).iter().all(|row| row == " │   "));
    }
}
