//! Graphs in files that can be mapped: four 8-byte numbers (nodes, edges, root, unused), and columns of 4-byte
//! numbers.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use bactrian_graph::{Column, Graph, MappedFile, Node};

const HEADER: usize = 32;

/// A graph to be written.
pub struct Written {
    pub offsets: Vec<u32>,
    pub targets: Vec<u32>,
    pub weights: Vec<u32>,
    pub root: u32,
}

impl Written {
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let numbers = [self.weights.len(), self.targets.len(), self.root as usize, 0];
        let write = || -> std::io::Result<()> {
            let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
            for number in numbers {
                file.write_all(&(number as u64).to_ne_bytes())?;
            }
            for column in [&self.offsets, &self.targets, &self.weights] {
                for number in column {
                    file.write_all(&number.to_ne_bytes())?;
                }
            }
            file.flush()
        };
        write().map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// A graph read from a file.
pub struct Opened {
    pub graph: Graph,
    pub weights: Column<u32>,
    pub root: Node,
    /// The size of the graph in bytes, without weights.
    pub bytes: usize,
}

impl Opened {
    pub fn open(path: &Path) -> Result<Opened, String> {
        let context = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let file = File::open(path).map_err(|error| context(&error))?;
        let file = MappedFile::new(&file).map_err(|error| context(&error))?;
        let number = |at: usize| {
            let bytes =
                file.bytes().get(at * 8..at * 8 + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map(|bytes| u64::from_ne_bytes(bytes) as usize).ok_or("it is cut")
        };
        let read = || -> Result<Opened, Box<dyn std::error::Error>> {
            let (nodes, edges) = (number(0)?, number(1)?);
            let targets = HEADER + 4 * (nodes + 1);
            let weights = targets + 4 * edges;
            let graph = Graph::new(file.column(HEADER..targets)?, file.column(targets..weights)?)?;
            let end = weights + 4 * nodes;
            let bytes = weights - HEADER;
            let weights = file.column(weights..end)?;
            Ok(Opened { graph, weights, root: number(2)? as Node, bytes })
        };
        read().map_err(|error| context(&error))
    }
}
