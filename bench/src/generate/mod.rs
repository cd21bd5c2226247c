//! Traces of any size, for benchmarks: the allocations of an invented program on a random walk through its
//! calls. The same shape, number of events and seed give the same bytes.

mod heap;
mod program;
pub mod random;
mod shape;
mod walk;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bactrian_trace::{DomainId, Micros, NewAlloc, Source, TraceInfo, Words, Writer};

use heap::{Fate, Heap};
use program::Program;
use random::Random;
use shape::Shape;
use walk::Walk;
use xtask::Outcome;

/// The only domain of a trace of version 2.
const DOMAIN: DomainId = DomainId(0);
/// The maximum size of a block in the minor heap.
const MAX_YOUNG_WORDS: usize = 256;

pub fn run(arguments: &[String]) -> Outcome {
    let (mut shape, mut events, mut seed, mut path) = (None, None, 1, None);
    let mut arguments = arguments.iter();
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{option} needs a value"))?;
        let number = || value.parse().map_err(|_| format!("{option} needs a whole number"));
        match option.as_str() {
            "--shape" => shape = Some(Shape::named(value)?),
            "--events" => events = Some(number()?),
            "--seed" => seed = number()?,
            "-o" => path = Some(PathBuf::from(value)),
            _ => return Err(format!("there is no option {option}")),
        }
    }
    let shape = shape.ok_or("say which --shape: deep, wide or many")?;
    let path = path.ok_or("say where to write it: -o FILE")?;
    write_file(shape, events.unwrap_or(shape.events), seed, &path)
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes to a temporary file beside `path` first, so that a file of that name is always complete.
fn write_file(shape: &Shape, events: u64, seed: u64, path: &Path) -> io::Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    write_trace(File::create(&partial)?, shape, events, seed)?;
    fs::rename(&partial, path)
}

fn write_trace<W: Write>(out: W, shape: &Shape, events: u64, seed: u64) -> io::Result<W> {
    let mut random = Random::new(seed);
    let program = Program::invent(shape, &mut random);
    let mut walk = Walk::new();
    let mut heap = Heap::default();
    let mut writer = Writer::new(out, info(shape))?;
    let mut time = 0;
    let mut left = events;
    while left > 0 {
        time += random.below(shape.longest_pause + 1) as u64;
        let (allocation, stack) = walk.next(&program, shape, &mut random);
        let is_young = allocation.words <= MAX_YOUNG_WORDS;
        // A block was sampled for one of its words; some of its other words were sampled, too.
        let others = shape.sample_rate * allocation.words as f64 + random.unit();
        let new = NewAlloc {
            time: Micros(time),
            domain: DOMAIN,
            length: Words(allocation.words as u64),
            samples: 1 + others as u64,
            source: if is_young { Source::Minor } else { Source::Major },
            stack,
        };
        let id = writer.alloc(&new, &program)?;
        left -= 1;
        if is_young {
            heap.add_young(id);
        } else {
            heap.add_old(id, &mut random);
        }
        if heap.is_full(shape) {
            for fate in heap.collect(shape, &mut random) {
                if left == 0 {
                    break;
                }
                left -= 1;
                match fate {
                    Fate::Promote(id) => writer.promote(Micros(time), DOMAIN, id)?,
                    Fate::Collect(id) => writer.collect(Micros(time), DOMAIN, id)?,
                }
            }
        }
    }
    writer.finish()
}

fn info(shape: &Shape) -> TraceInfo {
    TraceInfo {
        version: 2,
        sample_rate: shape.sample_rate,
        word_bits: 64,
        executable: format!("{}.exe", shape.name).into_bytes(),
        host: b"nowhere".to_vec(),
        runtime_params: Vec::new(),
        pid: 1,
        context: b"generated".to_vec(),
        start: 1_700_000_000_000_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bactrian_trace::{Event, Index, Reader, Stacks};

    fn trace(shape: &Shape, events: u64, seed: u64) -> Vec<u8> {
        write_trace(Vec::new(), shape, events, seed).expect("to memory")
    }

    #[test]
    fn traces_read_back_whole_and_of_their_shape() {
        const EVENTS: u64 = 200_000;
        for shape in shape::SHAPES {
            let bytes = trace(shape, EVENTS, 1);
            let index = Index::skim(&bytes).expect("a readable trace");
            let mut reader = Reader::new(&bytes, &index, Stacks::Decode);
            let (mut allocated, mut promoted, mut collected, mut frames) = (0, 0, 0, 0);
            while let Some(event) = reader.next() {
                match event {
                    Event::Alloc(alloc) => {
                        allocated += 1;
                        frames += alloc.stack.len();
                    }
                    Event::Promote { .. } => promoted += 1,
                    Event::Collect { .. } => collected += 1,
                }
            }
            assert!(reader.losses().is_clean(), "{}: {:?}", shape.name, reader.losses());
            assert_eq!(allocated + promoted + collected, EVENTS, "{}", shape.name);
            assert!(collected > 0 && promoted > 0, "{}", shape.name);
            let depth = frames as f64 / allocated as f64;
            assert!((0.7..1.5).contains(&(depth / shape.depth)), "{}: {depth}", shape.name);
        }
    }

    #[test]
    fn equal_seeds_give_equal_traces() {
        let shape = shape::SHAPES[0];
        assert!(trace(shape, 5_000, 1) == trace(shape, 5_000, 1));
        assert!(trace(shape, 5_000, 1) != trace(shape, 5_000, 2));
    }
}
