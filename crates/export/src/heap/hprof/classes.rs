//! Classes of blocks as Java classes: the form of their objects, and the names of the classes.

use bactrian_analysis::heap::{Class, ClassKind, Heap};
use bactrian_snapshot::BlockId;

use super::records::Type;

/// How the blocks of a class are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As an array of bytes.
    Bytes,
    /// As an array of doubles.
    Doubles,
    /// As an object with this many fields, all of one type.
    Fields(u32, Type),
    /// As an array of objects: the blocks differ in size, or hold more than their fields do.
    Elements,
    /// Not at all: it is not a class of blocks.
    Nothing,
}

/// The maximum number of fields of an object; larger blocks are easier to read as arrays.
pub const MOST_FIELDS: u32 = 64;

/// The form of each class of a heap.
pub fn forms(heap: &Heap) -> Vec<Form> {
    let mut sizes = vec![(u32::MAX, 0); heap.shapes().len()];
    for (&class, &weight) in heap.shape_of().iter().zip(heap.weights()).take(heap.blocks()) {
        if let Some((least, most)) = sizes.get_mut(class as usize) {
            // Including headers.
            *least = weight.min(*least);
            *most = weight.max(*most);
        }
    }
    let sizes =
        sizes.into_iter().map(|(least, most)| (least == most).then(|| most.saturating_sub(1)));
    heap.shapes().iter().zip(sizes).map(|(class, size)| form(class, size)).collect()
}

/// The form of a class; `size` is the size of its blocks in words if all have the same.
fn form(class: &Class, size: Option<u32>) -> Form {
    let type_of_fields = match class.kind {
        ClassKind::String => return Form::Bytes,
        ClassKind::FloatArray => return Form::Doubles,
        ClassKind::Holder | ClassKind::Unread => return Form::Nothing,
        ClassKind::Continuation | ClassKind::Ephemeron => return Form::Elements,
        ClassKind::Float => Type::Double,
        ClassKind::Custom | ClassKind::Abstract => Type::Long,
        _ => Type::Object,
    };
    match size {
        Some(size @ ..=MOST_FIELDS) => Form::Fields(size, type_of_fields),
        _ => Form::Elements,
    }
}

/// The names of the fields of each shape's blocks, if they have names; all blocks of a shape have the same
/// ones.
pub fn field_names(heap: &Heap, forms: &[Form]) -> Vec<Vec<String>> {
    let mut names: Vec<Option<Vec<String>>> = vec![None; forms.len()];
    for (node, &shape) in (0..heap.blocks() as u32).zip(heap.shape_of()) {
        let (Some(place @ None), Some(form)) =
            (names.get_mut(shape as usize), forms.get(shape as usize))
        else {
            continue;
        };
        let count = match form {
            Form::Fields(count, _) if !heap.contents_decide(node) => *count,
            _ => 0,
        };
        let name = |field: u32| {
            let typing = heap.typing()?;
            typing.field_name(BlockId(node), u64::from(field)).map(str::to_owned)
        };
        *place =
            Some((0..count).map(|field| name(field).unwrap_or_else(|| number(field))).collect());
    }
    names.into_iter().map(Option::unwrap_or_default).collect()
}

/// The name of a field without a name.
pub fn number(field: u32) -> String {
    format!("f{field}")
}

/// The name of a class; None if Java has a name for its arrays. Other arrays have names in Java's format: tools
/// append `[]`.
pub fn name(class: &Class, form: Form) -> Option<String> {
    // Some tools take a slash for the end of a package name.
    let name = class.title().replace('/', "∕");
    match form {
        Form::Elements => Some(format!("[L{};", name.replace(';', ","))),
        Form::Fields(..) => Some(name),
        Form::Bytes | Form::Doubles | Form::Nothing => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(kind: ClassKind) -> Class {
        let place = Some("lib/main.ml:3".to_owned());
        Class { kind, name: "closure Main.f".to_owned(), place, tag: None, type_name: None }
    }

    #[test]
    fn blocks_that_differ_are_arrays() {
        let of = |kind, size| form(&class(kind), size);
        assert_eq!(of(ClassKind::Structured, Some(3)), Form::Fields(3, Type::Object));
        assert_eq!(of(ClassKind::Structured, Some(65)), Form::Elements);
        assert_eq!(of(ClassKind::Closure, None), Form::Elements);
        assert_eq!(of(ClassKind::Custom, Some(2)), Form::Fields(2, Type::Long));
        assert_eq!(of(ClassKind::Ephemeron, Some(2)), Form::Elements);
        assert_eq!(of(ClassKind::String, Some(2)), Form::Bytes);
    }

    #[test]
    fn class_names_have_javas_form() {
        let class = class(ClassKind::Closure);
        let called = |form| name(&class, form).unwrap_or_default();
        assert_eq!(called(Form::Fields(3, Type::Object)), "closure Main.f (lib∕main.ml:3)");
        assert_eq!(called(Form::Elements), "[Lclosure Main.f (lib∕main.ml:3);");
        assert_eq!(called(Form::Bytes), "");
    }
}
