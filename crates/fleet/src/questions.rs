//! The questions about a fleet, in SQL that every engine understands.
//!
//! A fleet has many rows and few sites: [`STEPS`] read the store once and make small tables, which [`QUESTIONS`] query. Parameters
//! ([`Window`]) are replaced in the text.

/// A table that is derived from the store and from earlier steps.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The name of the table.
    pub name: &'static str,
    /// The query for its rows.
    pub sql: &'static str,
}

/// A question.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Its name in JSON.
    pub name: &'static str,
    /// Its name on the command line.
    pub option: &'static str,
    /// A description of the answer.
    pub about: &'static str,
    /// The query.
    pub sql: &'static str,
}

/// The profiles that a question is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The beginning, in seconds since 1970.
    pub begin: u64,
    /// The end, which is not part of it.
    pub end: u64,
    /// The seconds that one row stands for: a minute, an hour or a day.
    pub step: u64,
    /// Only this service.
    pub service: Option<String>,
    /// Only this host.
    pub host: Option<String>,
}

/// Snapshots of heaps are rare, so questions about them look back this many seconds.
pub const SNAPSHOTS_SPAN: u64 = 30 * 86_400;

impl Window {
    /// The length of its early and of its late part: a quarter, but at least one step, since the late part says what is held at
    /// the end.
    fn part(&self) -> u64 {
        ((self.end - self.begin) / 4).max(self.step)
    }

    /// The seconds between the middles of its early and its late part, over which growth is measured.
    pub fn growth_seconds(&self) -> f64 {
        let (part, step) = (self.part() as f64, self.step as f64);
        // Rows are at multiples of the step from the beginning.
        let steps = (part / step).ceil() + (part / step).floor();
        (self.end - self.begin) as f64 - step * steps / 2.0
    }

    /// Inserts its parameters into a question.
    pub fn of(&self, sql: &str) -> String {
        let part = self.part();
        let is = |column: &str, name: &Option<String>| match name {
            Some(name) => format!("{column} = '{}'", name.replace('\'', "''")),
            None => "1 = 1".to_owned(),
        };
        let wanted = format!("{} and {}", is("service", &self.service), is("host", &self.host));
        let snapshots = self.end.saturating_sub(SNAPSHOTS_SPAN);
        sql.replace(":early", &(self.begin + part).to_string())
            .replace(":late", &(self.end - part).to_string())
            .replace(":begin", &self.begin.to_string())
            .replace(":end", &self.end.to_string())
            .replace(":snapshots", &snapshots.to_string())
            // Last, because names may contain any of the others.
            .replace(":wanted", &wanted)
    }
}

/// The times of all profiles.
pub const EXTENT: &str = "select min(time) as first, max(time) as last from samples";

/// The same of a store that has only summaries of heaps.
pub const EXTENT_OF_HEAPS: &str = "select min(time) as first, max(time) as last from heaps";

/// The number of services, hosts, builds and profiles.
pub const TOTALS: &str =
    "select count(distinct service) as services, count(distinct host) as hosts,
  count(distinct build_id) as builds, sum(minutes) as profiles from runs";

/// The tables that all questions share, in order. Bytes are estimates: samples divided by the rate. The variance of such an
/// estimate is the estimate times `noise`, the bytes that one sample stands for.
pub const STEPS: [Step; 7] = [
    Step {
        name: "stack_sites",
        sql: "select stack_id, min(stack_id) over (partition by leaf, file, line) as site, leaf, file, line
from (select stack_id, min(leaf) as leaf, min(file) as file, min(line) as line from stacks group by stack_id) as known",
    },
    Step {
        name: "sites",
        sql: "select site, min(coalesce(leaf, '[unknown]')) as leaf, min(file) as file, min(line) as line
from stack_sites group by site",
    },
    Step {
        name: "site_runs",
        sql: "select service, build_id, host, pid, start, site, max(8 / rate) as noise,
  sum(samples / rate) * 8 as allocated, sum(promoted / rate) * 8 as promoted,
  sum(case when time < :early then live / rate else 0 end) * 8 as early,
  sum(case when time >= :early and time < :late then live / rate else 0 end) * 8 as middle,
  sum(case when time >= :late then live / rate else 0 end) * 8 as late
from samples join stack_sites using (stack_id)
where time >= :begin and time < :end and :wanted
group by service, build_id, host, pid, start, site",
    },
    Step {
        name: "profiles",
        sql: "select time, service, build_id, host, pid, start, min(version) as version, min(ocaml) as ocaml,
  sum(samples / rate) * 8 as allocated, sum(promoted / rate) * 8 as promoted, sum(live / rate) * 8 as live
from samples where time >= :begin and time < :end and :wanted
group by time, service, build_id, host, pid, start",
    },
    Step {
        name: "runs",
        sql: "select service, build_id, host, pid, start, min(version) as version, min(ocaml) as ocaml,
  count(*) as minutes, sum(allocated) / count(*) as allocated_per_minute,
  sum(case when time < :early then 1 else 0 end) as early_minutes,
  sum(case when time >= :early and time < :late then 1 else 0 end) as middle_minutes,
  sum(case when time >= :late then 1 else 0 end) as late_minutes,
  coalesce(avg(case when time < :early then live end), 0) as early_live,
  coalesce(avg(case when time >= :late then live end), 0) as late_live
from profiles group by service, build_id, host, pid, start",
    },
    Step {
        name: "memory_runs",
        sql: "select service, build_id, host, pid, start,
  avg(case when time < :early then rss end) as early_rss,
  avg(case when time >= :early and time < :late then rss end) as middle_rss,
  avg(case when time >= :late then rss end) as late_rss,
  avg(case when time < :early then live end) as early_live, avg(case when time >= :late then live end) as late_live,
  avg(case when time >= :late then heap end) as late_heap,
  sum(seconds) as seconds, sum(minor_collections) as minor_collections, sum(major_collections) as major_collections,
  sum(promoted_words) as promoted_words, sum(case when pause_seconds is not null then seconds end) as paused_seconds,
  sum(pause_seconds) as pause_seconds, max(pause_max) as longest_pause, max(trace) as trace
from runtime where time >= :begin and time < :end and :wanted
group by service, build_id, host, pid, start",
    },
    Step {
        // A run in which a function was not sampled counts as zero. The variance between runs is at least that of sampling.
        name: "function_builds",
        sql: "select service, build_id, place, leaf, allocated / runs as allocated, live / runs as live,
  greatest(case when runs > 1 then (allocated_squares - allocated * allocated / runs) / (runs - 1) else 0 end,
    allocated_variance / runs) / runs as allocated_error,
  greatest(case when runs > 1 then (live_squares - live * live / runs) / (runs - 1) else 0 end,
    live_variance / runs) / runs as live_error
from (select service, build_id, leaf, sum(allocated) as allocated, sum(allocated * allocated) as allocated_squares,
    sum(allocated_variance) as allocated_variance, sum(live) as live, sum(live * live) as live_squares,
    sum(live_variance) as live_variance
  from (select service, build_id, host, pid, start, leaf, sum(allocated / minutes) as allocated,
      sum(allocated / minutes / minutes * noise) as allocated_variance,
      sum(case when late_minutes > 0 then late / late_minutes else 0 end) as live,
      sum(case when late_minutes > 0 then late / late_minutes * noise else 0 end) as live_variance
    from site_runs join runs using (service, build_id, host, pid, start) join sites using (site)
    group by service, build_id, host, pid, start, leaf) as of_runs
  group by service, build_id, leaf) as of_builds
join (select service, build_id, count(*) as runs, row_number() over (partition by service order by min(start), build_id) as place
  from runs group by service, build_id) as begun using (service, build_id)",
    },
];

/// The questions about one host: its programs, and what they hold.
pub const OF_HOST: [Question; 2] = [
    Question {
        name: "host_runs",
        option: "host-runs",
        about: "the programs of a host, with the paths of their traces there",
        sql: "select service, pid, start, build_id, version, ocaml, minutes, allocated_per_minute, runs.late_live as held, late_heap as heap,
  late_rss as rss, trace
from runs left join memory_runs using (service, build_id, host, pid, start)
order by start desc, service, pid",
    },
    Question {
        name: "host_sites",
        option: "host-sites",
        about: "allocation sites of what they hold at the end",
        sql: "select service, pid, leaf, file, line, sum(late / late_minutes) as live, sqrt(sum(late / late_minutes * noise)) as error
from site_runs join runs using (service, build_id, host, pid, start) join sites using (site)
where late_minutes > 0 and late > 0
group by service, pid, site, leaf, file, line order by round(live) desc, service, pid, site limit 50",
    },
];

/// The questions about a fleet. Answers are ordered by size in whole bytes, since engines add floating-point numbers in different
/// orders.
pub const QUESTIONS: [Question; 16] = [
    Question {
        name: "services",
        option: "services",
        about: "each service: its hosts, and what they allocate and hold",
        sql: "select service, count(distinct host) as hosts, count(distinct build_id) as builds, count(*) as runs,
  sum(minutes) as profiles, sum(allocated_per_minute) as allocated_per_minute, sum(late_live) as live
from runs group by service order by round(live) desc, service",
    },
    Question {
        name: "builds",
        option: "builds",
        about: "each build: since when it runs, on how many hosts, and what it allocates and holds per run",
        sql: "select service, build_id, min(version) as version, min(ocaml) as ocaml, count(distinct host) as hosts,
  min(start) as since, avg(allocated_per_minute) as allocated_per_minute, avg(late_live) as live
from runs group by service, build_id order by service, since, build_id",
    },
    Question {
        name: "hosts",
        option: "hosts",
        about: "each host: what it allocates and holds",
        sql: "select service, host, build_id, count(*) as runs, sum(minutes) as profiles,
  sum(allocated_per_minute) as allocated_per_minute, sum(late_live) as live
from runs group by service, host, build_id order by round(live) desc, service, host, build_id limit 1000",
    },
    Question {
        name: "over_time",
        option: "over-time",
        about: "each service over time",
        sql: "select service, time, count(distinct host) as hosts, sum(allocated) as allocated, sum(promoted) as promoted,
  sum(live) as live
from profiles group by service, time order by service, time",
    },
    Question {
        name: "live_sites",
        option: "live-sites",
        about: "allocation sites of what is held at the end",
        sql: "select service, leaf, file, line, count(distinct host) as hosts, sum(late / late_minutes) as live,
  sqrt(sum(late / late_minutes * noise)) as error
from site_runs join runs using (service, build_id, host, pid, start) join sites using (site)
where late_minutes > 0 and late > 0
group by service, site, leaf, file, line order by round(live) desc, service, site limit 50",
    },
    Question {
        name: "allocating_sites",
        option: "allocating-sites",
        about: "sites that allocate most",
        sql: "select service, leaf, file, line, count(distinct host) as hosts, sum(allocated / minutes) as per_minute,
  sqrt(sum(allocated / minutes / minutes * noise)) as error
from site_runs join runs using (service, build_id, host, pid, start) join sites using (site)
where allocated > 0
group by service, site, leaf, file, line order by round(per_minute) desc, service, site limit 50",
    },
    Question {
        name: "promoting_sites",
        option: "promoting-sites",
        about: "allocation sites of what is promoted to the major heap",
        sql: "select service, leaf, file, line, count(distinct host) as hosts, sum(promoted / minutes) as per_minute,
  sqrt(sum(promoted / minutes / minutes * noise)) as error
from site_runs join runs using (service, build_id, host, pid, start) join sites using (site)
where promoted > 0
group by service, site, leaf, file, line order by round(per_minute) desc, service, site limit 50",
    },
    Question {
        // A cache that fills up grows only at first: a quarter of the growth must be between the middle and the late part.
        name: "growing_sites",
        option: "growing-sites",
        about: "sites whose live size keeps growing, in programs that ran all the time",
        sql: "select service, leaf, file, line, hosts, hosts_growing, early, middle, late, growth, error, growth / error as significance
from (select service, site, leaf, file, line, count(distinct host) as hosts,
    sum(case when late / late_minutes > middle / middle_minutes and middle / middle_minutes > early / early_minutes
      then 1 else 0 end) as hosts_growing,
    sum(early / early_minutes) as early, sum(middle / middle_minutes) as middle, sum(late / late_minutes) as late,
    sum(late / late_minutes - early / early_minutes) as growth,
    sqrt(sum((late / late_minutes + early / early_minutes) * noise)) as error
  from site_runs join runs using (service, build_id, host, pid, start) join sites using (site)
  where early_minutes > 0 and middle_minutes > 0 and late_minutes > 0
  group by service, site, leaf, file, line) as grown
where growth > 4.5 * error and late - middle > growth / 4
order by round(growth) desc, service, leaf, line limit 20",
    },
    Question {
        name: "growing_hosts",
        option: "growing-hosts",
        about: "hosts whose live size keeps growing",
        sql: "select service, host, build_id, sum(early_live) as early, sum(late_live) as late, sum(late_live - early_live) as growth
from runs where early_minutes > 0 and late_minutes > 0
group by service, host, build_id having sum(late_live - early_live) > 0.5
order by round(growth) desc, service, host limit 50",
    },
    Question {
        name: "builds_allocate",
        option: "builds-allocate",
        about: "what a build allocates per run and minute, compared with the build before",
        sql: "select later.service, earlier.build_id as build_before, later.build_id as build, later.leaf, earlier.allocated as before,
  later.allocated as now, later.allocated - earlier.allocated as difference,
  (later.allocated - earlier.allocated) / sqrt(earlier.allocated_error + later.allocated_error) as significance
from function_builds as later join function_builds as earlier
  on later.service = earlier.service and later.leaf = earlier.leaf and later.place = earlier.place + 1
where abs(later.allocated - earlier.allocated) > 4.5 * sqrt(earlier.allocated_error + later.allocated_error)
  and (later.allocated > 1.1 * earlier.allocated or later.allocated < 0.9 * earlier.allocated)
order by round(abs(later.allocated - earlier.allocated)) desc, later.service, later.leaf limit 20",
    },
    Question {
        name: "builds_hold",
        option: "builds-hold",
        about: "what a build holds per run, compared with the build before",
        sql: "select later.service, earlier.build_id as build_before, later.build_id as build, later.leaf, earlier.live as before,
  later.live as now, later.live - earlier.live as difference,
  (later.live - earlier.live) / sqrt(earlier.live_error + later.live_error) as significance
from function_builds as later join function_builds as earlier
  on later.service = earlier.service and later.leaf = earlier.leaf and later.place = earlier.place + 1
where abs(later.live - earlier.live) > 4.5 * sqrt(earlier.live_error + later.live_error)
  and (later.live > 1.1 * earlier.live or later.live < 0.9 * earlier.live)
order by round(abs(later.live - earlier.live)) desc, later.service, later.leaf limit 20",
    },
    Question {
        // Each host is compared with all others, so that an outlier does not enter its own reference.
        name: "odd_hosts",
        option: "odd-hosts",
        about: "hosts that hold more or less than the others of their service",
        sql: "select service, host, live, others, deviation, (live - others) / deviation as significance
from (select service, host, live, (total - live) / (hosts - 1) as others,
    greatest(sqrt(greatest((squares - live * live) / (hosts - 1)
      - (total - live) / (hosts - 1) * (total - live) / (hosts - 1), 0)), (total - live) / (hosts - 1) / 50) as deviation
  from (select service, host, live, sum(live) over (partition by service) as total,
      sum(live * live) over (partition by service) as squares, count(*) over (partition by service) as hosts
    from (select service, host, sum(late_live) as live from runs group by service, host) as held) as summed
  where hosts > 4 and total > live) as compared
where abs(live - others) > 6 * deviation
order by round(abs(live - others)) desc, service, host limit 20",
    },
    Question {
        name: "odd_sites",
        option: "odd-sites",
        about: "sites of which a host holds many times more than the others of its service",
        sql: "select service, host, leaf, file, line, live, others, (live - others) / sqrt((live + others) * noise) as significance
from (select service, host, site, live, noise, (total - live) / (hosts - 1) as others
  from (select service, host, site, live, noise, sum(live) over (partition by service, site) as total
    from (select service, host, site, max(noise) as noise, sum(late / late_minutes) as live
      from site_runs join runs using (service, build_id, host, pid, start)
      where late_minutes > 0 group by service, host, site) as held) as summed
  join (select service, count(distinct host) as hosts from runs group by service) as counted using (service)
  where hosts > 4) as compared join sites using (site)
where live > 3 * others and live - others > 6 * sqrt((live + others) * noise)
order by round(live - others) desc, service, host, leaf, line limit 20",
    },
    Question {
        // Free memory of the heap, or memory outside of it, grows, and not only at the beginning.
        name: "growing_memory",
        option: "growing-memory",
        about: "hosts whose memory grows while what their heaps hold does not",
        sql: "select service, host, build_id, sum(early_rss) as early, sum(middle_rss) as middle, sum(late_rss) as late,
  sum(late_rss - early_rss) as growth, sum(late_live - early_live) as growth_of_live
from memory_runs where early_rss is not null and middle_rss is not null and late_rss is not null
group by service, host, build_id
having sum(late_rss - early_rss) > 0.1 * sum(early_rss) and sum(late_rss - early_rss) > 8388608
  and sum(late_rss - middle_rss) > sum(late_rss - early_rss) / 4
  and sum(late_live - early_live) < sum(late_rss - early_rss) / 4
order by round(growth) desc, service, host limit 20",
    },
    Question {
        name: "collectors",
        option: "collectors",
        about: "each service: collections per minute of a program, the share of time in the collector, memory and heaps",
        sql: "select service, count(distinct host) as hosts, sum(minor_collections) / sum(seconds) * 60 as minor_per_minute,
  sum(major_collections) / sum(seconds) * 60 as major_per_minute, sum(promoted_words) / sum(seconds) * 480 as promoted_per_minute,
  sum(pause_seconds) / sum(paused_seconds) as share_in_collector, max(longest_pause) as longest_pause,
  sum(late_rss) as rss, sum(late_heap) as heap
from memory_runs group by service order by service",
    },
    Question {
        name: "held_classes",
        option: "held-classes",
        about: "what all hosts hold by class, in the last snapshot of each service on each host within thirty days",
        // Engines do not agree on what `bytes` means in an `order by`: the column or the sum of that name.
        sql: "select service, class, hosts, blocks, held as bytes, retained
from (select service, class, count(distinct host) as hosts, sum(blocks) as blocks, sum(bytes) as held, sum(retained) as retained
  from heaps join (select service, host, max(snapshot) as snapshot from heaps
      where time >= :snapshots and time < :end and :wanted group by service, host) as newest using (service, host, snapshot)
  group by service, class) as summed
order by held desc, service, class limit 50",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of the early part, the begin of the late part, and the time between their middles, in steps.
    #[test]
    fn early_and_late_parts_have_at_least_one_step() {
        for (steps, expected) in [
            (1, (1, 0, 0.0)),
            (2, (1, 1, 1.0)),
            (3, (1, 2, 2.0)),
            (4, (1, 3, 3.0)),
            (5, (2, 4, 3.5)),
            (16, (4, 12, 12.0)),
        ] {
            for step in [60, 3600, 86_400] {
                let begin = 20_000 * 86_400;
                let end = begin + steps * step;
                let window = Window { begin, end, step, service: None, host: None };
                let parts = window.of(":early :late");
                let part = |at: usize| -> u64 {
                    parts.split(' ').nth(at).and_then(|text| text.parse().ok()).expect("a number")
                };
                // Rows are at the beginnings of steps.
                let steps_before = |time: u64| (time - begin).div_ceil(step);
                let found = (steps_before(part(0)), steps_before(part(1)));
                let between = window.growth_seconds() / step as f64;
                assert_eq!((found.0, found.1, between), expected, "{steps} steps of {step} s");
            }
        }
    }
}
