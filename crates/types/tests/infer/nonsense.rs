//! Programs and heaps that make no sense, generated from numbers. The fuzz target generates them, too.

use bactrian_snapshot::tag;
use bactrian_types::{Case, DeclarationKind, ModuleItem, Representation, SiteKind, Type, TypeId};

use super::world::{Int, To, Value, World, constructor, named_fields};

const TAGS: &[u8] = &[0, 0, 0, 0, 1, 2, 246, 247, 248, 250, 251, 252, 253, 254, 255];

/// A program generated from numbers.
pub fn program(numbers: &[u32]) -> World {
    let mut numbers = numbers.iter().copied().cycle();
    let mut pick = move |below: usize| numbers.next().unwrap_or(0) as usize % below.max(1);
    let mut world = World::new();
    let first = world.table.declarations.len();
    // Types that consist of each other in any way.
    for _ in 0..12 {
        let known = world.table.types.len();
        let of = |pick: &mut dyn FnMut(usize) -> usize| TypeId(pick(known) as u32);
        match pick(8) {
            0 => {
                let number = pick(3) as u32;
                world.variable(number);
            }
            1 => {
                let parts = (0..2 + pick(2)).map(|_| of(&mut pick)).collect();
                world.of(Type::Tuple(parts));
            }
            2 => {
                let (argument, result) = (of(&mut pick), of(&mut pick));
                world.of(Type::Arrow { label: "".into(), argument, result });
            }
            3 => {
                let inner = of(&mut pick);
                world.lazy(inner);
            }
            4 => {
                let inner = of(&mut pick);
                world.array(inner);
            }
            _ => {
                // Possibly one that is declared later.
                let declaration = bactrian_types::DeclarationId((first + pick(8)) as u32);
                let argument = of(&mut pick);
                world.of(Type::Constructed { declaration, arguments: vec![argument] });
            }
        }
    }
    let known = world.table.types.len();
    for at in 0..8 {
        let mut of = || TypeId(pick(known) as u32);
        let (one, two, three) = (of(), of(), of());
        let unboxed = Representation::Unboxed;
        let kind = match pick(8) {
            0 => DeclarationKind::Alias(one),
            1 => DeclarationKind::Record(
                Representation::Boxed,
                named_fields(&[("a", one), ("b", two)]),
            ),
            2 => DeclarationKind::Record(unboxed, named_fields(&[("a", one)])),
            3 => DeclarationKind::Abstract("".into()),
            4 => DeclarationKind::Cases {
                cases: vec![Case { name: "A".into(), hash: 1, of: Some(one) }],
                is_closed: false,
            },
            5 => {
                let mut made = constructor("G", 1, &[("", two), ("", three)]);
                made.result = Some(vec![one]);
                DeclarationKind::Variant(
                    Representation::Boxed,
                    vec![constructor("C", 0, &[("", one)]), made],
                )
            }
            6 => {
                let mut made = constructor("U", 0, &[("", two)]);
                made.result = Some(vec![one]);
                DeclarationKind::Variant(unboxed, vec![made])
            }
            _ => DeclarationKind::Open,
        };
        let id = world.declare(&format!("t{at}"), 1, kind);
        if pick(4) == 0 {
            let generic = bactrian_types::DeclarationId((first + pick(8)) as u32);
            world.table.declarations[id.index()].generic = Some(generic);
        }
    }
    let blocks = 30;
    for _ in 0..blocks {
        let tag = TAGS[pick(TAGS.len())];
        let least = if tag == tag::CLOSURE { 2 } else { 1 };
        let value = |pick: &mut dyn FnMut(usize) -> usize| match pick(3) {
            0 => Int(pick(3) as i64),
            _ => To(pick(blocks) as u32),
        };
        let fields: Vec<Value> = (0..least + pick(3)).map(|_| value(&mut pick)).collect();
        let fields = if tag == tag::CUSTOM { &fields[..1] } else { &fields[..] };
        world.block(tag, fields);
    }
    for _ in 0..6 {
        let (of, block) = (TypeId(pick(known) as u32), pick(blocks) as u32);
        world.global("g", ModuleItem::Value(of), block);
    }
    for line in 1..12 {
        let of = TypeId(pick(known) as u32);
        let kind = [SiteKind::Constructor, SiteKind::Record, SiteKind::Other][pick(3)];
        world.site(line, kind, (pick(3) as u8, 1 + pick(3) as u32), of, "");
    }
    for block in 0..blocks as u32 {
        world.sample(1 + pick(12) as u32, block);
    }
    world
}
