//! Memory that custom blocks hold outside the heap.

use bactrian_capture::heap::customs::{Customs, External, Shares};
use bactrian_capture::memory::Memory;
use bactrian_ocaml::value::header_words;

use bactrian_fixtures::{BOTH, Variant, program};

use crate::programs::Waiting;

/// The fields of a block.
fn fields(program: &Waiting, block: u64) -> Vec<u64> {
    let word = |address| program.memory.word(address).expect("readable");
    let words = header_words(word(block - 8) as usize) as u64;
    (0..words).map(|index| word(block + 8 * index)).collect()
}

/// The elements of a list.
fn members(program: &Waiting, mut list: u64) -> Vec<u64> {
    let mut found = Vec::new();
    while list & 1 == 0 {
        let cell = fields(program, list);
        found.push(cell[0]);
        list = cell[1];
    }
    found
}

#[test]
fn external_memory_of_bigarrays_and_channels_is_measured() {
    for compiler in BOTH {
        let program = Waiting::start(&program("heap_bigarrays", compiler, Variant::Plain), &[]);
        let customs = Customs::new(&program.memory, program.target.version);
        let look = |block: u64| -> (String, External) {
            let words = fields(&program, block);
            let operations = customs.operations(words[0]);
            let external = customs.external(&operations, &words);
            (operations.identifier.expect("an identifier"), external)
        };
        let module = program.target.global("camlHeap_bigarrays").expect("a module");
        let [vectors, matrix, large, cube, rows, part, shaped, empty, boxed, channels] =
            *fields(&program, module).first_chunk().expect("ten values");

        let array = |bytes| ("_bigarr02".to_owned(), External { bytes, shared: None });
        for (n, vector) in members(&program, vectors).into_iter().enumerate() {
            assert_eq!(look(vector), array(n as u64 * 800));
        }
        assert_eq!(look(cube), array(48_000));
        assert_eq!(look(empty), array(0));
        for (block, identifier) in members(&program, boxed)
            .into_iter()
            .flat_map(|triple| fields(&program, triple).into_iter().zip(["_i", "_j", "_n"]))
        {
            assert_eq!(look(block), (identifier.to_owned(), External::default()));
        }

        // Shared memory counts once, for the lowest block.
        let sharing = [vec![matrix], members(&program, rows), vec![large, part, shaped]].concat();
        let mut shares = Shares::default();
        for block in &sharing {
            shares.note(*block, look(*block).1);
        }
        let counted = |blocks: &[u64]| -> u64 {
            blocks.iter().map(|block| shares.bytes_of(*block, look(*block).1)).sum()
        };
        assert_eq!(counted(&sharing), 300 * 200 * 4 + 8_000_000, "{compiler:?}");
        assert_eq!(counted(&[large, part, shaped]), 8_000_000);
        assert_eq!(
            sharing.iter().filter(|block| shares.bytes_of(**block, look(**block).1) > 0).count(),
            2
        );

        let channel = match compiler.version() {
            (4, ..=12) => 65_624,
            (4, _) => 65_616,
            (5, ..=1) => 120 + 65_536,
            _ => 128 + 65_536,
        };
        for block in members(&program, channels) {
            let (identifier, external) = look(block);
            assert_eq!((identifier.as_str(), external.bytes), ("_chan", channel));
            assert!(external.shared.is_some());
        }
    }
}
