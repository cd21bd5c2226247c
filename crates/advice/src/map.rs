//! Settings as a map of `s` and `o`, for pictures: what was run, what the model predicts, and what it does not know.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Cell, Interval, Model, factor};
use crate::plan::larger_minor_heaps;
use crate::setting::Setting;

/// The maximum numbers of values of `s` and of `o`. More come only from results that were not made by one command.
const MOST_SIZES: usize = 8;
const MOST_OVERHEADS: usize = 24;

/// A map of settings.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GcMap {
    /// The values of `s`, in order: those that were run, and the next larger ones that might have been.
    pub sizes: Vec<u64>,
    /// The values of `o`, in order.
    pub overheads: Vec<u64>,
    /// The lowest and the highest `o` that the law was fitted to; none if it is unknown. Predictions for others extrapolate.
    pub fitted: Option<[u64; 2]>,
    /// For each `o`, a cell for each `s`.
    pub rows: Vec<Vec<MapCell>>,
    /// The number of known settings for which the map has no room.
    pub left_out: u64,
}

/// A setting on the map.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MapCell {
    /// The setting.
    pub setting: Setting,
    /// What its numbers come from.
    pub source: Source,
    /// Seconds; none if they are unknown.
    pub time: Option<Interval>,
    /// The peak of resident memory in bytes; none if it is unknown.
    pub rss: Option<Interval>,
    /// Its time divided by the present time.
    pub time_factor: Option<f64>,
    /// Its memory divided by the present memory.
    pub rss_factor: Option<f64>,
}

/// What the numbers of a setting come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// It was run.
    Run,
    /// The model, for an `o` between those that it was fitted to.
    Model,
    /// The model, for an `o` beyond those that it was fitted to.
    Extrapolated,
    /// Nothing: its `s` was not run, or there is no law.
    Unknown,
}

impl GcMap {
    /// The map of the known settings. The present and the recommended one are always on it.
    pub fn of(
        model: &Model,
        known: &[Cell],
        present: &Cell,
        recommended: Option<Setting>,
    ) -> GcMap {
        let wanted: Vec<Setting> =
            [Some(present.setting), recommended].into_iter().flatten().collect();
        let sizes = model.sizes().into_iter().chain(larger_minor_heaps(present.setting.s));
        let overheads = known.iter().map(|cell| cell.setting.o);
        let sizes = few(sizes.collect(), wanted.iter().map(|it| it.s).collect(), MOST_SIZES);
        let overheads =
            few(overheads.collect(), wanted.iter().map(|it| it.o).collect(), MOST_OVERHEADS);
        let fitted = model.fitted();
        let cell = |setting: Setting| {
            let cell = model.predict(setting);
            MapCell {
                setting,
                source: source(cell, fitted),
                time: cell.map(|cell| cell.time),
                rss: cell.map(|cell| cell.rss),
                time_factor: cell.map(|cell| factor(cell.time.value, present.time.value)),
                rss_factor: cell.map(|cell| factor(cell.rss.value, present.rss.value)),
            }
        };
        let row = |&o: &u64| sizes.iter().map(|&s| cell(Setting { s, o })).collect();
        let rows: Vec<Vec<MapCell>> = overheads.iter().map(row).collect();
        let is_out =
            |cell: &&Cell| !sizes.contains(&cell.setting.s) || !overheads.contains(&cell.setting.o);
        let left_out = known.iter().filter(is_out).count() as u64;
        GcMap { sizes, overheads, fitted, rows, left_out }
    }
}

fn source(cell: Option<Cell>, fitted: Option<[u64; 2]>) -> Source {
    match (cell, fitted) {
        (Some(cell), _) if cell.is_measured => Source::Run,
        (Some(cell), Some([low, high])) if (low..=high).contains(&cell.setting.o) => Source::Model,
        (Some(_), _) => Source::Extrapolated,
        (None, _) => Source::Unknown,
    }
}

/// The values in order; if there are too many, the wanted ones, and then those nearest to the first of them.
fn few(mut values: Vec<u64>, wanted: Vec<u64>, most: usize) -> Vec<u64> {
    values.sort_unstable();
    values.dedup();
    if let (true, Some(&centre)) = (values.len() > most, wanted.first()) {
        let distance = |value: u64| (value as f64 / centre as f64).ln().abs();
        values.sort_by(|&a, &b| {
            let by_need = wanted.contains(&b).cmp(&wanted.contains(&a));
            by_need.then(distance(a).total_cmp(&distance(b)))
        });
        values.truncate(most);
        values.sort_unstable();
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::cells;
    use crate::measurement::Measurement;
    use crate::model::tests::Lawful;

    const K256: u64 = 262_144;

    fn map(runs: &[Measurement], recommended: Option<Setting>) -> GcMap {
        let settings: Vec<Setting> = runs.iter().map(|run| run.setting).collect();
        let model = Model::fit(runs);
        let present = model.predict(settings[0]).expect("it was run");
        GcMap::of(&model, &cells(&model, &settings), &present, recommended)
    }

    #[test]
    fn every_cell_says_what_it_comes_from() {
        let program = Lawful::USUAL;
        let map = map(
            &[
                program.run(K256, 120),
                program.run(K256, 40),
                program.run(K256, 44),
                program.run(K256 * 4, 120),
            ],
            None,
        );
        assert_eq!(map.sizes, [K256, K256 * 4, K256 * 16]);
        assert_eq!(map.fitted, Some([40, 120]));
        let at = |s: u64, o: u64| {
            let row = map.overheads.iter().position(|&it| it == o).expect("it is considered");
            let column = map.sizes.iter().position(|&it| it == s).expect("it is considered");
            &map.rows[row][column]
        };
        assert_eq!(at(K256, 40).source, Source::Run);
        assert_eq!(at(K256, 80).source, Source::Model);
        assert_eq!(at(K256 * 4, 80).source, Source::Model);
        // Only another s was run with this o.
        assert_eq!(at(K256 * 4, 44).source, Source::Model);
        assert_eq!(at(K256, 300).source, Source::Extrapolated);
        assert_eq!(at(K256 * 16, 80).source, Source::Unknown);
        assert_eq!(at(K256 * 16, 80).time, None);
        assert_eq!(at(K256, 120).time_factor, Some(1.0));
        assert!(at(K256, 40).rss_factor.is_some_and(|factor| factor < 1.0));
        assert_eq!(map.left_out, 0);
    }

    #[test]
    fn without_a_law_only_runs_are_known() {
        let program = Lawful::USUAL;
        let map = map(&[program.run(K256, 120), program.run(K256 * 4, 120)], None);
        assert_eq!((map.fitted, &map.overheads[..]), (None, &[120][..]));
        let sources: Vec<Source> = map.rows[0].iter().map(|cell| cell.source).collect();
        assert_eq!(sources, [Source::Run, Source::Run, Source::Unknown]);
    }

    #[test]
    fn map_of_many_runs_is_small_and_has_what_matters() {
        let runs: Vec<Measurement> =
            (0..60).map(|n| Lawful::USUAL.run(K256 + 1000 * n, 100 + n)).collect();
        let far = Setting { s: K256 + 59_000, o: 159 };
        let map = map(&runs, Some(far));
        assert_eq!((map.sizes.len(), map.overheads.len()), (MOST_SIZES, MOST_OVERHEADS));
        assert!(map.sizes.contains(&K256) && map.overheads.contains(&100));
        assert!(map.sizes.contains(&far.s) && map.overheads.contains(&far.o));
        assert!(map.left_out > 0);
    }
}
