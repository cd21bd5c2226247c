//! Finds the type table for a snapshot or a trace.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use bactrian_capture::types::{self, LinkedModule};
use bactrian_ocaml::Version;
use bactrian_ocaml::executable::{Executable, Form, Ocaml};
use bactrian_ocaml::linked_units::{LinkedUnit, linked_units};
use bactrian_snapshot::{CodeKind, Snapshot};
use bactrian_trace::Input;
use bactrian_types::{Table, Unit};

use crate::failure::Failure;
use crate::open::open_types;
use crate::output::Console;

/// The table of types that a user may name.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct TypesArg {
    /// Table of types, from `bactrian types build` [default: FILE.types beside the file, or built from the program's build
    /// if that is found]
    #[arg(long, value_name = "FILE")]
    types: Option<PathBuf>,
    /// Do not use types
    #[arg(long, conflicts_with = "types")]
    no_types: bool,
}

impl TypesArg {
    /// The arguments, as words of a command line.
    pub fn words(&self) -> Vec<String> {
        match &self.types {
            Some(path) => vec!["--types".to_owned(), path.to_string_lossy().into_owned()],
            None if self.no_types => vec!["--no-types".to_owned()],
            None => Vec::new(),
        }
    }

    /// The named table; otherwise the one beside the snapshot; otherwise one made from the compiler's output
    /// beside the program.
    pub fn for_snapshot(
        &self,
        file: &Path,
        console: &mut Console,
    ) -> Result<Option<Table>, Failure> {
        if let Some(beside) = self.named_or_beside(file, console)? {
            return Ok(Some(beside));
        }
        // Data from a pipe can be read only once. A damaged file is reported when it is queried.
        let snapshot = file.is_file().then(|| Snapshot::open(file).ok()).flatten();
        let (false, Some(snapshot)) = (self.no_types, snapshot) else { return Ok(None) };
        let linked = Linked::of_snapshot(&snapshot);
        made(Path::new(&snapshot.info().program), &linked, console)
    }

    /// Likewise, for a trace.
    pub fn for_trace(
        &self,
        file: &Path,
        program: &Path,
        linked: &Linked,
        console: &mut Console,
    ) -> Result<Option<Table>, Failure> {
        if let Some(beside) = self.named_or_beside(file, console)? {
            return Ok(Some(beside));
        }
        if self.no_types { Ok(None) } else { made(program, linked, console) }
    }

    /// The named table, or the one beside a file: `server.types` beside `server.1.heap` or `server.ctf`. A
    /// damaged one beside it is ignored with a warning, because questions can be answered without types.
    fn named_or_beside(
        &self,
        file: &Path,
        console: &mut Console,
    ) -> Result<Option<Table>, Failure> {
        if self.no_types {
            return Ok(None);
        }
        if let Some(named) = &self.types {
            return open_types(named).map(Some);
        }
        let whole = file.with_extension("types");
        let stem = file.with_extension("").with_extension("types");
        for path in [whole, stem].iter().filter(|path| path.is_file()) {
            match open_types(path) {
                Ok(table) => return Ok(Some(table)),
                Err(failure) => console.warn(&format!("a table of types is ignored: {failure}"))?,
            }
        }
        Ok(None)
    }
}

/// What a program's file says it was linked from; empty if the file is gone.
#[derive(Debug, Default)]
pub struct Linked {
    /// Its version of OCaml.
    pub version: Option<Version>,
    /// Its modules.
    pub units: Vec<LinkedUnit>,
    /// Native plugins that it loaded with Dynlink, as far as known: the program's file does not list them.
    plugins: Vec<String>,
}

impl Linked {
    /// From a program's file.
    pub fn read(bytes: &[u8]) -> Linked {
        let Ok(Executable { form, ocaml }) = Executable::read(bytes) else {
            return Linked::default();
        };
        let map = match &form {
            Form::Elf(elf) => elf.object("caml_globals_map").and_then(|(at, _)| bytes.get(at..)),
            _ => None,
        };
        let units = map.and_then(|map| linked_units(map).ok()).unwrap_or_default();
        let version = ocaml.as_ref().and_then(Ocaml::version);
        Linked { version, units, plugins: Vec::new() }
    }

    /// From a snapshot, which also lists loaded plugins.
    fn of_snapshot(snapshot: &Snapshot) -> Linked {
        let tables = snapshot.tables();
        // In bytecode, constants are listed among the modules.
        let is_bytecode = snapshot.info().code == CodeKind::Bytecode;
        let modules =
            tables.modules.iter().filter(|module| !is_bytecode || module.interface.is_some());
        let units = modules.map(|module| LinkedUnit {
            name: tables.names.get(module.name).to_owned(),
            interface: module.interface,
            implementation: module.implementation,
        });
        let version = Version::parse(&snapshot.info().ocaml);
        Linked { version, units: units.collect(), plugins: tables.plugins.clone() }
    }

    /// From the last of these snapshots, if it is of the program; otherwise from the program's file.
    pub fn of_last(snapshots: &[PathBuf], program: &Path) -> Linked {
        let written = |path: &&PathBuf| path.metadata().and_then(|data| data.modified()).ok();
        let last = snapshots.iter().max_by_key(written).and_then(|path| Snapshot::open(path).ok());
        let own = program.canonicalize().unwrap_or_else(|_| program.to_owned());
        let is_it = |snapshot: &Snapshot| Path::new(&snapshot.info().program) == own;
        match last.filter(is_it) {
            Some(last) => Linked::of_snapshot(&last),
            None => {
                Input::open(program).map_or_else(|_| Linked::default(), |file| Linked::read(&file))
            }
        }
    }

    /// The path of a type table for such a program, made if the compiler's output is available.
    pub fn table(&self, program: &Path, note: &mut dyn FnMut(&str)) -> Option<PathBuf> {
        sound(program, self, note).ok().flatten().map(|(path, _)| path)
    }

    fn modules(&self) -> Vec<LinkedModule> {
        let module = |unit: &LinkedUnit| LinkedModule {
            name: unit.name.clone(),
            implementation: unit.implementation,
        };
        self.units.iter().map(module).collect()
    }

    /// Which units of a table belong to the program: those with matching digests. If it is unknown what the
    /// program was linked from, all do.
    pub fn used(&self, table: &Table) -> Vec<bool> {
        let by_name: HashMap<_, _> =
            self.units.iter().map(|unit| (unit.name.as_str(), unit)).collect();
        let is_used = |unit: &Unit| match by_name.get(&*unit.name) {
            Some(linked) if unit.implementation.is_some() => {
                unit.implementation == linked.implementation
            }
            Some(linked) => unit.interface == linked.interface,
            None => self.units.is_empty(),
        };
        table.units.iter().map(is_used).collect()
    }
}

/// A table made from the compiler's output for a program and its plugins. A failure is only a warning,
/// because questions can be answered without types.
fn made(program: &Path, linked: &Linked, console: &mut Console) -> Result<Option<Table>, Failure> {
    // Printed before, because it takes seconds; a failure to print is no reason to stop.
    let mut say = |note: &str| drop(console.note(note));
    match sound(program, linked, &mut say) {
        Ok(found) => Ok(found.map(|(_, table)| table)),
        Err(error) => {
            console.warn(&format!("no types: {error}"))?;
            Ok(None)
        }
    }
}

/// A readable table, made now or earlier from the compiler's output. A damaged one is made again.
fn sound(
    program: &Path,
    linked: &Linked,
    note: &mut dyn FnMut(&str),
) -> Result<Option<(PathBuf, Table)>, types::TypesError> {
    const ATTEMPTS: usize = 2;
    let Some(version) = linked.version else { return Ok(None) };
    let (files, modules) = ((program, &linked.plugins[..]), linked.modules());
    for _ in 0..ATTEMPTS {
        let Some(path) = types::table_for(files, version, &modules, note)? else { break };
        match open_types(&path) {
            Ok(table) => return Ok(Some((path, table))),
            Err(failure) => note(&format!("a table of types is ignored: {failure}")),
        }
        // If it cannot be removed, it will be found again.
        let _ = fs::remove_file(path);
    }
    Ok(None)
}
