//! A small core file, built from its parts: a thread, two mapped files, and an executable whose code was not
//! dumped.

const PAGE: u64 = 4096;
/// Where the executable was loaded.
pub const BASE: u64 = 0x5555_0000_0000;
/// The address of anonymous memory.
pub const HEAP: u64 = 0x5556_0000_0000;

/// The executable: a page that begins with headers, and a second page that the core file leaves out.
pub fn executable() -> Vec<u8> {
    let mut bytes = header(3, 2);
    bytes.extend(segment(1, 5, 0, 0, PAGE, PAGE));
    bytes.extend(segment(1, 5, PAGE, PAGE, PAGE, PAGE));
    bytes.resize(PAGE as usize, 0);
    bytes.resize(2 * PAGE as usize, 0xc3);
    bytes
}

/// A core file of it.
pub fn core() -> Vec<u8> {
    let notes = [
        note(1, &thread()),
        note(3, &process()),
        note(6, &words(&[3, BASE + 64, 0, 0])),
        note(0x4649_4c45, &files()),
    ]
    .concat();
    let (notes_at, length) = (64 + 4 * 56, notes.len() as u64);
    let data_at = (notes_at + length).next_multiple_of(PAGE);
    let mut bytes = header(4, 4);
    bytes.extend(segment(4, 0, notes_at, 0, length, 0));
    // The first page of the executable is dumped, the rest is not.
    bytes.extend(segment(1, 5, data_at, BASE, PAGE, PAGE));
    bytes.extend(segment(1, 5, data_at + PAGE, BASE + PAGE, 0, PAGE));
    bytes.extend(segment(1, 6, data_at + PAGE, HEAP, PAGE, PAGE));
    bytes.extend(notes);
    bytes.resize(data_at as usize, 0);
    bytes.extend(&executable()[..PAGE as usize]);
    bytes.resize(bytes.len() + PAGE as usize, 0x11);
    bytes
}

fn header(purpose: u16, segments: u16) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    bytes.extend(purpose.to_le_bytes());
    bytes.extend(62_u16.to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(words(&[0, 64, 0]));
    bytes.extend(0_u32.to_le_bytes());
    for short in [64, 56, segments, 64, 0, 0] {
        bytes.extend(short.to_le_bytes());
    }
    bytes
}

fn segment(kind: u32, flags: u32, offset: u64, address: u64, file: u64, size: u64) -> Vec<u8> {
    let mut bytes = [kind.to_le_bytes(), flags.to_le_bytes()].concat();
    bytes.extend(words(&[offset, address, 0, file, size, PAGE]));
    bytes
}

fn note(kind: u32, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("short");
    let mut bytes = [5, length, kind].map(u32::to_le_bytes).concat();
    bytes.extend(b"CORE\0\0\0\0");
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn thread() -> Vec<u8> {
    let mut bytes = vec![0; 32];
    bytes.extend(77_u32.to_le_bytes());
    bytes.resize(112, 0);
    bytes.extend(words(&(100..127).collect::<Vec<_>>()));
    bytes
}

fn process() -> Vec<u8> {
    let mut bytes = vec![0; 24];
    bytes.extend(76_u32.to_le_bytes());
    bytes.resize(136, 0);
    bytes
}

fn files() -> Vec<u8> {
    let mut bytes = words(&[2, PAGE, BASE, BASE + PAGE, 0, BASE + PAGE, BASE + 2 * PAGE, 1]);
    bytes.extend(b"/bin/program\0/bin/program\0");
    bytes
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
