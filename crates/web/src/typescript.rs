//! Generates the page's types of questions and answers from their schemas.

use std::fmt::Write as _;

use bactrian_analysis::question::QUESTIONS;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// A TypeScript module with a type for each question and each answer.
pub fn page_types() -> String {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut table = String::new();
    for entry in QUESTIONS {
        let (parameters, answer) = entry.schemas(&mut generator);
        let [parameters, answer] = [parameters, answer].map(|schema| type_of(schema.as_value(), 1));
        let _ = writeln!(
            table,
            "  /** {} */\n  {:?}: {{ params: Partial<{parameters}>; answer: {answer} }};",
            sentence(&entry.about()),
            entry.name,
        );
    }
    let mut text = "// Written by `cargo xtask page types` from the questions of crates/analysis: not by hand.\n\n".to_owned();
    let _ = writeln!(
        text,
        "/** All questions, by name. */\nexport interface Questions {{\n{table}}}\n"
    );
    for (name, schema) in generator.take_definitions(true) {
        text.push_str(&definition(&name, &schema));
    }
    text
}

fn definition(name: &str, schema: &Value) -> String {
    let about = comment(schema, "");
    match is_object(schema) {
        true => format!("{about}export interface {name} {}\n\n", type_of(schema, 0)),
        false => format!("{about}export type {name} = {};\n\n", type_of(schema, 0)),
    }
}

/// Whether an interface can represent it: an object with known fields and nothing else.
fn is_object(schema: &Value) -> bool {
    let others = ["oneOf", "anyOf", "allOf", "$ref", "additionalProperties"];
    schema.get("properties").is_some() && others.iter().all(|key| schema.get(key).is_none())
}

fn type_of(schema: &Value, level: usize) -> String {
    let Some(schema) = schema.as_object() else { return "unknown".to_owned() };
    if let Some(of) = schema.get("$ref").and_then(Value::as_str) {
        return of.rsplit('/').next().unwrap_or_default().to_owned();
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(several) = schema.get(key).and_then(Value::as_array) {
            let union: Vec<_> = several.iter().map(|one| type_of(one, level)).collect();
            let union = union.join(" | ");
            // Fields beside the choice belong to every variant.
            return match schema.get("properties") {
                Some(_) => format!("{} & ({union})", object(schema, level)),
                None => union,
            };
        }
    }
    match schema.get("type") {
        Some(Value::String(kind)) => plain(kind, schema, level),
        Some(Value::Array(kinds)) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            kinds.map(|kind| plain(kind, schema, level)).collect::<Vec<_>>().join(" | ")
        }
        _ => "unknown".to_owned(),
    }
}

fn plain(kind: &str, schema: &Map<String, Value>, level: usize) -> String {
    match kind {
        "integer" | "number" => "number".to_owned(),
        "array" => match (schema.get("prefixItems"), schema.get("items")) {
            (Some(Value::Array(items)), _) => {
                let items: Vec<_> = items.iter().map(|item| type_of(item, level)).collect();
                format!("[{}]", items.join(", "))
            }
            (_, Some(items)) => {
                let item = type_of(items, level);
                if item.contains(' ') { format!("({item})[]") } else { format!("{item}[]") }
            }
            _ => "unknown[]".to_owned(),
        },
        "object" => object(schema, level),
        other => other.to_owned(),
    }
}

fn object(schema: &Map<String, Value>, level: usize) -> String {
    let Some(Value::Object(properties)) = schema.get("properties") else {
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let of = patterns.and_then(|patterns| patterns.values().next());
        let of = of.or(schema.get("additionalProperties"));
        let of = of.map_or("unknown".to_owned(), |of| type_of(of, level));
        return format!("Record<string, {of}>");
    };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)));
    let indent = "  ".repeat(level + 1);
    let mut text = "{\n".to_owned();
    for (name, property) in properties {
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let key = if is_plain { name.clone() } else { format!("{name:?}") };
        let mark = if is_required(name) { "" } else { "?" };
        // A property that is omitted when null is never null.
        let of = type_of(property, level + 1);
        let of = if is_required(name) { &*of } else { of.trim_end_matches(" | null") };
        let _ = writeln!(text, "{}{indent}{key}{mark}: {of};", comment(property, &indent));
    }
    text + &"  ".repeat(level) + "}"
}

fn comment(schema: &Value, indent: &str) -> String {
    match schema.get("description").and_then(Value::as_str) {
        Some(text) => format!("{indent}/** {} */\n", sentence(text)),
        None => String::new(),
    }
}

/// The first paragraph, in one line.
fn sentence(text: &str) -> String {
    let first = text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    first.replace("*/", "* /")
}
