//! Small ELF files with the contents that tests need. The whole file is loaded at address zero, so that offsets
//! are addresses.

/// The contents of an ELF file for a 64-bit little-endian machine.
#[derive(Clone)]
pub struct ElfFile {
    /// Its type: 2 is a program, 3 a program or library that can be loaded anywhere.
    pub kind: u16,
    /// Its machine: 62 is x86-64.
    pub machine: u16,
    /// The dynamic linker that it requests.
    pub loader: Option<&'static str>,
    /// The libraries that it requires.
    pub libraries: Vec<&'static str>,
    /// The names it exports, with their offsets in `data`.
    pub exports: Vec<(String, u64)>,
    /// The names it imports.
    pub imports: Vec<String>,
    /// The names in its symbol table; None if it is stripped.
    pub symbols: Option<Vec<(String, u64)>>,
    /// Other contents that are loaded.
    pub data: Vec<u8>,
    /// Bytes at the end of the file.
    pub tail: Vec<u8>,
}

const HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;
const SECTION_HEADER: u64 = 64;

/// A table of strings, which begins with an empty one.
struct Strings(Vec<u8>);

impl Strings {
    fn new() -> Strings {
        Strings(vec![0])
    }

    fn add(&mut self, text: &str) -> u64 {
        let at = self.0.len() as u64;
        self.0.extend(text.as_bytes());
        self.0.push(0);
        at
    }
}

struct Section {
    name: u32,
    kind: u32,
    offset: u64,
    length: u64,
    link: u32,
    entry: u64,
}

impl ElfFile {
    /// An empty, dynamically linked program for x86-64.
    pub fn program() -> ElfFile {
        ElfFile {
            kind: 3,
            machine: 62,
            loader: Some("/lib64/ld-linux-x86-64.so.2"),
            libraries: vec!["libc.so.6"],
            exports: Vec::new(),
            imports: Vec::new(),
            symbols: None,
            data: Vec::new(),
            tail: Vec::new(),
        }
    }

    /// Adds exports with these names, all at the beginning of the data.
    pub fn exporting(mut self, names: &[&str]) -> ElfFile {
        self.exports.extend(names.iter().map(|name| ((*name).to_owned(), 0)));
        self
    }

    /// Adds data with an exported name, at an address that is a multiple of eight.
    pub fn with(mut self, name: &str, data: &[u8]) -> ElfFile {
        self.data.resize(self.data.len().next_multiple_of(8), 0);
        self.exports.push((name.to_owned(), self.data.len() as u64));
        self.data.extend(data);
        self
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        let segments = 1 + u64::from(self.loader.is_some()) * 2;
        let mut body = vec![0; (HEADER + PROGRAM_HEADER * segments) as usize];
        let put = |body: &mut Vec<u8>, bytes: &[u8]| {
            body.resize(body.len().next_multiple_of(8), 0);
            let at = body.len() as u64;
            body.extend(bytes);
            (at, bytes.len() as u64)
        };
        let (data, _) = put(&mut body, &self.data);

        let mut names = Strings::new();
        let mut dynamic_symbols = vec![0; 24];
        for (name, at) in &self.exports {
            dynamic_symbols.extend(symbol(names.add(name), 1, data + at));
        }
        for name in &self.imports {
            dynamic_symbols.extend(symbol(names.add(name), 0, 0));
        }
        let mut entries: Vec<u64> = Vec::new();
        for library in &self.libraries {
            entries.extend([1, names.add(library)]);
        }
        entries.extend([0, 0]);
        let entries: Vec<u8> = entries.iter().flat_map(|entry| entry.to_le_bytes()).collect();
        let dynamic_symbols = put(&mut body, &dynamic_symbols);
        let dynamic_strings = put(&mut body, &names.0);
        let dynamic = put(&mut body, &entries);
        let loader = self.loader.map(|loader| put(&mut body, format!("{loader}\0").as_bytes()));
        let loaded = body.len() as u64;

        let mut section_names = Strings::new();
        let mut sections = Vec::new();
        let mut section = |name, kind, (offset, length), link, entry| {
            let name = section_names.add(name) as u32;
            sections.push(Section { name, kind, offset, length, link, entry });
        };
        section("", 0, (0, 0), 0, 0);
        section(".dynsym", 11, dynamic_symbols, 2, 24);
        section(".dynstr", 3, dynamic_strings, 0, 0);
        if let Some(symbols) = &self.symbols {
            let mut names = Strings::new();
            let mut table = vec![0; 24];
            for (name, at) in symbols {
                table.extend(symbol(names.add(name), 1, data + at));
            }
            let table = put(&mut body, &table);
            let names = put(&mut body, &names.0);
            section(".symtab", 2, table, 4, 24);
            section(".strtab", 3, names, 0, 0);
        }
        // The table contains its own name.
        section(".shstrtab", 3, (0, 0), 0, 0);
        let section_names = put(&mut body, &section_names.0);
        if let Some(last) = sections.last_mut() {
            (last.offset, last.length) = section_names;
        }
        let table: Vec<u8> = sections.iter().flat_map(Section::bytes).collect();
        let (table, _) = put(&mut body, &table);

        let mut header = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        header.extend(self.kind.to_le_bytes());
        header.extend(self.machine.to_le_bytes());
        header.extend(1_u32.to_le_bytes());
        header.extend([0, HEADER, table].iter().flat_map(|word| word.to_le_bytes()));
        header.extend(0_u32.to_le_bytes());
        let last = sections.len() as u16 - 1;
        let sizes = [HEADER, PROGRAM_HEADER, segments, SECTION_HEADER].map(|size| size as u16);
        header.extend(sizes.iter().chain(&[last + 1, last]).flat_map(|size| size.to_le_bytes()));
        header.extend(program_header(1, (0, loaded)));
        if let Some(loader) = loader {
            header.extend(program_header(3, loader));
            header.extend(program_header(2, dynamic));
        }
        body[..header.len()].copy_from_slice(&header);
        body.extend(&self.tail);
        body
    }
}

impl Section {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = [self.name, self.kind].map(u32::to_le_bytes).concat();
        let words = [0, self.offset, self.offset, self.length];
        bytes.extend(words.map(u64::to_le_bytes).concat());
        bytes.extend([self.link, 0].map(u32::to_le_bytes).concat());
        bytes.extend([8, self.entry].map(u64::to_le_bytes).concat());
        bytes
    }
}

/// A global symbol.
fn symbol(name: u64, section: u16, value: u64) -> Vec<u8> {
    let mut bytes = (name as u32).to_le_bytes().to_vec();
    bytes.extend([0x10, 0]);
    bytes.extend(section.to_le_bytes());
    bytes.extend([value, 0].map(u64::to_le_bytes).concat());
    bytes
}

/// A readable segment.
fn program_header(kind: u32, (offset, length): (u64, u64)) -> Vec<u8> {
    let mut bytes = [kind, 4].map(u32::to_le_bytes).concat();
    bytes.extend([offset, offset, offset, length, length, 8].map(u64::to_le_bytes).concat());
    bytes
}
