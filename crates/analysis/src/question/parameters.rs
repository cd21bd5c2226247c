//! The parameters of a question as all views see them, read from its schema; and their conversion to and from
//! URLs.

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::QuestionError;

/// A struct of parameters: a question, or a part shared by several.
pub trait Parameters: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {}

impl<T: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static> Parameters for T {}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name in URLs and JSON and, after two dashes, on the command line.
    pub name: String,
    /// Its purpose, in a sentence without a full stop.
    pub about: String,
    /// The values it takes.
    pub kind: ParameterKind,
    /// How the command line treats it.
    pub role: Role,
    /// Whether it must be given.
    pub is_required: bool,
    /// Whether it may be given several times.
    pub is_repeated: bool,
    /// Its default.
    pub default: Value,
    /// The placeholder for its value in the help: `ROWS`.
    pub value: String,
    /// An example value.
    pub example: Option<String>,
    /// Its one-letter name.
    pub short: Option<char>,
    /// Another name.
    pub alias: Option<String>,
    /// Its heading in the help.
    pub heading: Option<String>,
    /// A parameter that must be given with it.
    pub requires: Option<String>,
    /// A parameter that must not be given with it.
    pub conflicts: Option<String>,
}

/// How the command line treats a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// As an option with a name: `--depth 3`.
    Option,
    /// As an operand.
    Operand,
    /// As a path among others.
    File,
    /// Not at all: the command's name implies it, or only the page uses it.
    None,
}

/// The values that a parameter takes.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterKind {
    /// Present or absent.
    Flag,
    /// An integer in this range, ends included.
    Integer(u64, u64),
    /// A number in this range, ends included.
    Number(f64, f64),
    /// Any text, or a text that its type parses.
    Text,
    /// One of these words, with explanations.
    Choice(Vec<(String, String)>),
}

/// The schema of a question's parameters, with all subschemas inlined.
pub fn schema<P: Parameters>() -> Arc<Schema> {
    /// Cached, because the command's description, long help and arguments are all read from it.
    static KNOWN: LazyLock<Mutex<HashMap<TypeId, Arc<Schema>>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let made = known.entry(TypeId::of::<P>()).or_insert_with(|| {
        let settings = SchemaSettings::default().with(|settings| settings.inline_subschemas = true);
        Arc::new(settings.into_generator().into_root_schema_for::<P>())
    });
    Arc::clone(made)
}

/// The description of a question: its first sentence, and the rest.
pub fn about<P: Parameters>() -> String {
    text_of(schema::<P>().get("description"))
}

/// The parameters of a question, in the order of their definition.
pub fn parameters<P: Parameters>() -> Vec<Parameter> {
    let schema = schema::<P>();
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        required.is_some_and(|required| required.iter().any(|known| known.as_str() == Some(name)))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten();
    properties.map(|(name, schema)| Parameter::of(name, schema, is_required(name))).collect()
}

impl Parameter {
    fn of(name: &str, schema: &Value, is_required: bool) -> Parameter {
        let said = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
        let items = schema.get("items");
        let one = items.unwrap_or(schema);
        let one = not_null(one);
        let within = |key: &str| said(key).or_else(|| one.get(key)?.as_str().map(str::to_owned));
        let examples = one.get("examples").and_then(Value::as_array);
        Parameter {
            name: name.to_owned(),
            about: text_of(schema.get("description")),
            kind: ParameterKind::of(one),
            role: if one.get("x-file").is_some() {
                Role::File
            } else if schema.get("x-verb").is_some() {
                Role::None
            } else if is_required || schema.get("x-operand").is_some() {
                Role::Operand
            } else {
                Role::Option
            },
            is_required,
            is_repeated: items.is_some(),
            default: schema.get("default").cloned().unwrap_or_default(),
            value: within("x-value").unwrap_or_else(|| name.to_uppercase()),
            example: said("x-example").or_else(|| examples?.first()?.as_str().map(str::to_owned)),
            short: within("x-short").and_then(|short| short.chars().next()),
            alias: within("x-alias"),
            heading: said("x-heading"),
            requires: said("x-requires"),
            conflicts: said("x-conflicts"),
        }
    }

    /// Converts a text to JSON.
    ///
    /// # Errors
    /// If the text is not a value of this parameter.
    pub fn read(&self, text: &str) -> Result<Value, QuestionError> {
        let wrong = |why: String| QuestionError::Parameter {
            name: self.name.clone(),
            value: text.to_owned(),
            why,
        };
        match &self.kind {
            ParameterKind::Flag => Ok(Value::Bool(text != "false")),
            ParameterKind::Integer(least, most) => match text.parse::<u64>() {
                Ok(number) if (*least..=*most).contains(&number) => Ok(number.into()),
                _ => Err(wrong(format!("must be {}", self.kind.values()))),
            },
            ParameterKind::Number(least, most) => match text.parse::<f64>() {
                Ok(number) if (*least..=*most).contains(&number) => Ok(number.into()),
                _ => Err(wrong(format!("must be {}", self.kind.values()))),
            },
            ParameterKind::Text => Ok(text.into()),
            ParameterKind::Choice(words) => match words.iter().any(|(word, _)| word == text) {
                true => Ok(text.into()),
                false => Err(wrong(format!("must be {}", self.kind.values()))),
            },
        }
    }
}

impl ParameterKind {
    /// The possible values, in words.
    pub fn values(&self) -> String {
        match self {
            ParameterKind::Flag => "a flag".to_owned(),
            ParameterKind::Integer(0, u64::MAX) => "a whole number".to_owned(),
            ParameterKind::Integer(least, u64::MAX) => format!("a whole number from {least}"),
            ParameterKind::Integer(least, most) => format!("a whole number from {least} to {most}"),
            ParameterKind::Number(least, most) => {
                let from = (*least > f64::MIN).then(|| format!(" from {least}"));
                let to = (*most < f64::MAX).then(|| format!(" to {most}"));
                format!("a number{}{}", from.unwrap_or_default(), to.unwrap_or_default())
            }
            ParameterKind::Text => "a text".to_owned(),
            ParameterKind::Choice(words) => {
                let words: Vec<_> = words.iter().map(|(word, _)| &**word).collect();
                format!("one of {}", words.join(", "))
            }
        }
    }

    fn of(schema: &Value) -> ParameterKind {
        if let Some(words) = words(schema) {
            return ParameterKind::Choice(words);
        }
        let is = |wanted: &str| match schema.get("type") {
            Some(Value::String(kind)) => kind == wanted,
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
            _ => false,
        };
        let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
        if is("boolean") {
            ParameterKind::Flag
        } else if is("integer") {
            let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
            ParameterKind::Integer(
                bound("minimum").unwrap_or(0),
                bound("maximum").unwrap_or(u64::MAX),
            )
        } else if is("number") {
            let (least, most) = (bound("minimum"), bound("maximum"));
            ParameterKind::Number(least.unwrap_or(f64::MIN), most.unwrap_or(f64::MAX))
        } else {
            ParameterKind::Text
        }
    }
}

/// A nullable schema without the null.
fn not_null(schema: &Value) -> &Value {
    let is_null = |one: &Value| one.get("type").is_some_and(|kind| kind == "null");
    match schema.get("anyOf").and_then(Value::as_array).map(Vec::as_slice) {
        Some([one, null] | [null, one]) if is_null(null) => one,
        _ => schema,
    }
}

/// The words of a choice with their explanations.
fn words(schema: &Value) -> Option<Vec<(String, String)>> {
    let word = |one: &Value| -> Option<(String, String)> {
        Some((one.get("const")?.as_str()?.to_owned(), text_of(one.get("description"))))
    };
    if let Some(several) = schema.get("oneOf").and_then(Value::as_array) {
        return several.iter().map(word).collect();
    }
    // A union of choices is a choice of all their words.
    if let Some(several) = schema.get("anyOf").and_then(Value::as_array) {
        let choices: Option<Vec<_>> = several.iter().map(words).collect();
        return choices.map(|choices| choices.concat());
    }
    let several = schema.get("enum")?.as_array()?;
    let plain = |one: &Value| one.as_str().map(|word| (word.to_owned(), String::new()));
    Some(several.iter().filter_map(plain).collect())
}

/// A description with each paragraph on one line, without the final full stop.
fn text_of(description: Option<&Value>) -> String {
    let text = description.and_then(Value::as_str).unwrap_or_default();
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n").trim_end_matches('.').to_owned()
}

/// Parses a question from names and values, as in a URL.
///
/// # Errors
/// If a name or a value is wrong, or something is missing.
pub fn read<'p, P: Parameters>(
    pairs: impl IntoIterator<Item = (&'p str, &'p str)>,
) -> Result<P, QuestionError> {
    let known = parameters::<P>();
    let mut values = Map::new();
    for (name, text) in pairs {
        let Some(parameter) = known.iter().find(|parameter| parameter.name == name) else {
            let names: Vec<_> = known.iter().map(|parameter| &*parameter.name).collect();
            return Err(QuestionError::Parameter {
                name: name.to_owned(),
                value: text.to_owned(),
                why: format!("no such parameter; known are {}", names.join(", ")),
            });
        };
        let value = parameter.read(text)?;
        if !parameter.is_repeated {
            values.insert(name.to_owned(), value);
        } else if let Value::Array(several) =
            values.entry(name).or_insert_with(|| Value::Array(Vec::new()))
        {
            several.push(value);
        }
    }
    from_json(values)
}

/// Parses a question from JSON, as assistants send it.
///
/// # Errors
/// If a name or a value is wrong, or something is missing.
pub fn from_json<P: Parameters>(values: Map<String, Value>) -> Result<P, QuestionError> {
    let known = parameters::<P>();
    for (name, value) in &values {
        let Some(parameter) = known.iter().find(|parameter| parameter.name == *name) else {
            let names: Vec<_> = known.iter().map(|parameter| &*parameter.name).collect();
            let why = format!("no such parameter; known are {}", names.join(", "));
            return Err(QuestionError::Parameter { name: name.clone(), value: shown(value), why });
        };
        // Strings and numbers must be valid as texts, too.
        let several = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for one in several.iter().filter(|one| one.is_string() || one.is_number()) {
            parameter.read(&shown(one))?;
        }
    }
    for Parameter { name, about, .. } in known.iter().filter(|parameter| parameter.is_required) {
        if !values.contains_key(name) {
            let why = format!("missing: {about}");
            return Err(QuestionError::Parameter { name: name.clone(), value: String::new(), why });
        }
    }
    let all = serde_json::from_value(Value::Object(values.clone()));
    all.map_err(|error| {
        // To find the wrong parameter, each is parsed by itself.
        let needed = |name: &str| known.iter().any(|p| p.name == name && p.is_required);
        let alone = |name: &String| -> Map<String, Value> {
            let wanted = values.iter().filter(|(other, _)| *other == name || needed(other));
            wanted.map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        let guilty = values.iter().find_map(|(name, value)| {
            let error = serde_json::from_value::<P>(Value::Object(alone(name))).err()?;
            Some((name.clone(), shown(value), error.to_string()))
        });
        match guilty {
            Some((name, value, why)) => QuestionError::Parameter { name, value, why },
            None => QuestionError::Wrong(error.to_string()),
        }
    })
}

/// Names and values that differ from the defaults, in the order of their definition; a flag has no value.
pub fn pairs<P: Parameters>(question: &P) -> Vec<(Parameter, String)> {
    let Ok(Value::Object(values)) = serde_json::to_value(question) else { return Vec::new() };
    let mut pairs = Vec::new();
    for parameter in parameters::<P>() {
        match values.get(&parameter.name) {
            None | Some(Value::Null | Value::Bool(false)) => {}
            Some(value) if *value == parameter.default => {}
            Some(Value::Bool(true)) => pairs.push((parameter, String::new())),
            Some(Value::Array(several)) => {
                pairs.extend(several.iter().map(|one| (parameter.clone(), shown(one))));
            }
            Some(value) => pairs.push((parameter, shown(value))),
        }
    }
    pairs
}

/// Likewise, but always including files: how the page writes a question.
pub fn pairs_with_files<P: Parameters>(question: &P) -> Vec<(String, String)> {
    let Ok(Value::Object(values)) = serde_json::to_value(question) else { return Vec::new() };
    let mut pairs = Vec::new();
    for Parameter { name, .. } in parameters::<P>().iter().filter(|p| p.role == Role::File) {
        match values.get(name) {
            Some(Value::Array(several)) => {
                pairs.extend(several.iter().map(|one| (name.clone(), shown(one))));
            }
            Some(value) => pairs.push((name.clone(), shown(value))),
            None => {}
        }
    }
    let others = self::pairs(question).into_iter().filter(|(known, _)| known.role != Role::File);
    pairs.extend(others.map(|(parameter, value)| (parameter.name, value)));
    pairs
}

/// A value as written in URLs and on the command line.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if !number.is_u64() && float.fract() == 0.0 => format!("{float:.0}"),
            _ => number.to_string(),
        },
        Value::Array(several) => several.iter().map(shown).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// Like JavaScript's `encodeURIComponent`.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
