//! The promises of the reader of marshalled data, checked on arbitrary bytes.

use bactrian_ocaml::OcamlError;
use bactrian_ocaml::marshal::{Block, Data, Value};

/// Reads `bytes` and checks what must hold for any input.
pub fn check(bytes: &[u8]) {
    let (data, end) = match Data::read(bytes, 0) {
        Ok(read) => read,
        Err(OcamlError::Marshalled { offset, .. }) => {
            assert!(offset <= bytes.len() as u64, "at {offset} of {}", bytes.len());
            return;
        }
        Err(error) => panic!("of another kind: {error}"),
    };
    assert!(end <= bytes.len());
    // Every block begins with a byte of its own.
    assert!(data.block_count() < bytes.len());
    let mut fields = 0;
    let mut waiting = vec![data.root()];
    let mut seen = std::collections::HashSet::new();
    while let Some(value) = waiting.pop() {
        let block = match value {
            Value::Block(block) | Value::Infix { block, .. } => block,
            _ => continue,
        };
        assert!(block.index() < data.block_count());
        if !seen.insert(block) {
            continue;
        }
        let value = Value::Block(block);
        let own = data.fields(value);
        fields += own.len();
        waiting.extend(own);
        let block = data.block(value).expect("it was counted");
        assert_eq!(matches!(block, Block::Fields { .. }), !own.is_empty());
        assert!(data.list(value).count() <= data.block_count());
        if let Block::Doubles(all) = block {
            assert!(all.iter().count() * 8 <= bytes.len());
        }
    }
    // Every block is reachable, and each field takes at least one byte.
    assert_eq!(seen.len(), data.block_count());
    assert!(fields < bytes.len());
}
