//! Values of the program: numbers, booleans, strings, gauges.

use bactrian_analysis::live::numbers::{show, show_whole};
use bactrian_live::{Series, Unit, Value};

use super::{Cell, Column};
use bactrian_analysis::live::known::show_kind;

pub const COLUMNS: &[Column] = &[
    Column { width: 30, is_flexible: false, ..Column::text("name") },
    Column::text("value"),
    Column { width: 8, is_flexible: false, ..Column::text("kind") },
];

/// Numbers are right-aligned at this column, so that their digits line up; texts start at the left.
const NUMBERS_END: usize = 20;

pub fn cells(series: &Series, value: &Value) -> Vec<Cell> {
    let unit = series.declaration.unit;
    let shown = match value {
        Value::Int(number) if unit == Unit::None => {
            Cell::number(*number as f64, show_whole(*number))
        }
        Value::Int(number) => Cell::number(*number as f64, show(unit, *number as f64)),
        Value::Float(number) if unit == Unit::None => Cell::number(*number, show_float(*number)),
        Value::Float(number) => Cell::number(*number, show(unit, *number)),
        Value::Bool(truth) => Cell::text(truth.to_string()),
        Value::Text(text) => Cell::text(format!("{text:?}")),
        _ => Cell::nothing(),
    };
    let text = match shown.number {
        Some(_) => format!("{:>NUMBERS_END$}", shown.text),
        None => shown.text,
    };
    let shown = Cell { text, ..shown };
    vec![shown, Cell::text(show_kind(series.declaration.kind))]
}

/// A number with as many digits as can be read while it changes.
fn show_float(number: f64) -> String {
    match number.abs() {
        size if size != 0.0 && !(1e-3..1e15).contains(&size) => format!("{number:.4e}"),
        _ if number.fract() == 0.0 => format!("{number:.1}"),
        _ => format!("{number:.4}"),
    }
}
