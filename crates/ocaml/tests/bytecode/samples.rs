//! The smallest possible bytecode executables with contents in every section.

/// A marshalled value without its header.
#[derive(Clone, Default)]
pub struct Marshalled(Vec<u8>);

impl Marshalled {
    pub fn int(n: i32) -> Marshalled {
        match u8::try_from(n) {
            Ok(small) if small < 0x40 => Marshalled(vec![0x40 | small]),
            _ => Marshalled([&[2][..], &n.to_be_bytes()].concat()),
        }
    }

    pub fn string(text: &str) -> Marshalled {
        let length = u8::try_from(text.len()).expect("a short one");
        Marshalled([&[9, length][..], text.as_bytes()].concat())
    }

    pub fn block(tag: u8, fields: &[Marshalled]) -> Marshalled {
        let header = (fields.len() as u32) << 10 | u32::from(tag);
        let fields = fields.iter().flat_map(|field| field.0.clone());
        Marshalled([8].into_iter().chain(header.to_be_bytes()).chain(fields).collect())
    }

    pub fn list(elements: &[Marshalled]) -> Marshalled {
        elements
            .iter()
            .rev()
            .fold(Marshalled::int(0), |rest, first| Marshalled::block(0, &[first.clone(), rest]))
    }

    /// The value with its header.
    pub fn whole(&self) -> Vec<u8> {
        let length = self.0.len() as u32;
        let mut bytes = [0x8495_a6be, length, 0, 0, 0].map(u32::to_be_bytes).concat();
        bytes.extend(&self.0);
        bytes
    }
}

/// Values of every kind.
pub fn values() -> Marshalled {
    let pair = Marshalled::block(0, &[Marshalled::int(-5), Marshalled::string("text")]);
    let raw = |bytes: &[u8]| Marshalled(bytes.to_vec());
    let fields = [
        pair.clone(),
        raw(&[4, 1]),
        raw(&[0x0c, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]),
        raw(&[0x0e, 1, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]),
        raw(b"\x19_i\0\0\0\0\x07"),
        raw(b"\x19_j\0\0\0\0\0\0\0\0\x07"),
        raw(b"\x19_n\0\x01\0\0\0\x07"),
        raw(&[3, 0, 0, 0, 1, 0, 0, 0, 0]),
        raw(&[0x83]),
        Marshalled::list(&[pair.clone(), pair]),
        raw(&[&[8, 0, 0, 8, 247, 0x10, 0, 0, 0, 8][..], &[7; 16], &[0x41]].concat()),
        raw(&[&[0x11, 0, 0, 0, 8, 8, 0, 0, 4, 247, 0x10, 0, 0, 0, 8][..], &[7; 16]].concat()),
    ];
    Marshalled::block(0, &fields)
}

/// A position in a file: name, line, characters before the line and before the position.
fn position(line: i32, character: i32) -> Marshalled {
    let numbers = [line, 10, character].map(Marshalled::int);
    Marshalled::block(0, &[&[Marshalled::string("main.ml")][..], &numbers].concat())
}

/// An event at a word of its module.
fn event(word: i32, kind: Marshalled, info: i32) -> Marshalled {
    let ghost = Marshalled::int(0);
    let location = Marshalled::block(0, &[position(2, 12), position(2, 20), ghost.clone()]);
    let [module, function] = ["Main", "Main.pair"].map(Marshalled::string);
    let rest = [ghost.clone(), ghost.clone(), ghost.clone(), ghost.clone(), ghost];
    let first =
        [Marshalled::int(word * 4), module, location, kind, function, Marshalled::int(info)];
    Marshalled::block(0, &[&first[..], &rest].concat())
}

/// A node of a map of global variables, with an empty left subtree.
fn global(name: &str, place: i32, after: Marshalled) -> Marshalled {
    let key = Marshalled::block(2, &[Marshalled::string(name)]);
    let empty = Marshalled::int(0);
    Marshalled::block(0, &[empty, key, Marshalled::int(place), after, Marshalled::int(1)])
}

/// Instructions of every shape, one per line.
const CODE: &[&[i32]] = &[
    &[84, 14],                // 0 BRANCH 15
    &[41],                    // 2 RESTART
    &[42, 1],                 // 3 GRAB 1
    &[0],                     // 5 ACC0
    &[87, 1 << 16 | 1, 4, 2], // 6 SWITCH int 0 -> 12, tag 0 -> 10
    &[63, 0],                 // 10 MAKEBLOCK1 0
    &[40, 2],                 // 12 RETURN 2
    &[143],                   // 14 STOP
    &[44, 1, 0, -15],         // 15 CLOSUREREC 0, 3
    &[43, 0, -18],            // 19 CLOSURE 0, 3
    &[53, 1],                 // 22 GETGLOBAL a constant
    &[55, 0, 3],              // 24 GETGLOBALFIELD Not_found, 3
    &[131, 5, -24],           // 27 BEQ 5, 5
    &[93, 0],                 // 30 C_CALL1 caml_a
    &[98, 6, 1],              // 32 C_CALLN 6, caml_b
    &[141, 77, 0],            // 35 GETPUBMET 77
    &[62, 2, 0],              // 38 MAKEBLOCK 2, 0
    &[57, 2],                 // 41 SETGLOBAL Main
    &[143],                   // 43 STOP
];

/// A file for the version of a magic number.
pub fn executable(magic: &str) -> Vec<u8> {
    let code: Vec<u8> =
        CODE.iter().copied().flatten().flat_map(|word| word.to_le_bytes()).collect();
    let map = global("Not_found", 0, global("Main", 2, Marshalled::int(0)));
    let symbols = Marshalled::block(0, &[Marshalled::int(3), map]);
    let after = Marshalled::block(0, &[Marshalled::int(0)]);
    let events = Marshalled::list(&[
        event(3, Marshalled::int(0), 0),
        event(12, Marshalled::int(1), 2),
        event(32, after, 2),
    ]);
    let mut debug = [1_u32, 0].map(u32::to_be_bytes).concat();
    debug.extend(events.whole());
    debug.extend(Marshalled::list(&[Marshalled::string("lib")]).whole());
    let sections = [
        (b"CODE", code),
        (b"DLPT", Vec::new()),
        (b"DLLS", b"dllunix\0".to_vec()),
        (b"PRIM", b"caml_a\0caml_b\0".to_vec()),
        (b"DATA", Marshalled::block(0, &[Marshalled::int(0), values()]).whole()),
        (b"SYMB", symbols.whole()),
        (b"CRCS", Marshalled::int(0).whole()),
        (b"DBUG", debug),
    ];
    let mut file = b"#!/usr/bin/ocamlrun\n".to_vec();
    let mut table = Vec::new();
    for (name, bytes) in &sections {
        file.extend(bytes);
        table.extend(*name);
        table.extend((bytes.len() as u32).to_be_bytes());
    }
    file.extend(table);
    file.extend((sections.len() as u32).to_be_bytes());
    file.extend(magic.as_bytes());
    file
}
