//! Modules of native code: each has a list of blocks whose fields are roots.

use bactrian_ocaml::symbol;
use bactrian_ocaml::value::header_words;

use super::finder::Finder;
use super::words::addresses;
use super::{Module, RootHolder};

const MOST_MODULES: usize = 1 << 20;
const MOST_BLOCKS: usize = 1 << 20;
/// A header with more fields is not that of a module.
const MOST_FIELDS: usize = 1 << 20;

impl Finder<'_> {
    pub(super) fn globals(&mut self) {
        match self.target.global("caml_globals") {
            Some(list) => {
                // Both are in link order.
                let units = self.found.units.iter().filter(|unit| unit.implementation.is_some());
                let names: Vec<_> = units.map(|unit| format!("caml{}", unit.name)).collect();
                for (number, at) in addresses(list, 8, MOST_MODULES).enumerate() {
                    match self.words.word(at) {
                        Some(0) => break,
                        Some(module) => {
                            self.module(module, names.get(number).map(String::as_str), false)
                        }
                        None => {
                            self.gap("the list of modules cannot be read to its end");
                            break;
                        }
                    }
                }
            }
            None => self.gap("the list of modules has no symbol"),
        }
        for module in self.loaded_modules() {
            self.module(module, None, true);
        }
    }

    /// The block lists of modules that Dynlink has loaded.
    fn loaded_modules(&mut self) -> Vec<u64> {
        let file = if self.has_domains() { "globroots" } else { "roots_nat" };
        let mut found = Vec::new();
        if let Some(mut link) = self.static_word(file, "caml_dyn_globals") {
            while link != 0 && found.len() < MOST_MODULES {
                let Some([module, next]) = self.pair(link) else {
                    self.gap("the list of modules that Dynlink loaded cannot be read to its end");
                    break;
                };
                found.push(module);
                link = next;
            }
            return found;
        }
        // Without symbols of the runtime, use those of plugins. A plugin that is loaded but has not run yet
        // has nothing in its blocks.
        let own = self.target.runtime_object().range.start;
        for object in self.target.objects.iter().filter(|object| object.range.start != own) {
            let symbols = object.symbols.all().iter().filter(|symbol| !symbol.is_local);
            let roots = symbols.filter(|symbol| {
                let unit = object.symbols.name(symbol).strip_suffix("gc_roots");
                unit.is_some_and(symbol::is_ocaml)
            });
            found.extend(roots.map(|symbol| symbol.address));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn pair(&mut self, at: u64) -> Option<[u64; 2]> {
        Some([self.field(at, 0)?, self.field(at, 1)?])
    }

    /// Adds the blocks of one module; `unit` is its name if there is no symbol.
    fn module(&mut self, list: u64, unit: Option<&str>, is_dynamic: bool) {
        for at in addresses(list, 8, MOST_BLOCKS) {
            match self.words.word(at) {
                Some(0) => return,
                Some(block) => {
                    let name = self.module_name(block, list, unit);
                    if self.block(block, &name, is_dynamic).is_none() {
                        self.gap(format!("the block of module {name} cannot be read"));
                    }
                }
                None => return self.gap("the blocks of a module cannot be read"),
            }
        }
    }

    fn block(&mut self, block: u64, name: &str, is_dynamic: bool) -> Option<()> {
        let header = self.words.word(block.checked_sub(8)?)?;
        let fields = header_words(header as usize);
        // Modules are within the object where the linker has put them.
        let end = block.checked_add(8 * fields.min(MOST_FIELDS) as u64)?;
        let is_whole = self.target.object_at(block).is_some_and(|object| end <= object.range.end);
        if fields > MOST_FIELDS || !is_whole || !block.is_multiple_of(8) {
            return None;
        }
        let module = self.found.modules.len() as u32;
        self.found.modules.push(Module { name: name.to_owned(), fields: Some(fields as u32) });
        for field in 0..fields {
            let slot = block.checked_add(8 * field as u64)?;
            let value = self.words.word(slot)?;
            let field = field as u32;
            let place = match is_dynamic {
                false => RootHolder::Global { module, field },
                true => RootHolder::DynamicGlobal { module, field },
            };
            self.add(slot, value, place);
        }
        Some(())
    }

    /// The name by the symbol of the block, or of the list that contains it; else the name of the linked
    /// unit.
    fn module_name(&self, block: u64, list: u64, unit: Option<&str>) -> String {
        let of = |address: u64| {
            let (symbol, distance) = self.target.data_at(address)?;
            let is_that = distance == 0 && symbol::is_ocaml(symbol);
            is_that.then(|| symbol.strip_suffix("gc_roots").unwrap_or(symbol))
        };
        let Some(symbol) = of(block).or_else(|| of(list)).or(unit) else {
            return format!("{block:#x}");
        };
        let symbol = symbol.strip_suffix("__").or(symbol.strip_suffix('.')).unwrap_or(symbol);
        let mut name = String::new();
        match symbol::write_name(symbol, &mut name) {
            Ok(()) => name,
            Err(_) => symbol.to_owned(),
        }
    }
}
