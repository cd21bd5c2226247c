//! What an observer is called, and what else can be said about it when it is made.

use bactrian_live::{Unit, names};

/// Names and labels longer than this are cut.
const LONGEST: usize = 200;
/// So many labels are kept.
const MOST_LABELS: usize = 16;

/// What an observer is called. A text is enough; labels, unit and period may be added.
///
/// ```
/// use bactrian_observe::{Name, Point};
/// let gets = Point::new(Name::new("requests").label("method", "GET"));
/// gets.hit();
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name {
    pub(crate) name: String,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) unit: Unit,
    pub(crate) period_ms: u32,
}

impl Name {
    /// A name. Those of the runtime and of the system are put under `program.`, since they are told by others.
    pub fn new(name: impl AsRef<str>) -> Name {
        let name = name.as_ref();
        if names::is_reserved(name) {
            return Name::reserved(&format!("program.{name}"));
        }
        Name::reserved(name)
    }

    /// A name that may be one of [`bactrian_live::names`]: for libraries that speak for a runtime.
    pub fn reserved(name: &str) -> Name {
        Name { name: cut(name, LONGEST), ..Name::default() }
    }

    /// Adds what tells it apart from others of the same name. No more than 16 are kept.
    pub fn label(mut self, key: impl AsRef<str>, value: impl AsRef<str>) -> Name {
        if self.labels.len() < MOST_LABELS {
            self.labels.push((cut(key.as_ref(), LONGEST), cut(value.as_ref(), LONGEST)));
        }
        self
    }

    /// What its numbers mean.
    pub fn unit(mut self, unit: Unit) -> Name {
        self.unit = unit;
        self
    }

    /// Milliseconds between values. 0, as it is without this: those of the server.
    pub fn period(mut self, milliseconds: u32) -> Name {
        self.period_ms = milliseconds;
        self
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Name {
        Name::new(name)
    }
}

impl From<String> for Name {
    fn from(name: String) -> Name {
        Name::new(name)
    }
}

/// The beginning of a text, with a mark if something is missing.
pub(crate) fn cut(text: &str, longest: usize) -> String {
    const MARK: &str = "…";
    if text.len() <= longest {
        return text.to_owned();
    }
    let mut end = longest.saturating_sub(MARK.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{MARK}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_letters() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("shorter", 6), "sho…");
        assert_eq!(cut("äöü", 5), "ä…");
        assert_eq!(cut("äöü", 1), "…");
    }

    #[test]
    fn names_of_the_runtime_are_not_for_programs() {
        assert_eq!(Name::new("runtime.heap").name, "program.runtime.heap");
        assert_eq!(Name::reserved("runtime.heap").name, "runtime.heap");
    }
}
