//! A setting of the two parameters, in the forms in which a program can be given it.

use std::fmt;

use bactrian_ocaml::Version;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes in a word.
pub const WORD: u64 = 8;
/// The range of minor heap sizes that the runtime accepts, in words.
pub const MINOR_HEAP: std::ops::RangeInclusive<u64> = 257..=1 << 28;
/// The values of `o` that make sense: below 1, the collector would run all the time.
pub const OVERHEAD: std::ops::RangeInclusive<u64> = 1..=1_000_000;
/// The number of domains for which OCaml 5 reserves minor heaps, unless `d` says otherwise.
const MOST_DOMAINS: u64 = 128;

/// The parameters `s` and `o`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Setting {
    /// Words of each minor heap.
    pub s: u64,
    /// `space_overhead`, in percent of the live heap.
    pub o: u64,
}

impl Setting {
    /// The value of `OCAMLRUNPARAM` with these two parameters added to, or replaced in, the present value.
    pub fn ocamlrunparam(self, present: &str) -> String {
        let others = present.split(',').filter(|item| !item.is_empty());
        let others = others.filter(|item| !item.starts_with(['s', 'o']));
        let ours = [format!("s={}", short_words(self.s)), format!("o={}", self.o)];
        let all: Vec<String> = others.map(str::to_owned).chain(ours).collect();
        all.join(",")
    }

    /// The stanza of a dune file that sets it for whatever dune runs (`dune exec`, tests). Installed programs do not get it:
    /// runtime parameters are not linker options.
    pub fn dune(self, present: &str) -> String {
        format!("(env (_ (env-vars (OCAMLRUNPARAM \"{}\"))))", self.ocamlrunparam(present))
    }

    /// The call that sets it in the program itself, wherever it runs, but only after the runtime has started.
    pub fn gc_set(self) -> String {
        format!(
            "let () = Gc.set {{ (Gc.get ()) with minor_heap_size = {}; space_overhead = {} }}",
            self.s, self.o
        )
    }

    /// Bytes of address space that OCaml 5 reserves for minor heaps, for the maximum number of domains. None for OCaml 4.
    pub fn reservation(self, version: Option<Version>, present: &str) -> Option<u64> {
        if version? < Version::new(5, 0) {
            return None;
        }
        let item = present.split(',').find_map(|item| item.strip_prefix("d="));
        let domains = item.and_then(|number| number.parse().ok()).unwrap_or(MOST_DOMAINS);
        Some(self.s.saturating_mul(WORD).saturating_mul(domains))
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s={},o={}", short_words(self.s), self.o)
    }
}

/// A number of words in the syntax of `OCAMLRUNPARAM`: 256k, 4M, 1000.
pub fn short_words(words: u64) -> String {
    const UNITS: [(u64, &str); 2] = [(1 << 20, "M"), (1 << 10, "k")];
    let unit = UNITS.iter().find(|(size, _)| words > 0 && words.is_multiple_of(*size));
    unit.map_or_else(|| words.to_string(), |(size, name)| format!("{}{name}", words / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTING: Setting = Setting { s: 1 << 20, o: 200 };

    #[test]
    fn other_parameters_are_kept() {
        for (present, expected) in [
            ("", "s=1M,o=200"),
            ("b", "b,s=1M,o=200"),
            ("s=4k,b,v=0x400,o=80", "b,v=0x400,s=1M,o=200"),
            ("O=1000,,M=50", "O=1000,M=50,s=1M,o=200"),
        ] {
            assert_eq!(SETTING.ocamlrunparam(present), expected);
        }
    }

    #[test]
    fn words_are_written_as_the_runtime_reads_them() {
        for (words, text) in
            [(262_144, "256k"), (1 << 22, "4M"), (1_000, "1000"), (0, "0"), (1 << 30, "1024M")]
        {
            assert_eq!(short_words(words), text);
        }
    }

    #[test]
    fn only_ocaml_5_reserves_minor_heaps() {
        let of =
            |major, minor, present| SETTING.reservation(Some(Version::new(major, minor)), present);
        assert_eq!(of(4, 14, ""), None);
        assert_eq!(of(5, 3, ""), Some(1 << 30));
        assert_eq!(of(5, 3, "b,d=16"), Some(1 << 27));
        assert_eq!(SETTING.reservation(None, ""), None);
    }
}
