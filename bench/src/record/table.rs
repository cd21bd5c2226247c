//! Tables of measurements for docs/performance.md.

use super::plan::Variant;
use crate::rounds::Usages;

/// Times, memory and sizes of traces; each list has an entry for each variant.
pub fn seconds(
    variants: &[Variant],
    usages: &[Usages],
    memory: &[u64],
    sizes: &[Option<u64>],
) -> String {
    let mut text = String::from(
        "| | CPU, best | ratio | CPU, median | ratio | memory | trace |\n\
         |---|--:|--:|--:|--:|--:|--:|\n",
    );
    for (((variant, mine), memory), size) in variants.iter().zip(usages).zip(memory).zip(sizes) {
        let plain = &usages[variant.plain];
        let (best, median) = (mine.best(), mine.median());
        text.push_str(&format!(
            "| {} | {best:.3} s | {} | {median:.3} s | {} | {:.1} MB | {} |\n",
            variant.title,
            ratio(best, plain.best()),
            ratio(median, plain.median()),
            *memory as f64 / 1e6,
            size.map_or_else(String::new, bytes),
        ));
    }
    text
}

/// Counts of instructions. The variants are a subset of a list that includes its plain ones.
pub fn instructions(counts: &[(&Variant, u64)], counter: &str) -> String {
    let mut text = format!("| | instructions ({counter}) | ratio |\n|---|--:|--:|\n");
    for (variant, count) in counts {
        // Variants without a recorder come first, so their indices are those in the whole list.
        let (_, plain) = counts[variant.plain];
        let ratio = *count as f64 / plain as f64;
        let millions = *count as f64 / 1e6;
        text.push_str(&format!("| {} | {millions:.1} M | {ratio:.4} |\n", variant.title));
    }
    text
}

fn ratio(time: f64, plain: f64) -> String {
    let ratio = time / plain;
    if ratio < 10.0 { format!("{ratio:.3}") } else { format!("{ratio:.1}") }
}

fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::{RATES, variants};
    use super::*;
    use crate::measure::{Run, Usage};

    #[test]
    fn ratios_are_to_the_plain_run() {
        let variants = variants(&Run::new("p".into(), Vec::new()), None, false, RATES);
        let variants = &variants[..3];
        let times = |seconds: &[f64]| {
            let usage = |&cpu_seconds| Usage { cpu_seconds, max_rss_bytes: 0 };
            Usages(seconds.iter().map(usage).collect())
        };
        let usages = [times(&[2.0, 4.0, 3.0]), times(&[2.1]), times(&[2.5, 30.0, 40.0])];
        let table = seconds(variants, &usages, &[1_500_000; 3], &[None, None, Some(1_234)]);
        let rows: Vec<_> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| plain | 2.000 s | 1.000 | 3.000 s | 1.000 | 1.5 MB |  |",
                "| plain again | 2.100 s | 1.050 | 2.100 s | 0.700 | 1.5 MB |  |",
                "| bactrian, 1e-6 | 2.500 s | 1.250 | 30.000 s | 10.0 | 1.5 MB | 1.2 kB |",
            ]
        );
        let counts = [(&variants[0], 2_000_000), (&variants[1], 2_001_000)];
        assert!(instructions(&counts, "perf").ends_with("| plain again | 2.0 M | 1.0005 |\n"));
    }
}
