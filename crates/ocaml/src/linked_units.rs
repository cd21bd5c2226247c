//! The compilation units that a program was linked from, with the digests of their compiled files. The digests
//! tell whether a file beside the program is still the one that the program was linked from.
//!
//! Native programs contain them for Dynlink, marshalled, in a string called `caml_globals_map`; bytecode has
//! them in the section CRCS. Both are lists of tuples that begin with the unit's name and the digest of its
//! interface, if there is one. In native programs the digest of the implementation follows. Plugins contain
//! their own.

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::OcamlError;
use crate::marshal::{Data, Value};

/// The digest of a compiled file, as computed by OCaml's `Digest`.
pub type Digest = [u8; 16];

/// A compilation unit of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedUnit {
    /// Its name, such as `Stdlib__Map`.
    pub name: String,
    /// The digest of its interface (`.cmi`).
    pub interface: Option<Digest>,
    /// The digest of its implementation (`.cmx`). None in bytecode, and for units of which only the interface
    /// was used.
    pub implementation: Option<Digest>,
}

/// Reads the marshalled list at the beginning of `bytes`.
///
/// # Errors
/// If it is not a marshalled value. Elements that are not units are skipped.
pub fn linked_units(bytes: &[u8]) -> Result<Vec<LinkedUnit>, OcamlError> {
    let (data, _) = Data::read(bytes, 0)?;
    let units = data.list(data.root()).filter_map(|unit| {
        let name = data.string(data.field(unit, 0)?)?;
        Some(LinkedUnit {
            name: String::from_utf8_lossy(name).into_owned(),
            interface: digest(&data, data.field(unit, 1)),
            implementation: digest(&data, data.field(unit, 2)),
        })
    });
    Ok(units.collect())
}

/// Reads the marshalled header of a plugin from its string `caml_plugin_header`: a magic number and a list of
/// units. Each unit has a name, the digest of its implementation, and the digests of all interfaces that it
/// imports, its own included.
///
/// # Errors
/// If it is not a marshalled value. Elements that are not units are skipped.
pub fn plugin_units(bytes: &[u8]) -> Result<Vec<LinkedUnit>, OcamlError> {
    let (data, _) = Data::read(bytes, 0)?;
    let Some(list) = data.field(data.root(), 1) else { return Ok(Vec::new()) };
    let units = data.list(list).filter_map(|unit| {
        let name = data.string(data.field(unit, 0)?)?;
        let is_own =
            |import: &Value| data.field(*import, 0).and_then(|of| data.string(of)) == Some(name);
        let own = data.field(unit, 2).and_then(|imports| data.list(imports).find(is_own));
        Some(LinkedUnit {
            name: String::from_utf8_lossy(name).into_owned(),
            interface: own.and_then(|own| digest(&data, data.field(own, 1))),
            implementation: data.string(data.field(unit, 1)?)?.try_into().ok(),
        })
    });
    Ok(units.collect())
}

/// `Some digest`, as OCaml stores it.
fn digest(data: &Data<'_>, option: Option<Value>) -> Option<Digest> {
    data.string(data.field(option?, 0)?)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// `[("A", Some (String.make 16 'i'), Some (String.make 16 'm'), []); ("B", None, None, [])]`, marshalled.
    fn two() -> Vec<u8> {
        let mut body = vec![0xA0, 0xC0, 0x21, b'A'];
        for letter in [b'i', b'm'] {
            body.extend([0x90, 0x30]);
            body.extend([letter; 16]);
        }
        body.extend([0x40, 0xA0, 0xC0, 0x21, b'B', 0x40, 0x40, 0x40, 0x40]);
        let mut bytes = vec![0x84, 0x95, 0xA6, 0xBE];
        bytes.extend((body.len() as u32).to_be_bytes());
        bytes.extend([0; 3].map(|_: u32| 0).iter().flat_map(|n: &u32| n.to_be_bytes()));
        bytes.extend(body);
        bytes
    }

    #[test]
    fn units_have_digests() {
        let unit = |name: &str, interface, implementation| LinkedUnit {
            name: name.into(),
            interface,
            implementation,
        };
        let expected = vec![unit("A", Some([b'i'; 16]), Some([b'm'; 16])), unit("B", None, None)];
        assert_eq!(linked_units(&two()).expect("it is marshalled"), expected);
        assert!(linked_units(&two()[..30]).is_err());
        assert!(linked_units(b"").is_err());
    }
}
