//! Which blocks the program may mutate, according to their types. Two equal mutable blocks may differ later,
//! so they must not be shared.

use bactrian_types::{Builtin, DeclarationKind, Field, Table};

use crate::heap::{Class, Heap};

/// For each shape of a heap's blocks, whether it is mutable; None if the heap was opened without types.
pub(super) fn mutable_shapes(heap: &Heap) -> Option<Vec<bool>> {
    let table = heap.table()?;
    let mut of: Vec<Option<bool>> = vec![None; heap.shapes().len()];
    for (block, &shape) in (0..heap.blocks() as u32).zip(heap.shape_of()) {
        if let Some(place @ None) = of.get_mut(shape as usize) {
            let class = heap.type_class(block).map(|(_, class)| class);
            let kind = class.and_then(|class| table.declarations.get(class.declaration?.index()));
            let shape = heap.shapes().get(shape as usize);
            *place = Some(kind.is_some_and(|of| is_mutable(&of.kind, shape, table)));
        }
    }
    Some(of.into_iter().map(|is_mutable| is_mutable == Some(true)).collect())
}

fn is_mutable(kind: &DeclarationKind, shape: Option<&Class>, table: &Table) -> bool {
    let any = |fields: &[Field]| fields.iter().any(|field| field.is_mutable);
    match kind {
        DeclarationKind::Record(_, fields) => any(fields),
        DeclarationKind::Variant(_, constructors) => {
            let tag = shape.and_then(|shape| shape.tag).map(u32::from);
            let of_tag = constructors.iter().filter(|of| Some(of.tag) == tag);
            of_tag.into_iter().any(|constructor| any(&constructor.arguments))
        }
        // The shape does not say which constructor a block has.
        DeclarationKind::Open => table.extensions.iter().any(|extension| any(&extension.arguments)),
        DeclarationKind::Builtin(Builtin::Array | Builtin::Floatarray | Builtin::Bytes) => true,
        DeclarationKind::Builtin(_)
        | DeclarationKind::Abstract(_)
        | DeclarationKind::Alias(_)
        | DeclarationKind::Cases { .. } => false,
    }
}
