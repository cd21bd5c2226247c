//! Makes the store of an imaginary fleet from the stacks of a real trace, with any number of hosts and minutes, as `bactrian ship`
//! writes it. It has four faults, and one thing that only looks like a fault: see [`Planted`], [`ODD`] and [`FRAGMENTED`]. Every
//! tenth host has a summary of its heap.
//!
//! ```text
//! cargo run --release -p bactrian-fleet --example make_fleet -- TRACE STORE [HOSTS [MINUTES]]
//! ```

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::Duration;

use bactrian_analysis::heap::{ClassKind, HeldClass};
use bactrian_fleet::{
    Counts, Folder, HeapSummary, NewStack, Origin, PauseCounts, Profile, Profiler, Recorded, Run,
    RuntimeCounts,
};
use bactrian_snapshot::Info;

/// 2026-11-18, 14:00 UTC.
const FIRST_MINUTE: u64 = 1_795_010_400 / 60;
const RATE: f64 = 1e-5;
/// Samples per minute.
const ALLOCATED: u64 = 240;
/// Samples that are alive.
const ALIVE: u64 = 160;
/// Samples in the cache when it is full.
const CACHED: u64 = 120;
/// One of this many hosts has a summary of its heap.
const WITH_HEAP: u64 = 10;

/// Services, and their hosts per thousand.
const SERVICES: [(&str, u64); 4] = [("shop", 400), ("search", 300), ("mail", 200), ("login", 100)];

/// The faults, each at a stack of its own.
struct Planted {
    /// `search` never frees what is allocated here: two samples per minute on every host.
    leak: usize,
    /// The second build of `shop` allocates eight times as much here.
    regression: usize,
    /// `login` fills a cache here in the first sixth of the time. Then it is full: this is no leak.
    cache: usize,
}

/// A host of `mail` that holds three times as much as the others.
const ODD: u64 = 777;
/// A host of `shop` whose memory grows while its heap does not.
const FRAGMENTED: u64 = 250;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [trace, store, rest @ ..] = &words[..] else {
        return Err("usage: make_fleet TRACE STORE [HOSTS [MINUTES]]".into());
    };
    let number = |at: usize, default: u64| rest.get(at).map_or(Ok(default), |text| text.parse());
    let (hosts, minutes) = (number(0, 1000)?, number(1, 60)?);
    let stacks = Stacks::of(Path::new(trace))?;
    let planted = stacks.plant().ok_or("the trace has too few stacks")?;
    for (what, stack) in
        [("leak", planted.leak), ("regression", planted.regression), ("cache", planted.cache)]
    {
        let leaf = stacks.all[stack].frames.first().map_or("", |frame| frame.function.as_str());
        writeln!(std::io::stdout(), "{what}: {leaf}")?;
    }
    let folder = Folder::new(Path::new(store));
    let workers = thread::available_parallelism()?.get() as u64;
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|worker| {
                let (stacks, planted, folder) = (&stacks, &planted, &folder);
                scope.spawn(move || {
                    let own = (0..hosts).filter(|host| host % workers == worker);
                    own.map(|host| Machine::new(host, hosts, stacks, planted))
                        .try_for_each(|mut it| it.live(minutes, folder).map_err(|e| e.to_string()))
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(done) => done,
            Err(_) => Err("a thread failed".to_owned()),
        })
    })?;
    let stacks = stacks.all.len();
    Ok(writeln!(std::io::stdout(), "{stacks} stacks, {hosts} hosts, {minutes} minutes")?)
}

/// Stacks of a real program, and how often each allocates.
struct Stacks {
    all: Vec<NewStack>,
    /// Samples of each and all before it.
    sums: Vec<u64>,
}

impl Stacks {
    fn of(trace: &Path) -> Result<Stacks, Box<dyn Error>> {
        let mut profiler = Profiler::default();
        profiler.push(&std::fs::read(trace)?)?;
        let Profile { counts, new_stacks: all, .. } = profiler.cut(0);
        let mut sum = 0;
        let sums = all.iter().map(|stack| {
            sum += counts.get(&stack.id).map_or(0, |counts| counts.samples);
            sum
        });
        Ok(Stacks { sums: sums.collect(), all })
    }

    fn samples(&self, stack: usize) -> u64 {
        self.sums[stack] - stack.checked_sub(1).map_or(0, |before| self.sums[before])
    }

    fn drawn(&self, random: &mut Random) -> usize {
        let at = random.below(self.sums.last().copied().unwrap_or_default());
        self.sums.partition_point(|sum| *sum <= at)
    }

    /// Stacks of three functions that allocate a little, as most do.
    fn plant(&self) -> Option<Planted> {
        let leaf = |at: &usize| self.all[*at].frames.first().map(|frame| &frame.function);
        let mut by_samples: Vec<usize> = (0..self.all.len()).collect();
        by_samples.sort_by_key(|stack| std::cmp::Reverse(self.samples(*stack)));
        let mut chosen: Vec<usize> = Vec::new();
        for stack in by_samples.into_iter().skip(self.all.len() / 20) {
            if leaf(&stack).is_some() && chosen.iter().all(|other| leaf(other) != leaf(&stack)) {
                chosen.push(stack);
            }
            if let [leak, regression, cache] = chosen[..] {
                return Some(Planted { leak, regression, cache });
            }
        }
        None
    }
}

fn service_of(host: u64, hosts: u64) -> &'static str {
    let mut place = host * 1000 / hosts;
    for (name, share) in SERVICES {
        match place.checked_sub(share) {
            Some(rest) => place = rest,
            None => return name,
        }
    }
    SERVICES[0].0
}

/// A machine with one program.
struct Machine<'f> {
    number: u64,
    run: Run,
    origin: Origin,
    stacks: &'f Stacks,
    planted: &'f Planted,
    is_first_of_build: bool,
    is_new_build: bool,
    is_fragmented: bool,
    random: Random,
    /// The stack of each sample that is alive.
    alive: Vec<usize>,
}

impl<'f> Machine<'f> {
    fn new(host: u64, hosts: u64, stacks: &'f Stacks, planted: &'f Planted) -> Machine<'f> {
        let service = service_of(host, hosts);
        let is_new_build = service == "shop" && host % 2 == 1;
        let version = if is_new_build { "2.1" } else { "2.0" };
        let mut random = Random(host + 1);
        let is_odd = host == hosts * ODD / 1000;
        let alive = (0..if is_odd { 3 * ALIVE } else { ALIVE }).map(|_| stacks.drawn(&mut random));
        let alive = alive.collect();
        // The new build came the day before.
        let start = (FIRST_MINUTE - if is_new_build { 1440 } else { 14_400 }) * 60_000_000 + host;
        Machine {
            number: host,
            run: Run { host: format!("{service}-{host:04}"), pid: 1000 + host % 7, start },
            origin: Origin {
                service: service.to_owned(),
                version: Some(version.to_owned()),
                build_id: format!("{service}-{version}"),
                labels: vec![("zone".to_owned(), format!("{}", host % 3))],
                ..Origin::default()
            },
            stacks,
            planted,
            // As it is after a roll-up: the stacks of a build are there once.
            is_first_of_build: host < 2 || service_of(host - 1, hosts) != service,
            is_new_build,
            is_fragmented: host == hosts * FRAGMENTED / 1000,
            random,
            alive,
        }
    }

    fn live(&mut self, minutes: u64, folder: &Folder) -> std::io::Result<()> {
        let trace = format!("/var/lib/bactrian/{}.ctf", self.origin.service);
        let recorded =
            Recorded { rate: RATE, ocaml: Some("5.4.0".to_owned()), trace: Some(trace.into()) };
        for minute in 0..minutes {
            let profile = self.minute(minute, minutes);
            profile.put(folder, &self.run, &self.origin, &recorded)?;
        }
        if self.number.is_multiple_of(WITH_HEAP) {
            self.heap(FIRST_MINUTE + minutes - 1).put(folder)?;
        }
        Ok(())
    }

    /// The summary of its heap: orders hold strings, and some strings are shared.
    fn heap(&mut self, minute: u64) -> HeapSummary {
        let blocks = 10_000 + self.random.below(1000);
        let row = |class: &str, kind, root: Option<&str>, bytes, retained| HeldClass {
            class: Some(class.to_owned()),
            kind: Some(kind),
            root: root.map(str::to_owned),
            is_reachable: true,
            blocks,
            bytes: blocks * bytes,
            retained: blocks * retained,
        };
        let rows = vec![
            row("string", ClassKind::String, Some("module Orders"), 48, 48),
            row("Orders.order", ClassKind::Type, Some("module Orders"), 32, 80),
            row("string", ClassKind::String, None, 24, 24),
        ];
        let info = Info {
            program: format!("/opt/{}", self.origin.service),
            pid: u32::try_from(self.run.pid).unwrap_or_default(),
            host: self.run.host.clone(),
            ocaml: "5.4.0".to_owned(),
            taken: minute * 60_000_000,
            ..Info::default()
        };
        HeapSummary::new(info, rows, self.origin.clone(), None)
    }

    /// The counters of a program of this size: a quarter of its heap is free, and the process is a little larger than its heap.
    fn runtime(&mut self, minute: u64) -> RuntimeCounts {
        let live = (self.alive.len() as f64 * 8.0 / RATE) as u64;
        let heap = live + live / 4;
        let noise = self.random.below(live / 50);
        let lost = if self.is_fragmented { minute * heap / 20 } else { 0 };
        let pauses = PauseCounts {
            count: 90,
            sum: Duration::from_millis(270),
            median: Some(Duration::from_millis(2)),
            longest: Some(Duration::from_millis(20 + self.random.below(30))),
        };
        RuntimeCounts {
            heap: Some(heap),
            live: Some(live),
            rss: Some(heap + heap / 10 + noise + lost),
            time: Some(Duration::from_secs(60)),
            minor_collections: Some(80),
            major_collections: Some(10),
            compactions: Some(0),
            allocated_words: Some((ALLOCATED as f64 / RATE) as u64),
            promoted_words: Some((ALLOCATED as f64 / 4.0 / RATE) as u64),
            // Half of them measure pauses.
            pauses: self.run.start.is_multiple_of(2).then_some(pauses),
        }
    }

    fn minute(&mut self, minute: u64, minutes: u64) -> Profile {
        let mut profile = Profile {
            minute: FIRST_MINUTE + minute,
            end: (minute + 1) * 1000,
            counts: Default::default(),
            new_stacks: Vec::new(),
            runtime: self.runtime(minute),
        };
        if minute == 0 && self.is_first_of_build {
            profile.new_stacks = self.stacks.all.clone();
        }
        let mut allocated: Vec<usize> =
            (0..ALLOCATED).map(|_| self.stacks.drawn(&mut self.random)).collect();
        if self.origin.service == "shop" {
            let times = if self.is_new_build { 16 } else { 2 };
            allocated.extend((0..times).map(|_| self.planted.regression));
        }
        // A tenth of what is alive dies, and as much comes.
        let places = self.alive.len() as u64;
        for _ in 0..places / 10 {
            let stack = self.stacks.drawn(&mut self.random);
            let place = self.random.below(places) as usize;
            if ![self.planted.leak, self.planted.cache].contains(&self.alive[place]) {
                self.alive[place] = stack;
            }
        }
        match self.origin.service.as_str() {
            "search" => self.alive.extend([self.planted.leak; 2]),
            "login" if minute * 6 < minutes => {
                let share = CACHED / minutes.div_ceil(6);
                self.alive.extend((0..share).map(|_| self.planted.cache));
            }
            _ => {}
        }
        let mut count = |stack: usize, add: fn(&mut Counts)| {
            add(profile.counts.entry(self.stacks.all[stack].id).or_default());
        };
        for (at, stack) in allocated.into_iter().enumerate() {
            count(stack, |counts| {
                counts.blocks += 1;
                counts.samples += 1;
            });
            if at % 4 == 0 {
                count(stack, |counts| counts.promoted += 1);
            }
        }
        for stack in &self.alive {
            count(*stack, |counts| {
                counts.live_blocks += 1;
                counts.live += 1;
            });
        }
        profile
    }
}

/// Splitmix: the same numbers in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}
