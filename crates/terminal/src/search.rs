//! What the user looks for: a text, in whatever case.

/// A text that is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// In small letters.
    wanted: String,
}

impl Search {
    /// For a text; nothing is in everything.
    pub fn new(text: &str) -> Search {
        Search { wanted: text.to_lowercase() }
    }

    /// Whether a text contains it. Logs are long, so nothing is copied for the letters that most have.
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
    fn cases_do_not_matter() {
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
