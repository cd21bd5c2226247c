//! The parameters of a question, as a URL has them.

use std::str::FromStr;

use bactrian_analysis::question::QuestionError;

/// Names and values, in the order given; a name may come several times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Of what follows the `?` of a URL.
    pub fn parse(text: &str) -> Query {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
        Query(pairs.collect())
    }

    /// All of them.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The value of this name, the last one if there are several.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// Whether the name is there, with whatever value.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The value of this name, read as what is wanted.
    ///
    /// # Errors
    /// If it is there and cannot be read so.
    pub fn read<T: FromStr>(&self, name: &str) -> Result<Option<T>, QuestionError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let wrong = || QuestionError::Wrong(format!("{name}={text} is not understood"));
        text.parse().map(Some).map_err(|_| wrong())
    }

    /// The same, or this if it is not there.
    ///
    /// # Errors
    /// If it is there and cannot be read so.
    pub fn read_or<T: FromStr>(&self, name: &str, otherwise: T) -> Result<T, QuestionError> {
        Ok(self.read(name)?.unwrap_or(otherwise))
    }
}

/// Takes `%41` and `+` back; what is no such thing stays as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let escaped = digits.filter(|_| *first == b'%' && !after.starts_with(b"+"));
        match escaped.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(if *first == b'+' { b' ' } else { *first });
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_escaped_is_taken_back() {
        let query = Query::parse("in=Main.load&in=%2F%5EStdlib%2F&hide=a+b&recursion&odd=%zz%+1%");
        assert_eq!(query.iter().count(), 5);
        assert_eq!(query.get("in"), Some("/^Stdlib/"));
        assert_eq!(query.get("hide"), Some("a b"));
        assert!(query.has("recursion"));
        assert_eq!(query.get("odd"), Some("%zz% 1%"));
    }
}
