//! Recognises collections by the names of their declarations.

use crate::{Builtin, DeclarationKind, Table};

use super::terms::Head;
use super::typing::Collection;

/// The collection that a type is, if any.
pub(crate) fn collection(table: &Table, head: Head) -> Option<Collection> {
    let Head::Declared(id) = head else { return None };
    let declaration = table.declarations.get(id.index())?;
    match declaration.kind {
        DeclarationKind::Builtin(Builtin::Array | Builtin::Floatarray) => {
            return Some(Collection::Array);
        }
        DeclarationKind::Builtin(Builtin::Lazy) => return Some(Collection::Lazy),
        _ => {}
    }
    let generic = declaration.generic.and_then(|id| table.declarations.get(id.index()));
    let name = generic.map_or(&declaration.name, |generic| &generic.name);
    by_name(name)
}

fn by_name(name: &str) -> Option<Collection> {
    let name = name.strip_prefix("Stdlib.").unwrap_or(name);
    let made = |functor: &str| name.starts_with(functor) && name.ends_with(").t");
    Some(match name {
        "list" | "List.t" => Collection::List,
        "Hashtbl.t" => Collection::Hashtbl,
        "Queue.t" => Collection::Queue,
        "Stack.t" => Collection::Stack,
        "Buffer.t" => Collection::Buffer,
        "Seq.node" => Collection::Seq,
        // Declarations in the bodies of functors, to which instances refer.
        "Hashtbl.Make.t" | "Hashtbl.MakeSeeded.t" => Collection::Hashtbl,
        "Map.Make.t" => Collection::Map,
        "Set.Make.t" => Collection::Set,
        _ if made("Hashtbl.Make(") || made("Hashtbl.MakeSeeded(") => Collection::Hashtbl,
        _ if made("Map.Make(") => Collection::Map,
        _ if made("Set.Make(") => Collection::Set,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_standard_library_are_known() {
        let check = |name, expected| assert_eq!(by_name(name), expected, "{name}");
        check("list", Some(Collection::List));
        check("Stdlib.Hashtbl.t", Some(Collection::Hashtbl));
        check("Map.Make(Ord).t", Some(Collection::Map));
        check("Map.Make.t", Some(Collection::Map));
        check("Stdlib.Set.Make(String).t", Some(Collection::Set));
        check("Set.Make(String).enumeration", None);
        check("My.list", None);
    }
}
