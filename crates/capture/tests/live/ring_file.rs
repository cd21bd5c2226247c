//! Files of runtime_events, made by hand.

/// Words of a ring.
pub const RING: usize = 64;
const DOMAINS: usize = 2;
const HEADER: usize = 80;
const HEAD: usize = 64;

/// Types of events.
pub const BEGIN: u64 = 2;
pub const END: u64 = 3;
pub const COUNTER: u64 = 4;

/// A file with two rings, laid out like OCaml's but shorter.
pub struct RingFile {
    rings: [Vec<u64>; DOMAINS],
    /// The heads of the rings.
    heads: [u64; DOMAINS],
}

impl RingFile {
    pub fn new() -> RingFile {
        RingFile { rings: [Vec::new(), Vec::new()], heads: [0; DOMAINS] }
    }

    /// Writes an event, overwriting old words if necessary. No event crosses the end of the ring.
    pub fn event(mut self, domain: usize, kind: u64, id: u64, time: u64, payload: &[u64]) -> Self {
        let length = 2 + payload.len();
        let ring = &mut self.rings[domain];
        let left = RING - ring.len() % RING;
        if left < length {
            ring.push((left as u64) << 54);
            ring.resize(ring.len() + left - 1, 0);
        }
        ring.push((length as u64) << 54 | kind << 49 | id << 36);
        ring.push(time);
        ring.extend_from_slice(payload);
        while ring.len() as u64 - self.heads[domain] >= RING as u64 {
            self.heads[domain] += ring[self.heads[domain] as usize] >> 54;
        }
        self
    }

    /// A minor collection (phase 11) within phase 35, with a counter in between.
    pub fn minor(self, domain: usize, from: u64, to: u64) -> Self {
        self.event(domain, BEGIN, 35, from, &[])
            .event(domain, BEGIN, 11, from + 1, &[])
            .event(domain, COUNTER, 4, from + 2, &[100])
            .event(domain, END, 11, to - 1, &[])
            .event(domain, END, 35, to, &[])
    }

    pub fn bytes(&self) -> Vec<u8> {
        let data = HEAD + DOMAINS * HEADER;
        let custom = data + DOMAINS * RING * 8;
        let head = [1, DOMAINS, HEADER, RING * 8, RING, HEAD, data, custom];
        let mut words: Vec<u64> = head.map(|word| word as u64).to_vec();
        for (ring, head) in self.rings.iter().zip(self.heads) {
            words.extend([head, ring.len() as u64, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
        for ring in &self.rings {
            let start = words.len();
            words.resize(start + RING, 0);
            for (at, word) in ring.iter().enumerate() {
                words[start + at % RING] = *word;
            }
        }
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}
