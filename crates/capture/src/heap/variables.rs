//! Source variables held by closures and stacks of bytecode, according to its debug information.

use std::collections::{HashMap, HashSet};

use bactrian_ocaml::bytecode::{self, Pc, Program};
use bactrian_snapshot::{
    CodeId, Environment, FieldVariable, RootKind, SlotVariable, Tables, Variable, VariableId,
    Variables,
};

/// Adds variables to the tables of a snapshot that already have codes, roots and continuations. `pc` maps an
/// address to an instruction; `calls` are return addresses on stacks, each with the address of its slot (the
/// slot comes first).
///
/// # Errors
/// If the debug information is damaged.
pub fn add(
    program: &Program<'_>,
    pc: impl Fn(u64) -> Option<Pc>,
    calls: &[(u64, u64)],
    tables: &mut Tables,
) -> Result<(), bactrian_ocaml::OcamlError> {
    let functions = tables.codes.iter().filter_map(|code| pc(code.address));
    let returns: HashSet<Pc> = calls.iter().filter_map(|(_, address)| pc(*address)).collect();
    let known = program.variables(functions, returns)?;
    let mut numbers = Numbers { tables, all: Vec::new(), known: HashMap::new() };
    let mut environments = Vec::new();
    for code in 0..numbers.tables.codes.len() {
        let at = pc(numbers.tables.codes[code].address);
        let fields = at.and_then(|at| known.environments.get(&at)).into_iter().flatten();
        let fields: Vec<_> = fields
            .map(|(field, variable)| FieldVariable {
                field: *field,
                variable: numbers.number(variable),
            })
            .collect();
        if !fields.is_empty() {
            environments.push(Environment { code: CodeId(code as u32), fields });
        }
    }
    let held = held_slots(numbers.tables);
    let mut slots = Vec::new();
    for (from, address) in calls {
        let words = pc(*address).and_then(|at| known.stacks.get(&at)).into_iter().flatten();
        for (above, variable) in words {
            let slot = from.wrapping_add(8 * u64::from(*above));
            if held.contains(&slot) {
                slots.push(SlotVariable { slot, variable: numbers.number(variable) });
            }
        }
    }
    let all = numbers.all;
    tables.variables = Some(Variables { all, environments, slots });
    Ok(())
}

/// The stack slots that point to blocks.
fn held_slots(tables: &Tables) -> HashSet<u64> {
    let roots = tables.roots.iter().filter_map(|root| match root.kind {
        RootKind::Stack { slot, .. } => Some(slot),
        _ => None,
    });
    let suspended = tables.continuations.iter().flat_map(|continuation| &continuation.held);
    roots.chain(suspended.map(|held| held.slot)).collect()
}

/// Assigns numbers to variables.
struct Numbers<'t, 'a> {
    tables: &'t mut Tables,
    all: Vec<Variable>,
    known: HashMap<bytecode::Variable<'a>, VariableId>,
}

impl<'a> Numbers<'_, 'a> {
    fn number(&mut self, variable: &bytecode::Variable<'a>) -> VariableId {
        if let Some(known) = self.known.get(variable) {
            return *known;
        }
        let names = &mut self.tables.names;
        let [module, name] = [&variable.module, &variable.name].map(|text| names.add(text));
        let id = VariableId(self.all.len() as u32);
        self.all.push(Variable { module, name, stamp: variable.stamp });
        self.known.insert(variable.clone(), id);
        id
    }
}
