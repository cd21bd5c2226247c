//! Versions of OCaml.

use core::fmt;

/// A version of OCaml, as far as its runtime's layouts depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 4 or 5.
    pub major: u8,
    /// 13 in 4.13.
    pub minor: u8,
}

impl Version {
    /// `Version::new(4, 13)` is OCaml 4.13.
    pub const fn new(major: u8, minor: u8) -> Version {
        Version { major, minor }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
