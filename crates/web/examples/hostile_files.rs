//! Writes files whose names, texts and paths would do harm in a page that did not treat them as plain text. For the page's tests:
//! `hostile_files FOLDER`.

use std::error::Error;
use std::fs::File;
use std::io;
use std::path::Path;

use bactrian_live::recording::Recorder;
use bactrian_live::{
    Declaration, Event, LogLine, ObserverId, ObserverKind, Program, Stamp, Unit, Value,
};
use bactrian_snapshot::{
    BlockId, Columns, GroupBuilder, Info, Module, ModuleId, Pointer, Root, RootKind, Tables, tag,
};
use bactrian_trace::{
    DomainId, Locate, Micros, NewAlloc, Source, SourceLocation, TraceInfo, Words, Writer,
};

/// Names that a page must not execute, and that must not break a table, a picture or a spreadsheet.
const NAMES: &[&str] = &[
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "\"><svg onload=alert(3)>",
    "Main.<b>bold</b>.(fun)",
    "=HYPERLINK(\"http://example.org\",\"click\")",
    "javascript:alert(4)",
    "{{constructor.constructor('alert(5)')()}}",
    "Right\u{202e}tfel.left",
    "two\nlines\tand a tab",
    "nul\u{0}and\u{1b}[31mescape",
    "__proto__",
    "constructor",
    "\u{feff}\u{200b}",
];

/// All names, and one that is far too long.
fn names() -> Vec<String> {
    let long = format!("Long.{}", "x<y>&".repeat(2_000));
    NAMES.iter().map(|name| (*name).to_owned()).chain([long]).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: hostile_files FOLDER")?;
    let folder = Path::new(&folder);
    trace(&folder.join("hostile.ctf"))?;
    snapshot(&folder.join("hostile.heap"))?;
    recording(&folder.join("hostile.live"))?;
    Ok(())
}

struct Names(Vec<String>);

impl Locate for Names {
    fn locate(&self, code: u64, found: &mut dyn FnMut(&[SourceLocation<'_>])) {
        let name = &self.0[code as usize % self.0.len()];
        found(&[SourceLocation {
            file: name.as_bytes(),
            function: name.as_bytes(),
            line: 1 + code as u32,
            start_char: 0,
            end_char: 9,
        }]);
    }
}

fn trace(path: &Path) -> io::Result<()> {
    let names = Names(names());
    let info = TraceInfo {
        version: 2,
        sample_rate: 0.5,
        word_bits: 64,
        executable: NAMES[0].as_bytes().to_vec(),
        host: NAMES[1].as_bytes().to_vec(),
        runtime_params: NAMES[2].as_bytes().to_vec(),
        pid: 1,
        context: NAMES[5].as_bytes().to_vec(),
        start: 1_700_000_000_000_000,
    };
    let mut writer = Writer::new(File::create(path)?, info)?;
    let domain = DomainId(0);
    for at in 0..400_u64 {
        let frame = |depth: u64| 0x1000 * 14 + (at / (depth + 1)) % names.0.len() as u64;
        let stack: Vec<u64> = (0..4).map(frame).collect();
        let new = NewAlloc {
            time: Micros(at * 1_000),
            domain,
            length: Words(1 + at % 40),
            samples: 1,
            source: Source::Minor,
            stack: &stack,
        };
        let id = writer.alloc(&new, &names)?;
        if at % 3 == 0 {
            writer.collect(Micros(at * 1_000), domain, id)?;
        }
    }
    writer.finish().map(drop)
}

fn snapshot(path: &Path) -> Result<(), bactrian_snapshot::SnapshotError> {
    let names = names();
    let count = names.len() as u32;
    let columns = Columns { strings: Some(200), ..Columns::default() };
    let info = Info {
        program: NAMES[0].to_owned(),
        arguments: names.clone(),
        host: NAMES[1].to_owned(),
        ocaml: "5.3.0".to_owned(),
        name: Some(NAMES[2].to_owned()),
        taken: 1_700_000_000_000_000,
        ..Info::default()
    };
    let file = File::create(path).map_err(bactrian_snapshot::SnapshotError::from)?;
    let mut writer = bactrian_snapshot::Writer::new(file, columns, 2 * count, &info)?;
    let mut group = GroupBuilder::new(columns)?;
    group.start(BlockId(0));
    let mut address = 0x7f00_0000_1008;
    for at in 0..count {
        group.block(address, 2, 0);
        group.pointer(BlockId(count + at));
        group.pointer(BlockId((at + 1) % count));
        address += 24;
    }
    for name in &names {
        let words = name.len() as u64 / 8 + 1;
        group.block(address, words, tag::STRING);
        group.string((8 * words - 1 - name.len() as u64) as u8, name.as_bytes());
        address += 8 * (words + 1);
    }
    writer.group(group.finish()?)?;
    let mut tables = Tables::default();
    for (at, name) in names.iter().enumerate() {
        tables.modules.push(Module::named(tables.names.add(name)));
        let kind = RootKind::Global { module: ModuleId(at as u32), field: 0 };
        tables.roots.push(Root { kind, target: Pointer::to(BlockId(at as u32)) });
    }
    tables.gaps = names;
    writer.tables(&tables)?;
    writer.finish().map(drop)
}

fn recording(path: &Path) -> io::Result<()> {
    let mut recorder = Recorder::create(path)?;
    let program = Program {
        name: NAMES[0].to_owned(),
        pid: 1,
        started: 0,
        runtime: NAMES[1].to_owned(),
        controls: false,
        run: String::new(),
    };
    recorder.add(&Event::Hello(program))?;
    let names = names();
    for (at, name) in (0..).zip(&names) {
        recorder.add(&Event::Declare(Declaration {
            id: ObserverId(at),
            kind: ObserverKind::Text,
            name: name.clone(),
            labels: vec![(name.clone(), name.clone())],
            unit: Unit::None,
            period_ms: 100,
        }))?;
    }
    for at in 0..20_u64 {
        let now = at * 100_000_000;
        recorder.add(&Event::Tick(Stamp { at: now, cpu: now }))?;
        for (id, name) in (0..).zip(&names) {
            recorder.add(&Event::Update(ObserverId(id), Value::Text(format!("{name} {at}"))))?;
        }
        let name = &names[at as usize % names.len()];
        recorder.add(&Event::Log(LogLine { at: now, text: name.clone() }))?;
        recorder.add(&Event::Marker(name.clone()))?;
    }
    recorder.add(&Event::End(NAMES[2].to_owned()))?;
    recorder.flush()
}
