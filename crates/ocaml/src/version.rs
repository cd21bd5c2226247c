//! Versions of OCaml.

use core::fmt;

/// A version of OCaml, as far as its runtime's layouts depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The major version: 4 or 5.
    pub major: u8,
    /// The minor version: 13 in 4.13.
    pub minor: u8,
}

impl Version {
    /// `Version::new(4, 13)` is OCaml 4.13.
    pub const fn new(major: u8, minor: u8) -> Version {
        Version { major, minor }
    }

    /// The version at the beginning of a text such as `4.13.1` or `5.3.0+options`.
    ///
    /// None if there is none, or one that OCaml never had.
    pub fn parse(text: &str) -> Option<Version> {
        let (major, rest) = text.split_once('.')?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (minor, _) = rest.split_at_checked(end)?;
        let number = |digits: &str| {
            let is_plain = digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
            is_plain.then(|| digits.parse().ok())?
        };
        let version = Version::new(number(major)?, number(minor)?);
        (Version::new(3, 0)..Version::new(10, 0)).contains(&version).then_some(version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // These versions are written 4.08, but 5.3.
        let digits = if self.major < 5 { 2 } else { 1 };
        write!(f, "{}.{:0digits$}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern crate std;

    #[test]
    fn versions_are_read_from_what_programs_say() {
        for (text, major, minor) in
            [("4.13.1", 4, 13), ("5.3.0+options", 5, 3), ("4.02.3", 4, 2), ("5.2~beta", 5, 2)]
        {
            assert_eq!(Version::parse(text), Some(Version::new(major, minor)), "{text}");
        }
        assert_eq!(std::format!("{} {}", Version::new(4, 8), Version::new(5, 3)), "4.08 5.3");
        for text in ["", "4", "4.", ".4", "four.two", "1.2.3", "12.4", "4.-1", "4.113.1", "+4.1"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }
}
