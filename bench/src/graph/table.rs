//! Tables of measurements for docs/performance.md.

use super::others::Taken;
use super::phases::{DOMINATORS, Measured, Phase};

/// Everything that was measured on graphs of one size.
pub fn markdown(
    mixed: &Measured,
    trap: &Measured,
    others: &[(&str, Result<Taken, String>)],
) -> String {
    let mut text = format!(
        "### {:.1} M nodes, {:.1} M edges\n\n{:.1} % are reached; {:.2} M components; {:.1} % of what is reached is \
         equal to something else.\n\n\
         | | wall | CPU | memory | without the graph | per node |\n|---|--:|--:|--:|--:|--:|\n",
        mixed.nodes as f64 / 1e6,
        mixed.edges as f64 / 1e6,
        100.0 * mixed.reached as f64 / mixed.nodes as f64,
        mixed.components as f64 / 1e6,
        100.0 * mixed.duplicates as f64 / mixed.reached as f64,
    );
    for phase in &mixed.phases {
        text.push_str(&row(&phase.name, phase, mixed));
    }
    for phase in trap.phases.iter().filter(|phase| phase.name == DOMINATORS) {
        let name = format!("dominators of the trap, {:.1} M nodes", trap.nodes as f64 / 1e6);
        text.push_str(&row(&name, phase, trap));
    }
    let ours = mixed.phases.iter().find(|phase| phase.name == DOMINATORS);
    if others.is_empty() {
        return text;
    }
    text.push_str(
        "\n| dominators by | CPU | making its graph before | memory | times our CPU |\n|---|--:|--:|--:|--:|\n",
    );
    for (name, result) in others {
        match (result, ours) {
            (Ok(taken), Some(ours)) => text.push_str(&format!(
                "| {name} | {:.2} s | {:.2} s | {} | {:.0} |\n",
                taken.dominators_seconds,
                taken.building_seconds,
                megabytes(taken.peak_bytes),
                taken.dominators_seconds / ours.cpu_seconds.max(1e-3),
            )),
            (Ok(_), None) => {}
            (Err(why), _) => text.push_str(&format!("| {name} | {why} | | | |\n")),
        }
    }
    text
}

fn row(name: &str, phase: &Phase, measured: &Measured) -> String {
    let without = phase.peak_bytes.saturating_sub(measured.graph_bytes);
    format!(
        "| {name} | {:.3} s | {:.3} s | {} | {} | {:.1} bytes |\n",
        phase.wall_seconds,
        phase.cpu_seconds,
        megabytes(phase.peak_bytes),
        megabytes(without),
        without as f64 / measured.nodes as f64,
    )
}

fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_compared_by_processor_time() {
        let phase = Phase {
            name: DOMINATORS.to_owned(),
            wall_seconds: 2.0,
            cpu_seconds: 1.5,
            peak_bytes: 80_000_000,
        };
        let measured = Measured {
            nodes: 1_000_000,
            edges: 3_000_000,
            graph_bytes: 60_000_000,
            reached: 900_000,
            components: 800_000,
            duplicates: 90_000,
            checksum: 0,
            phases: vec![phase],
        };
        let taken =
            Taken { building_seconds: 3.0, dominators_seconds: 15.0, peak_bytes: 400_000_000 };
        let others = [("a", Ok(taken)), ("b", Err("no end in 600 s".to_owned()))];
        let text = markdown(&measured, &measured, &others);
        assert!(text.contains("90.0 % are reached; 0.80 M components; 10.0 %"), "{text}");
        assert!(
            text.contains("sizes | 2.000 s | 1.500 s | 80 MB | 20 MB | 20.0 bytes |"),
            "{text}"
        );
        assert!(text.contains("| a | 15.00 s | 3.00 s | 400 MB | 10 |"), "{text}");
        assert!(text.ends_with("| b | no end in 600 s | | | |\n"), "{text}");
    }
}
