//! Classes of blocks as classes of Java: what its objects look like, and what each class is called.

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
    /// As an object with so many fields, all of one type.
    Fields(u32, Type),
    /// As an array of objects: blocks of the class differ in size, or hold more than what is in their fields.
    Elements,
    /// Not at all: it is no class of blocks.
    Nothing,
}

/// Fields that an object has at most; what is larger is better looked at as an array.
pub const MOST_FIELDS: u32 = 64;

/// The form of each class of a heap.
pub fn forms(heap: &Heap) -> Vec<Form> {
    let mut sizes = vec![(u32::MAX, 0); heap.shapes().len()];
    for (&class, &weight) in heap.shape_of().iter().zip(heap.weights()).take(heap.blocks()) {
        if let Some((least, most)) = sizes.get_mut(class as usize) {
            // With their headers.
            *least = weight.min(*least);
            *most = weight.max(*most);
        }
    }
    let sizes =
        sizes.into_iter().map(|(least, most)| (least == most).then(|| most.saturating_sub(1)));
    heap.shapes().iter().zip(sizes).map(|(class, size)| form(class, size)).collect()
}

/// The form of a class whose blocks all have so many words, if they all have as many.
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

/// What the fields of each shape's blocks are called, if they have names; they are the same for all of them.
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

/// What a field without a name is called.
pub fn number(field: u32) -> String {
    format!("f{field}")
}

/// What a class is called; nothing if Java has a name for its arrays. Names of other arrays are as Java has them: tools
/// put `[]` after the rest.
pub fn name(class: &Class, form: Form) -> Option<String> {
    // Some tools take a slash for the end of a package.
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
    fn names_are_as_tools_want_them() {
        let class = class(ClassKind::Closure);
        let called = |form| name(&class, form).unwrap_or_default();
        assert_eq!(called(Form::Fields(3, Type::Object)), "closure Main.f (lib∕main.ml:3)");
        assert_eq!(called(Form::Elements), "[Lclosure Main.f (lib∕main.ml:3);");
        assert_eq!(called(Form::Bytes), "");
    }
}
