//! What is derived from questions: parameters, their conversion to and from URLs, schemas.

use std::fmt::Write as _;

use bactrian_analysis::heap::{ClassesQuestion, DominatorsQuestion, PathsQuestion};
use bactrian_analysis::question::parameters::{self, ParameterKind, Role};
use bactrian_analysis::question::{self, Parameters, QUESTIONS, QuestionError, Rows};
use bactrian_analysis::{By, FilterOptions, Metric, TopBy, TopQuestion, TopSort, TreeQuestion};
use schemars::generate::SchemaSettings;
use serde_json::Value;

fn read<P: Parameters>(pairs: &[(&str, &str)]) -> Result<P, QuestionError> {
    parameters::read(pairs.iter().copied())
}

#[test]
fn every_parameter_is_documented_with_a_unique_name() {
    let mut names = std::collections::HashSet::new();
    for entry in QUESTIONS {
        assert!(names.insert(entry.name), "{} is there twice", entry.name);
        assert!(!entry.about().is_empty(), "{} is not explained", entry.name);
        let parameters = entry.parameters();
        assert!(parameters.iter().any(|p| p.role == Role::File), "{} has no file", entry.name);
        for parameter in parameters {
            let name = format!("{} {}", entry.name, parameter.name);
            assert!(!parameter.about.is_empty(), "{name} is not explained");
            assert!(!parameter.about.ends_with('.'), "{name}: {}", parameter.about);
            if let ParameterKind::Choice(words) = &parameter.kind {
                assert!(words.iter().all(|(_, about)| !about.is_empty()), "{name}: {words:?}");
            }
        }
    }
}

#[test]
fn missing_parameters_have_defaults() {
    let question: TopQuestion = read(&[]).expect("a question");
    assert_eq!(question, TopQuestion::default());
    assert_eq!(question.rows.number, 20);
    assert!(parameters::pairs(&question).is_empty());
}

#[test]
fn question_round_trips_through_its_url() {
    let pairs = [
        ("by", "site"),
        ("metric", "live"),
        ("sort", "total"),
        ("search", "/^List/"),
        ("reverse", ""),
        ("number", "200"),
        ("offset", "400"),
        ("allocated", "1.5s..3s"),
        ("live-at-end", ""),
        ("heap", "minor"),
        ("heap", "external"),
        ("domain", "3"),
        ("in", "Main.load"),
        ("in", "/^Stdlib/"),
        ("size", "64..1000"),
        ("hide", "/./"),
    ];
    let question: TopQuestion = read(&pairs).expect("a question");
    assert_eq!((question.by, question.metric), (TopBy::Place(By::Site), Metric::Live));
    assert_eq!(question.sort, TopSort::Total);
    let mut written: Vec<_> = parameters::pairs(&question)
        .into_iter()
        .map(|(parameter, value)| (parameter.name, value))
        .collect();
    let mut expected = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
    written.sort();
    expected.sort();
    assert_eq!(written, expected);
}

#[test]
fn errors_name_the_wrong_parameter() {
    fn wrong<P: Parameters + std::fmt::Debug>(pairs: &[(&str, &str)], name: &str) {
        match read::<P>(pairs) {
            Err(QuestionError::Parameter { name: found, .. }) => assert_eq!(found, name),
            other => panic!("{pairs:?}: {other:?}"),
        }
    }
    wrong::<TopQuestion>(&[("metric", "live"), ("by", "colour")], "by");
    wrong::<TopQuestion>(&[("size", "5kB..1kB"), ("metric", "live")], "size");
    wrong::<TopQuestion>(&[("in", "a"), ("in", "/(/")], "in");
    wrong::<TopQuestion>(&[("number", "-1")], "number");
    wrong::<TopQuestion>(&[("numbr", "1")], "numbr");
    wrong::<TopQuestion>(&[("search", "/(/")], "search");
    wrong::<DominatorsQuestion>(&[("min-share", "101")], "min-share");
    wrong::<PathsQuestion>(&[("number", "3")], "what");
}

#[test]
fn roles_are_those_of_the_command_line() {
    let role = |all: Vec<parameters::Parameter>, name: &str| {
        all.into_iter().find(|parameter| parameter.name == name).map(|parameter| parameter.role)
    };
    assert_eq!(role(parameters::parameters::<PathsQuestion>(), "what"), Some(Role::Operand));
    assert_eq!(role(parameters::parameters::<PathsQuestion>(), "file"), Some(Role::File));
    assert_eq!(role(parameters::parameters::<TreeQuestion>(), "focus"), Some(Role::Operand));
    assert_eq!(role(parameters::parameters::<TreeQuestion>(), "levels"), Some(Role::Option));
    assert_eq!(role(parameters::parameters::<ClassesQuestion>(), "by"), Some(Role::None));
    assert_eq!(role(parameters::parameters::<Rows>(), "number"), Some(Role::Option));
}

/// The reference of all questions, generated from them.
fn reference() -> String {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut text = REFERENCE_HEAD.to_owned();
    for (entry, (_, answer)) in QUESTIONS.iter().zip(question::schemas(&mut generator)) {
        let command = entry.command.map(|command| format!(" (`bactrian {command}`)"));
        let _ = write!(
            text,
            "\n## {}{}\n\n{}.\n\n",
            entry.name,
            command.unwrap_or_default(),
            without_links(&entry.about())
        );
        let (filters, others): (Vec<_>, Vec<_>) =
            entry.parameters().into_iter().partition(|parameter| parameter.heading.is_some());
        text.push_str(&table(&others));
        if !filters.is_empty() {
            text.push_str("\nAnd [filters](#filters).\n");
        }
        let _ = write!(text, "\nAnswer: {}\n", type_of(answer.as_value()));
    }
    text.push_str("\n# Filters\n\nWhich objects of a trace; all conditions must hold. Times count from its start.\n\n");
    text.push_str(&table(&parameters::parameters::<FilterOptions>()));
    text.push_str("\n# Parts of answers\n");
    let definitions = generator.definitions().iter();
    for (name, schema) in definitions.filter(|(name, _)| !name.ends_with("Question")) {
        let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let _ = write!(text, "\n## {name}\n\n{}\n{}\n", without_links(about), part(schema));
    }
    // Cells may be empty, and so may the ends of lines.
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
}

/// The parameters as table rows.
fn table(all: &[parameters::Parameter]) -> String {
    let mut text = "| parameter | values | default | what for |\n|---|---|---|---|\n".to_owned();
    for parameter in all {
        let values = match &parameter.kind {
            ParameterKind::Text => parameter.example.clone().unwrap_or(parameter.kind.values()),
            kind => kind.values(),
        };
        let values = if parameter.is_repeated { format!("{values}; several") } else { values };
        let default = match &parameter.default {
            _ if parameter.is_required => "must be given".to_owned(),
            Value::Null | Value::Bool(false) => String::new(),
            Value::Array(_) => String::new(),
            Value::String(word) => word.clone(),
            other => other.to_string(),
        };
        let row = [&*parameter.name, &*values, &*default, &*parameter.about];
        let row = row.map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}

/// A part of an answer: its fields, its words, or its alternatives.
fn part(schema: &Value) -> String {
    for key in ["oneOf", "anyOf"] {
        if let Some(several) = schema.get(key).and_then(Value::as_array) {
            let is_word = |one: &&Value| one.get("properties").is_none();
            let (words, others): (Vec<_>, Vec<_>) = several.iter().partition(is_word);
            if others.is_empty() {
                return words.into_iter().map(type_of).collect::<Vec<_>>().join(" or ");
            }
            let words = words.into_iter().map(type_of);
            let others = others.into_iter().map(object);
            let lines = words.chain(others).map(|one| format!("\n- {one}"));
            return format!("\nOne of:\n{}", lines.collect::<String>());
        }
    }
    match schema.get("properties").and_then(Value::as_object) {
        None => type_of(schema),
        Some(fields) => fields.iter().map(|one| format!("\n- {}", field(one))).collect(),
    }
}

/// An alternative that is an object, in one line.
fn object(schema: &Value) -> String {
    let fields = schema.get("properties").and_then(Value::as_object);
    let fields: Vec<_> = fields.into_iter().flatten().map(field).collect();
    format!("an object with {}", fields.join("; "))
}

/// A field with its type and what it is.
fn field((name, schema): (&String, &Value)) -> String {
    let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let about = about.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    match about.is_empty() {
        true => format!("`{name}`, {}", type_of(schema)),
        false => format!("`{name}`, {}: {}", type_of(schema), without_links(&about)),
    }
}

/// Names of the source instead of links to them, which lead nowhere outside of rustdoc.
fn without_links(about: &str) -> String {
    let mut text = String::new();
    for (at, piece) in about.split("[`").enumerate() {
        match piece.split_once("`]").filter(|_| at > 0) {
            Some((name, rest)) => {
                let name = name.rsplit("::").next().unwrap_or(name);
                let _ = write!(text, "`{name}`{rest}");
            }
            None => text.push_str(piece),
        }
    }
    text
}

/// The type of a field in a few words.
fn type_of(schema: &Value) -> String {
    if let Some(of) = schema.get("$ref").and_then(Value::as_str) {
        let name = of.rsplit('/').next().unwrap_or_default();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(word) = schema.get("const").and_then(Value::as_str) {
        return format!("`{word}`");
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
        return format!("`{}`", words.join("`, `"));
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(several) = schema.get(key).and_then(Value::as_array) {
            return several.iter().map(type_of).collect::<Vec<_>>().join(" or ");
        }
    }
    let one = |kind: &str| match kind {
        "array" => {
            format!("list of {}", schema.get("items").map_or("pairs".to_owned(), type_of))
        }
        "object" => "object".to_owned(),
        "string" => "text".to_owned(),
        kind => kind.to_owned(),
    };
    match schema.get("type") {
        Some(Value::String(kind)) => one(kind),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).map(one).collect::<Vec<_>>().join(" or ")
        }
        _ => "anything".to_owned(),
    }
}

const REFERENCE_HEAD: &str = "# Questions

Everything that can be asked of traces and heap snapshots. A question has the same name, parameters, defaults and answer wherever
it is asked: by a command (parameters are its options, files its arguments; `--json` prints the answer as `result`, see
[json.md](json.md)), in the page (`bactrian view`, `GET api/NAME?PARAMETER=VALUE`, with the token of its URL), in a report, and by an
assistant (`bactrian mcp`, `trace_top` for `trace/top`).
Files are numbered from 0, in the order in which they were named.

Generated by `UPDATE_GOLDEN=1 cargo test -p bactrian-analysis --test analysis` from crates/analysis; do not edit.
";

#[test]
fn reference_document_matches_the_questions() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/questions.md");
    let reference = reference();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &reference).expect("a writable checkout");
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == reference, "docs/questions.md is old: UPDATE_GOLDEN=1 writes it anew");
}
