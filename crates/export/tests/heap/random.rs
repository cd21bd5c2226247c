//! A random heap in which everything is reachable.

use bactrian_snapshot::*;

/// The number of blocks.
const BLOCKS: u64 = 3_000;

/// Pseudo-random numbers (SplitMix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// The bytes of its snapshot file.
pub fn bytes() -> Vec<u8> {
    let mut chance = Chance(1);
    // Each block but the first is pointed to by an earlier one, and possibly by others.
    let mut targets: Vec<Vec<u32>> = vec![Vec::new(); BLOCKS as usize];
    for block in 1..BLOCKS {
        targets[chance.below(block) as usize].push(block as u32);
        if chance.below(3) == 0 {
            targets[chance.below(BLOCKS) as usize].push(block as u32);
        }
    }
    let columns = Columns::default();
    let mut write = || -> Result<Vec<u8>> {
        let mut writer = Writer::new(Vec::new(), columns, BLOCKS as u32, &Info::default())?;
        let mut group = GroupBuilder::new(columns)?;
        group.start(BlockId(0));
        let mut address = 0x5555_0000_0008;
        for targets in &targets {
            let words = match targets.len() as u64 {
                0 => chance.below(5) + 1,
                pointers => pointers + chance.below(3),
            };
            let is_string = targets.is_empty() && chance.below(2) == 0;
            group.block(address, words, if is_string { tag::STRING } else { 0 });
            address += 8 * (words + 1 + 4 * chance.below(2));
            if is_string {
                group.string(chance.below(8) as u8, b"");
                continue;
            }
            targets.iter().for_each(|&target| group.pointer(BlockId(target)));
            (targets.len() as u64..words).for_each(|_| group.immediate(1));
        }
        writer.group(group.finish()?)?;
        let mut tables = Tables::default();
        for (module, name) in (0..).zip(["Camel", "Dromedary", "Llama"]) {
            tables.modules.push(Module::named(tables.names.add(name)));
            for field in 0..5 {
                let kind = RootKind::Global { module: ModuleId(module), field };
                let block = if module + field == 0 { 0 } else { chance.below(BLOCKS) as u32 };
                tables.roots.push(Root { kind, target: Pointer::to(BlockId(block)) });
            }
        }
        writer.tables(&tables)?;
        writer.finish()
    };
    write().expect("it can be written")
}
