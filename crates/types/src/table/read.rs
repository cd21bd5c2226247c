//! Reading tables. A table is used completely or not at all: all its numbers are checked here, once.

use std::fmt;

use super::model::{
    Declaration, DeclarationKind, Extension, Field, Layout, ModuleItem, Representation, Table, Type,
};
use super::wire::{Parse, Record, Source};
use super::{DeclarationId, LayoutId, MAGIC, TypeId, UnitId, VERSION};

/// Length of the header: magic number, the length of the rest, and its checksum.
const HEADER: usize = MAGIC.len() + 8 + 4;

/// Why a table of types cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeTableError {
    /// The bytes are something else.
    NotATable,
    /// It is of an unsupported version.
    Version(u64),
    /// It is cut: the number of bytes, and the number that there should be.
    Cut(u64, u64),
    /// It was changed after it was written.
    Changed,
    /// Its contents make no sense at this byte offset, for this reason.
    Wrong(u64, &'static str),
}

impl fmt::Display for TypeTableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeTableError::NotATable => {
                f.write_str("not a table of types: it does not begin as one")
            }
            TypeTableError::Version(version) => {
                write!(f, "a table of types of version {version}; this reads version {VERSION}")
            }
            TypeTableError::Cut(there, should) => {
                write!(f, "a table of types that is truncated: {there} of {should} bytes are there")
            }
            TypeTableError::Changed => {
                f.write_str("a damaged table of types: its checksum is wrong")
            }
            TypeTableError::Wrong(offset, what) => {
                write!(f, "an invalid table of types: {what} (at byte {offset})")
            }
        }
    }
}

impl std::error::Error for TypeTableError {}

impl Table {
    /// Parses the bytes of a table's file.
    pub fn read(bytes: &[u8]) -> Result<Table, TypeTableError> {
        if !bytes.starts_with(MAGIC) {
            return Err(TypeTableError::NotATable);
        }
        let Some((header, body)) = bytes.split_at_checked(HEADER) else {
            return Err(TypeTableError::Cut(bytes.len() as u64, HEADER as u64));
        };
        let length = header[8..16].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        if length != body.len() as u64 {
            return Err(TypeTableError::Cut(
                bytes.len() as u64,
                length.saturating_add(HEADER as u64),
            ));
        }
        if header[16..20] != crc32fast::hash(body).to_le_bytes() {
            return Err(TypeTableError::Changed);
        }
        let mut source = Source::new(body);
        let wrong = |source: &Source<'_>, what| {
            TypeTableError::Wrong((bytes.len() - source.left()) as u64, what)
        };
        match source.varint() {
            Ok(VERSION) => {}
            Ok(version) => return Err(TypeTableError::Version(version)),
            Err(what) => return Err(wrong(&source, what)),
        }
        let table = get(&mut source).map_err(|what| wrong(&source, what))?;
        check(&table).map_err(|what| wrong(&source, what))?;
        Ok(table)
    }
}

fn get(source: &mut Source<'_>) -> Parse<Table> {
    let table = Table {
        compiler: Record::get(source)?,
        units: Record::get(source)?,
        types: Record::get(source)?,
        declarations: Record::get(source)?,
        extensions: Record::get(source)?,
        layouts: Record::get(source)?,
        sites: Record::get(source)?,
        variables: Record::get(source)?,
        functions: Record::get(source)?,
        failures: Record::get(source)?,
    };
    if source.left() == 0 { Ok(table) } else { Err("there is data after the table") }
}

/// Checks that all numbers are valid and that types consist of earlier ones.
fn check(table: &Table) -> Parse<()> {
    let checks = Checks { table };
    for (at, of) in table.types.iter().enumerate() {
        checks.made_of(at, of)?;
    }
    table.declarations.iter().try_for_each(|declaration| checks.declaration(declaration))?;
    table.extensions.iter().try_for_each(|extension| checks.extension(extension))?;
    table.layouts.iter().try_for_each(|layout| checks.module(layout))?;
    table.units.iter().try_for_each(|unit| unit.layout.map_or(Ok(()), |id| checks.layout(id)))?;
    for site in &table.sites {
        checks.of(site.of)?;
        checks.unit(site.unit)?;
    }
    for variable in &table.variables {
        checks.unit(variable.unit)?;
        checks.item(&variable.item)?;
    }
    for function in &table.functions {
        checks.unit(function.unit)?;
        function.captured.iter().try_for_each(|one| one.of.map_or(Ok(()), |of| checks.of(of)))?;
    }
    Ok(())
}

struct Checks<'a> {
    table: &'a Table,
}

fn there(number: usize, count: usize, otherwise: &'static str) -> Parse<()> {
    if number < count { Ok(()) } else { Err(otherwise) }
}

impl Checks<'_> {
    fn of(&self, id: TypeId) -> Parse<()> {
        there(id.index(), self.table.types.len(), "a type that does not exist")
    }

    fn unit(&self, id: UnitId) -> Parse<()> {
        there(id.index(), self.table.units.len(), "a unit that does not exist")
    }

    fn layout(&self, id: LayoutId) -> Parse<()> {
        there(id.index(), self.table.layouts.len(), "a layout that does not exist")
    }

    /// Checks that a declared type has one argument for each parameter.
    fn applied(&self, id: DeclarationId, arguments: usize) -> Parse<()> {
        match self.table.declarations.get(id.index()) {
            Some(declaration) if declaration.arity as usize == arguments => Ok(()),
            Some(_) => Err("a type with too few or too many arguments"),
            None => Err("a declaration that does not exist"),
        }
    }

    fn made_of(&self, at: usize, of: &Type) -> Parse<()> {
        let earlier = |id: &TypeId| there(id.index(), at, "a type that is made of a later one");
        match of {
            Type::Variable(_) | Type::Object(_) | Type::Opaque(_) => Ok(()),
            Type::Constructed { declaration, arguments } => {
                self.applied(*declaration, arguments.len())?;
                arguments.iter().try_for_each(earlier)
            }
            Type::Tuple(of) => of.iter().try_for_each(earlier),
            Type::Arrow { argument, result, .. } => earlier(argument).and(earlier(result)),
            Type::Package { layout, .. } => self.layout(*layout),
        }
    }

    fn fields(&self, fields: &[Field]) -> Parse<()> {
        fields.iter().try_for_each(|field| self.of(field.of))
    }

    fn declaration(&self, declaration: &Declaration) -> Parse<()> {
        if let Some(generic) = declaration.generic {
            self.applied(generic, declaration.arity as usize)?;
        }
        match &declaration.kind {
            DeclarationKind::Abstract(_) | DeclarationKind::Open | DeclarationKind::Builtin(_) => {
                Ok(())
            }
            DeclarationKind::Alias(of) => self.of(*of),
            DeclarationKind::Record(representation, fields) => {
                if *representation == Representation::Unboxed && fields.len() != 1 {
                    return Err("an unboxed record without its one field");
                }
                self.fields(fields)
            }
            DeclarationKind::Variant(representation, constructors) => {
                let one = matches!(&constructors[..], [one] if one.arguments.len() == 1);
                if *representation == Representation::Unboxed && !one {
                    return Err("an unboxed variant without its one argument");
                }
                constructors.iter().try_for_each(|constructor| {
                    self.fields(&constructor.arguments)?;
                    let Some(result) = &constructor.result else { return Ok(()) };
                    if result.len() != declaration.arity as usize {
                        return Err("a constructor of another type");
                    }
                    result.iter().try_for_each(|id| self.of(*id))
                })
            }
            DeclarationKind::Cases { cases, .. } => {
                cases.iter().try_for_each(|case| case.of.map_or(Ok(()), |id| self.of(id)))
            }
        }
    }

    fn extension(&self, extension: &Extension) -> Parse<()> {
        self.applied(extension.extends, extension.result.len())?;
        extension.result.iter().try_for_each(|id| self.of(*id))?;
        self.fields(&extension.arguments)
    }

    fn module(&self, layout: &Layout) -> Parse<()> {
        there(layout.public as usize, layout.fields.len() + 1, "a module with too few fields")?;
        layout.fields.iter().try_for_each(|field| self.item(&field.item))
    }

    fn item(&self, item: &ModuleItem) -> Parse<()> {
        match item {
            ModuleItem::Value(of) => self.of(*of),
            ModuleItem::Module(layout) => self.layout(*layout),
            ModuleItem::Extension(id) => {
                there(id.index(), self.table.extensions.len(), "a constructor that does not exist")
            }
            ModuleItem::Other(_) => Ok(()),
        }
    }
}
