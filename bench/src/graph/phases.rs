//! Runs in the measured process: one algorithm after the other, with the cost of each.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use bactrian_graph::{
    Components, Graph, Limits, NONE, Node, Standing, components, dominators, duplicates,
    fair_shares, reach, reduce, shortest,
};

use super::file::Opened;
use super::others::checksum;
use xtask::Outcome;

/// The cost of one phase, as the measured process prints it in a line and the measuring process parses it.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    pub name: String,
    pub wall_seconds: f64,
    pub cpu_seconds: f64,
    /// Peak resident memory during the phase, mapped files included.
    pub peak_bytes: u64,
}

impl Phase {
    pub fn parse(line: &str) -> Option<Phase> {
        let [wall, cpu, peak, name] = line.splitn(4, ' ').collect::<Vec<_>>().try_into().ok()?;
        Some(Phase {
            name: name.to_owned(),
            wall_seconds: wall.parse().ok()?,
            cpu_seconds: cpu.parse().ok()?,
            peak_bytes: peak.parse().ok()?,
        })
    }

    fn print(&self) {
        let Phase { name, wall_seconds, cpu_seconds, peak_bytes } = self;
        println!("{wall_seconds:.3} {cpu_seconds:.3} {peak_bytes} {name}");
    }
}

/// All output of the measured process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    pub nodes: u64,
    pub edges: u64,
    pub graph_bytes: u64,
    pub reached: u64,
    pub components: u64,
    /// Nodes that equal an earlier one.
    pub duplicates: u64,
    /// Of the dominators.
    pub checksum: u64,
    pub phases: Vec<Phase>,
}

pub const DOMINATORS: &str = "dominators and retained sizes";

impl Measured {
    pub fn parse(said: &str) -> Result<Measured, String> {
        let mut measured = Measured::default();
        for line in said.lines() {
            let facts = [
                ("nodes ", &mut measured.nodes),
                ("edges ", &mut measured.edges),
                ("bytes ", &mut measured.graph_bytes),
                ("reached ", &mut measured.reached),
                ("components ", &mut measured.components),
                ("duplicates ", &mut measured.duplicates),
                ("checksum ", &mut measured.checksum),
            ];
            let fact = facts.into_iter().find_map(|(name, fact)| {
                Some((fact, line.strip_prefix(name)?.parse::<u64>().ok()?))
            });
            match (fact, Phase::parse(line)) {
                (Some((fact, number)), _) => *fact = number,
                (None, Some(phase)) => measured.phases.push(phase),
                (None, None) => return Err(format!("the measured process says {line:?}")),
            }
        }
        Ok(measured)
    }

    /// The least times of two runs, and the greatest memory.
    pub fn or_better(mut self, other: &Measured) -> Measured {
        for (mine, other) in self.phases.iter_mut().zip(&other.phases) {
            mine.wall_seconds = mine.wall_seconds.min(other.wall_seconds);
            mine.cpu_seconds = mine.cpu_seconds.min(other.cpu_seconds);
            mine.peak_bytes = mine.peak_bytes.max(other.peak_bytes);
        }
        self
    }
}

/// Runs all phases on a graph.
pub fn run(file: &Path) -> Outcome {
    let Opened { graph, weights, root, bytes } = phase("open and check", || Opened::open(file))??;
    println!("nodes {}\nedges {}\nbytes {bytes}", graph.nodes(), graph.edges());
    let found = phase(DOMINATORS, || dominators(&graph, root, &weights))?;
    let dominated = found.parent.iter().zip(0u64..).filter(|&(&parent, _)| parent != NONE);
    println!("reached {}", dominated.clone().count() + 1);
    println!("checksum {}", checksum(dominated.map(|(&parent, node)| (node, u64::from(parent)))));
    drop(found);
    let together: Components = phase("components", || components(&graph, root))?;
    println!("components {}", together.count);
    drop(phase("fair shares", || fair_shares(&graph, &together, root, &weights))?);
    let key = |node: Node| Some(key(&graph, &weights, node));
    let first = phase("duplicates", || duplicates(&graph, &together, key, |_, _| true))?;
    let equal = first.iter().enumerate().filter(|&(node, &first)| node != first as usize).count();
    drop(first);
    println!("duplicates {equal}");
    let roots: Vec<&[Node]> = graph.successors(root).chunks(1).take(64).collect();
    black_box(phase("what 64 roots reach", || reach(&graph, &together, &roots, &weights))?);
    drop(phase("shortest paths", || shortest(&graph, root))?);
    let limits = Limits { largest: 50, least: 0, shown: usize::MAX, way: 10 };
    let standing = |_| Standing::InFamily(0);
    drop(phase("reduced graph", || reduce(&graph, &together, root, &weights, standing, limits))?);
    Ok(())
}

/// A key that resembles contents: leaves have contents of their own, some of which are frequent.
fn key(graph: &Graph, weights: &[u32], node: Node) -> u64 {
    let weight = u64::from(weights[node as usize]);
    if !graph.successors(node).is_empty() {
        return weight;
    }
    let mixed = u64::from(node).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let unit = (mixed >> 40) as f64 / f64::from(1 << 24);
    (unit * unit * unit * graph.nodes() as f64 / 3.0) as u64 * 256 + weight
}

fn phase<T>(name: &str, work: impl FnOnce() -> T) -> Result<T, String> {
    // Resets the kernel's record of peak memory.
    fs::write("/proc/self/clear_refs", "5").map_err(|error| format!("clear_refs: {error}"))?;
    let (wall, cpu) = (Instant::now(), cpu_seconds()?);
    let result = work();
    Phase {
        name: name.to_owned(),
        wall_seconds: wall.elapsed().as_secs_f64(),
        cpu_seconds: cpu_seconds()? - cpu,
        peak_bytes: peak_bytes()?,
    }
    .print();
    Ok(result)
}

/// Processor time of the first thread, which does all the work here, including time in the kernel. The kernel
/// reports the time of all threads only in steps of 10 ms.
fn cpu_seconds() -> Result<f64, String> {
    let said = fs::read_to_string("/proc/self/schedstat");
    let said = said.map_err(|error| format!("schedstat: {error}"))?;
    let nanoseconds = said.split_whitespace().next().and_then(|first| first.parse::<u64>().ok());
    Ok(nanoseconds.ok_or("schedstat has no numbers")? as f64 / 1e9)
}

fn peak_bytes() -> Result<u64, String> {
    let said =
        fs::read_to_string("/proc/self/status").map_err(|error| format!("status: {error}"))?;
    let line = said.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    Ok(kilobytes.ok_or("status has no VmHWM")? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_round_trip_through_their_line() {
        let phase = Phase {
            name: "fair shares".to_owned(),
            wall_seconds: 1.5,
            cpu_seconds: 1.25,
            peak_bytes: 4096,
        };
        assert_eq!(Phase::parse("1.500 1.250 4096 fair shares"), Some(phase.clone()));
        assert_eq!(Phase::parse("graph 3"), None);
        let said = "nodes 7\n1.500 1.250 4096 fair shares\nreached 5\n";
        let measured =
            Measured { nodes: 7, reached: 5, phases: vec![phase], ..Measured::default() };
        assert_eq!(Measured::parse(said), Ok(measured));
        assert!(Measured::parse("what\n").is_err());
    }
}
