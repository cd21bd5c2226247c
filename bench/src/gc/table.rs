//! The measured runs of one program, as a small table of text.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use bactrian_advice::setting::Setting;

const HEADING: &str = "part\tround\ts\to\twall\tcpu\trss\tpromoted_words\tmajor_words\tminor_collections\tmajor_collections\ttop_heap_words\tdomains\trecommended";

/// What a run was part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Grid,
    Memory,
    Slower,
    Balance,
}

const PARTS: [(Part, &str); 4] = [
    (Part::Grid, "grid"),
    (Part::Memory, "memory"),
    (Part::Slower, "slower"),
    (Part::Balance, "balance"),
];

/// A run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub part: Part,
    pub round: usize,
    pub setting: Setting,
    pub wall: f64,
    pub cpu: f64,
    pub rss: u64,
    pub promoted_words: u64,
    pub major_words: u64,
    pub minor_collections: u64,
    pub major_collections: u64,
    pub top_heap_words: u64,
    pub domains: u64,
    pub is_recommended: bool,
}

/// A setting of the grid: the best time over all rounds, since other work on the machine only ever adds to it, and the median of memory.
#[derive(Clone, Copy, Debug)]
pub struct GridCell {
    pub setting: Setting,
    pub time: f64,
    pub rss: f64,
}

/// The runs of one program.
pub struct Table {
    pub name: String,
    file: PathBuf,
    pub lines: Vec<Line>,
}

impl Table {
    /// The table of a program, which may have been begun already.
    pub fn open(folder: &Path, name: &str) -> Result<Table, String> {
        let file = folder.join(format!("{name}.tsv"));
        if !file.exists() {
            fs::create_dir_all(folder)
                .and_then(|()| fs::write(&file, format!("{HEADING}\n")))
                .map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Table::read(&file)
    }

    pub fn read(file: &Path) -> Result<Table, String> {
        let failed = |what: String| format!("{}: {what}", file.display());
        let text = fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
        let mut lines = text.lines();
        if lines.next() != Some(HEADING) {
            return Err(failed("it has other columns".to_owned()));
        }
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let parsed = lines.map(|line| parse(line).ok_or_else(|| failed(format!("no run: {line}"))));
        Ok(Table { name, file: file.to_owned(), lines: parsed.collect::<Result<_, _>>()? })
    }

    /// Adds a run, also to the file.
    pub fn add(&mut self, line: Line) -> Result<(), String> {
        let written = OpenOptions::new()
            .append(true)
            .open(&self.file)
            .and_then(|mut file| writeln!(file, "{}", show(&line)));
        written.map_err(|error| format!("{}: {error}", self.file.display()))?;
        self.lines.push(line);
        Ok(())
    }

    pub fn has(&self, part: Part, round: usize, setting: Setting) -> bool {
        let is_it = |line: &Line| (line.part, line.round, line.setting) == (part, round, setting);
        self.lines.iter().any(is_it)
    }

    /// Elapsed time of a program with several domains, processor time of others.
    pub fn time(&self, line: &Line) -> f64 {
        let has_domains = self.lines.iter().any(|line| line.domains > 1);
        if has_domains { line.wall } else { line.cpu }
    }

    /// A cell of the grid.
    pub fn cell(&self, setting: Setting) -> Option<GridCell> {
        self.best(setting, |line| line.part == Part::Grid)
    }

    /// All runs with a setting, of the grid and for the goals.
    pub fn runs_at(&self, setting: Setting) -> Option<GridCell> {
        self.best(setting, |_| true)
    }

    fn best(&self, setting: Setting, is_wanted: fn(&Line) -> bool) -> Option<GridCell> {
        let of_it = || self.lines.iter().filter(|line| is_wanted(line) && line.setting == setting);
        Some(GridCell {
            setting,
            time: of_it().map(|line| self.time(line)).min_by(f64::total_cmp)?,
            rss: median(of_it().map(|line| line.rss as f64))?,
        })
    }
}

pub fn median(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = numbers.collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted.get(middle).copied(),
        _ => Some((sorted.get(middle.checked_sub(1)?)? + sorted.get(middle)?) / 2.0),
    }
}

fn show(line: &Line) -> String {
    let part = PARTS.iter().find(|(part, _)| *part == line.part).map_or("", |(_, name)| *name);
    let cells = [
        part.to_owned(),
        line.round.to_string(),
        line.setting.s.to_string(),
        line.setting.o.to_string(),
        format!("{:.4}", line.wall),
        format!("{:.4}", line.cpu),
        line.rss.to_string(),
        line.promoted_words.to_string(),
        line.major_words.to_string(),
        line.minor_collections.to_string(),
        line.major_collections.to_string(),
        line.top_heap_words.to_string(),
        line.domains.to_string(),
        u8::from(line.is_recommended).to_string(),
    ];
    cells.join("\t")
}

fn parse(line: &str) -> Option<Line> {
    let cells: Vec<&str> = line.split('\t').collect();
    let [part, round, s, o, wall, cpu, rss, counts @ ..] = &cells[..] else { return None };
    let counts: Vec<u64> = counts.iter().map_while(|cell| cell.parse().ok()).collect();
    let [promoted, major, minors, majors, top, domains, recommended] = counts[..] else {
        return None;
    };
    Some(Line {
        part: PARTS.iter().find(|(_, name)| name == part)?.0,
        round: round.parse().ok()?,
        setting: Setting { s: s.parse().ok()?, o: o.parse().ok()? },
        wall: wall.parse().ok()?,
        cpu: cpu.parse().ok()?,
        rss: rss.parse().ok()?,
        promoted_words: promoted,
        major_words: major,
        minor_collections: minors,
        major_collections: majors,
        top_heap_words: top,
        domains,
        is_recommended: recommended == 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_written_is_read() {
        let line = Line {
            part: Part::Slower,
            round: 2,
            setting: Setting { s: 1 << 18, o: 120 },
            wall: 1.25,
            cpu: 1.5,
            rss: 5,
            promoted_words: 6,
            major_words: 7,
            minor_collections: 8,
            major_collections: 9,
            top_heap_words: 10,
            domains: 1,
            is_recommended: true,
        };
        assert_eq!(parse(&show(&line)), Some(line));
        assert_eq!(parse("grid\t1"), None);
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), Some(2.0));
        assert_eq!(median([3.0, 1.0].into_iter()), Some(2.0));
        assert_eq!(median([].into_iter()), None);
    }
}
