//! Limits answers to what an assistant can use: the longest lists are cut until the answer has at most a few
//! kilobytes.

use serde_json::{Value, json};

/// The maximum length of an answer, in bytes.
const MOST: usize = 8_000;

/// An answer with its notes and its command, shortened if necessary.
pub fn written(result: Value, notes: &[String], command: Option<&str>) -> String {
    let mut most = 50;
    loop {
        let mut left_out = 0;
        let told = cut(result.clone(), most, &mut left_out);
        let mut answer = json!({ "result": told });
        if !notes.is_empty() {
            answer["notes"] = json!(notes);
        }
        if let Some(command) = command {
            answer["command"] = json!(command);
        }
        if left_out > 0 {
            answer["left_out"] = json!(format!(
                "{left_out} list items: ask for a part (offset, of, search), or run the command"
            ));
        }
        let text = answer.to_string();
        if text.len() <= MOST || most == 1 {
            return text;
        }
        most /= 2;
    }
}

/// Cuts lists to `most` items, rounds numbers, and omits nulls.
fn cut(value: Value, most: usize, left_out: &mut usize) -> Value {
    match value {
        Value::Array(mut items) => {
            *left_out += items.len().saturating_sub(most);
            items.truncate(most);
            Value::Array(items.into_iter().map(|item| cut(item, most, left_out)).collect())
        }
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            fields.map(|(name, value)| (name, cut(value, most, left_out))).collect()
        }
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => {
                let digits = 4 - float.abs().max(1e-9).log10().floor() as i32;
                let scale = 10f64.powi(digits.clamp(0, 12));
                json!((float * scale).round() / scale)
            }
            _ => Value::Number(number),
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_answers_are_cut_with_a_note() {
        let rows: Vec<_> = (0..10_000).map(|row| json!({ "name": row, "none": null })).collect();
        let text =
            written(json!({ "rows": rows, "share": 0.123_456_789 }), &[], Some("bactrian x"));
        assert!(text.len() <= MOST, "{}", text.len());
        assert!(text.contains("left_out") && text.contains("bactrian x"), "{text}");
        assert!(text.contains("0.12346") && !text.contains("none"), "{text}");
        let short = written(json!({ "rows": [1, 2] }), &["estimated".to_owned()], None);
        assert_eq!(short, r#"{"result":{"rows":[1,2]},"notes":["estimated"]}"#);
    }
}
