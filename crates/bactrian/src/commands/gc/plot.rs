//! Time against memory, drawn with characters.

use bactrian_advice::answer::Answer;
use bactrian_advice::model::Cell;
use bactrian_analysis::units::show_bytes;

/// The size in characters and lines.
const WIDTH: usize = 64;
const HEIGHT: usize = 14;

/// The meaning of the marks; later ones are drawn over earlier ones.
const LEGEND: &str = "· predicted   o measured   @ now   * recommended";

/// The lines of the picture; none if there is only one point.
pub fn plot(answer: &Answer) -> Vec<String> {
    let x = |cell: &Cell| cell.rss.value;
    let y = |cell: &Cell| cell.time.value;
    let cells = || answer.grid.iter();
    let (Some(left), Some(right)) = (least(cells().map(x)), most(cells().map(x))) else {
        return Vec::new();
    };
    let (Some(bottom), Some(top)) = (least(cells().map(y)), most(cells().map(y))) else {
        return Vec::new();
    };
    if right <= left || top <= bottom {
        return Vec::new();
    }
    let mut picture = vec![vec![' '; WIDTH]; HEIGHT];
    let mut put = |cell: &Cell, mark: char| {
        let column = ((x(cell) - left) / (right - left) * (WIDTH - 1) as f64).round() as usize;
        let line = ((top - y(cell)) / (top - bottom) * (HEIGHT - 1) as f64).round() as usize;
        if let Some(place) = picture.get_mut(line).and_then(|line| line.get_mut(column)) {
            *place = mark;
        }
    };
    for cell in cells().filter(|cell| !cell.is_measured) {
        put(cell, '·');
    }
    for cell in cells().filter(|cell| cell.is_measured) {
        put(cell, 'o');
    }
    put(&answer.present, '@');
    if let Some(recommended) = &answer.recommended {
        put(&recommended.choice.cell, '*');
    }
    let mut lines: Vec<String> = Vec::new();
    for (number, line) in picture.into_iter().enumerate() {
        let label = match number {
            0 => seconds(top),
            _ if number + 1 == HEIGHT => seconds(bottom),
            _ => String::new(),
        };
        let text: String = line.into_iter().collect();
        lines.push(format!("{label:>9} │{}", text.trim_end()));
    }
    lines.push(format!("{:>9} └{}", "", "─".repeat(WIDTH)));
    let (left, right) = (show_bytes(left), show_bytes(right));
    let space = WIDTH.saturating_sub(left.chars().count());
    lines.push(format!("{:>9}  {left}{right:>space$}", ""));
    lines.push(format!("{:>9}  {LEGEND}", ""));
    lines
}

/// Seconds with three significant digits.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 100.0 => format!("{seconds:.0} s"),
        seconds if seconds >= 10.0 => format!("{seconds:.1} s"),
        seconds if seconds >= 1.0 => format!("{seconds:.2} s"),
        seconds if seconds >= 1e-3 => format!("{:.1} ms", seconds * 1e3),
        seconds if seconds > 0.0 => format!("{:.0} µs", seconds * 1e6),
        _ => "0 s".to_owned(),
    }
}

fn least(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    numbers.min_by(f64::total_cmp)
}

fn most(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    numbers.max_by(f64::total_cmp)
}
