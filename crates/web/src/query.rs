//! The parameters of a question, as in a URL.

/// Names and values, in the given order; names may repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Parses the part of a URL after the `?`.
    pub fn parse(text: &str) -> Query {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
        Query(pairs.collect())
    }

    /// All pairs.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }
}

/// Decodes `%41` and `+`; invalid sequences stay as they are.
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
    fn url_escapes_are_decoded() {
        let query = Query::parse("in=Main.load&in=%2F%5EStdlib%2F&hide=a+b&recursion&odd=%zz%+1%");
        let pairs: Vec<_> = query.pairs().iter().map(|(name, value)| (&**name, &**value)).collect();
        let expected = [
            ("in", "Main.load"),
            ("in", "/^Stdlib/"),
            ("hide", "a b"),
            ("recursion", ""),
            ("odd", "%zz% 1%"),
        ];
        assert_eq!(pairs, expected);
    }
}
