//! An observer's name, with the other properties that can be given at its creation.

use bactrian_live::{Unit, names};

/// Longer names and labels are cut, in bytes.
const LONGEST: usize = 200;
/// The most labels of an observer.
const MOST_LABELS: usize = 16;

/// The name of an observer. A string suffices; labels, unit and period may be added.
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
    /// A name. Names reserved for the runtime and the operating system get the prefix `program.`, because
    /// other sources provide those.
    pub fn new(name: impl AsRef<str>) -> Name {
        let name = name.as_ref();
        if names::is_reserved(name) {
            return Name::reserved(&format!("program.{name}"));
        }
        Name::reserved(name)
    }

    /// A name that may be one of [`bactrian_live::names`]: for libraries that report the numbers of a
    /// runtime.
    pub fn reserved(name: &str) -> Name {
        Name { name: cut(name, LONGEST), ..Name::default() }
    }

    /// Adds a label that distinguishes observers of the same name. At most 16 are kept.
    pub fn label(mut self, key: impl AsRef<str>, value: impl AsRef<str>) -> Name {
        if self.labels.len() < MOST_LABELS {
            self.labels.push((cut(key.as_ref(), LONGEST), cut(value.as_ref(), LONGEST)));
        }
        self
    }

    /// Sets the unit of the values.
    pub fn unit(mut self, unit: Unit) -> Name {
        self.unit = unit;
        self
    }

    /// Sets the milliseconds between values. 0, the default, means the server's period.
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

/// The beginning of a text, with an ellipsis if it was cut.
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
    fn text_is_cut_at_a_character_boundary() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("shorter", 6), "sho…");
        assert_eq!(cut("äöü", 5), "ä…");
        assert_eq!(cut("äöü", 1), "…");
    }

    #[test]
    fn reserved_names_get_a_prefix() {
        assert_eq!(Name::new("runtime.heap").name, "program.runtime.heap");
        assert_eq!(Name::reserved("runtime.heap").name, "runtime.heap");
    }
}
