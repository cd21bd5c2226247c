//! Case-insensitive text search.

/// A search pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// In lower case.
    wanted: String,
}

impl Search {
    /// A search for a text; the empty text matches everything.
    pub fn new(text: &str) -> Search {
        Search { wanted: text.to_lowercase() }
    }

    /// Whether `text` contains the pattern. Logs are long, so ASCII text is compared without a copy.
    pub fn finds(&self, text: &str) -> bool {
        let wanted = self.wanted.as_bytes();
        if wanted.is_empty() {
            return true;
        }
        if text.is_ascii() {
            return text.as_bytes().windows(wanted.len()).any(|it| it.eq_ignore_ascii_case(wanted));
        }
        text.to_lowercase().contains(&self.wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_ignores_case() {
        for (search, text, expected) in [
            ("", "", true),
            ("", "x", true),
            ("x", "", false),
            ("Cache", "the CACHE", true),
            ("cached", "cache", false),
            ("é", "CAFÉ", true),
            ("é", "cafe", false),
        ] {
            assert_eq!(Search::new(search).finds(text), expected, "{search} in {text}");
        }
    }
}
