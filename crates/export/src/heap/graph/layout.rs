//! Where boxes and lines of a drawing go: in columns, so that every line goes from left to right.
//!
//! The way of Sugiyama. A box is one column further right than the furthest that points to it; where boxes point to each
//! other in a circle, some line is taken to go the other way, and is marked. A line over several
//! columns has a *bend* in each column between, which takes a place among the boxes there. Then the order in columns is
//! changed so that few lines cross: each thing goes where its neighbours are in the middle, sweep after sweep, and the best order is kept.
//! Last, things are moved up and down towards their neighbours as far as those above and below allow.
//!
//! Nothing here depends on chance, and time is bounded by boxes times columns.

/// How often the order is changed, and places are.
const SWEEPS: usize = 16;
/// How strongly bends are kept straight, against boxes.
const STIFFNESS: f64 = 4.0;

/// What is to be drawn.
pub(super) struct Sketch {
    /// The height of each box.
    pub heights: Vec<f64>,
    /// Lines from box to box, by their numbers.
    pub lines: Vec<(usize, usize)>,
    /// A box that stands in the last column, below all others.
    pub last: Option<usize>,
    /// Between boxes of a column.
    pub gap: f64,
}

/// Where it goes.
pub(super) struct Drawing {
    /// For each box its column, from 0, and where its middle is.
    pub boxes: Vec<(usize, f64)>,
    /// For each line the way it goes.
    pub lines: Vec<Way>,
    /// How many columns there are.
    pub columns: usize,
    /// How high all of it is; the top is at 0.
    pub height: f64,
}

/// The way of a line.
pub(super) struct Way {
    /// The places it goes through from left to right, both boxes included: columns and heights.
    pub places: Vec<(usize, f64)>,
    /// Whether its first box is the one on the right.
    pub is_back: bool,
}

impl Sketch {
    /// Finds a place for everything.
    pub fn draw(&self) -> Drawing {
        let columns = self.columns();
        let mut things = Things::of(self, &columns);
        things.order();
        things.place(self.gap);
        let count = things.columns.len();
        let bounds =
            |thing: &Thing| (thing.middle - thing.height / 2.0, thing.middle + thing.height / 2.0);
        let top = things.all.iter().map(|thing| bounds(thing).0).fold(f64::INFINITY, f64::min);
        let top = if top.is_finite() { top } else { 0.0 };
        let bottom = things.all.iter().map(|thing| bounds(thing).1).fold(top, f64::max);
        let at = |thing: usize| (things.all[thing].column, things.all[thing].middle - top);
        Drawing {
            boxes: (0..self.heights.len()).map(at).collect(),
            lines: (things.ways.iter().zip(&self.lines))
                .map(|(way, line)| Way {
                    places: way.iter().map(|&thing| at(thing)).collect(),
                    is_back: way.first().is_some_and(|&first| first != line.0),
                })
                .collect(),
            columns: count,
            height: bottom - top,
        }
    }

    /// The column of each box: one more than the furthest that points to it. Lines against the order count as if they
    /// were turned round.
    fn columns(&self) -> Vec<usize> {
        let count = self.heights.len();
        let order = self.order();
        let mut rank = vec![0; count];
        order.iter().enumerate().for_each(|(at, &one)| rank[one] = at);
        let mut to: Vec<Vec<usize>> = vec![Vec::new(); count];
        for &(from, target) in &self.lines {
            if from != target && from < count && target < count {
                let is_forward = rank[from] < rank[target];
                let (from, target) = if is_forward { (from, target) } else { (target, from) };
                to[from].push(target);
            }
        }
        let mut columns = vec![0; count];
        for &at in &order {
            for &target in &to[at] {
                columns[target] = columns[target].max(columns[at] + 1);
            }
        }
        let furthest = columns.iter().copied().max().unwrap_or(0);
        if let Some(last) = self.last.filter(|&last| last < count) {
            columns[last] = furthest.max(1);
        }
        columns
    }

    /// All boxes, those that point before those they point to, but for one line of each circle.
    fn order(&self) -> Vec<usize> {
        let count = self.heights.len();
        let mut before = vec![0_usize; count];
        let mut to: Vec<Vec<usize>> = vec![Vec::new(); count];
        for &(from, target) in &self.lines {
            if from != target && from < count && target < count {
                before[target] += 1;
                to[from].push(target);
            }
        }
        let mut order = Vec::with_capacity(count);
        let mut is_done = vec![false; count];
        let mut ready: Vec<usize> = (0..count).filter(|&at| before[at] == 0).rev().collect();
        for next in 0..count {
            // If all that are left wait for each other, one of them goes first.
            if ready.is_empty() && !is_done[next] {
                ready.push(next);
            }
            while let Some(at) = ready.pop() {
                if std::mem::replace(&mut is_done[at], true) {
                    continue;
                }
                order.push(at);
                for &target in &to[at] {
                    before[target] -= 1;
                    if !is_done[target] && before[target] == 0 {
                        ready.push(target);
                    }
                }
            }
        }
        order
    }
}

/// A box, or a bend of a line.
struct Thing {
    column: usize,
    height: f64,
    middle: f64,
    is_bend: bool,
    /// What it is joined to in the column before and in the column after.
    before: Vec<usize>,
    after: Vec<usize>,
}

struct Things {
    /// Boxes first, by their numbers.
    all: Vec<Thing>,
    /// In each column from above.
    columns: Vec<Vec<usize>>,
    /// Of each line.
    ways: Vec<Vec<usize>>,
    last: Option<usize>,
}

impl Things {
    fn of(sketch: &Sketch, columns: &[usize]) -> Things {
        let boxes = columns.iter().zip(&sketch.heights).map(|(&column, &height)| Thing {
            column,
            height,
            middle: 0.0,
            is_bend: false,
            before: Vec::new(),
            after: Vec::new(),
        });
        let mut things = Things {
            all: boxes.collect(),
            columns: vec![Vec::new(); columns.iter().max().map_or(0, |most| most + 1)],
            ways: Vec::new(),
            last: sketch.last,
        };
        for &(from, to) in &sketch.lines {
            let (Some(&start), Some(&end)) = (columns.get(from), columns.get(to)) else {
                things.ways.push(Vec::new());
                continue;
            };
            let (from, to, start, end) =
                if start > end { (to, from, end, start) } else { (from, to, start, end) };
            let mut way = vec![from];
            for column in start + 1..end {
                things.all.push(Thing {
                    column,
                    height: 0.0,
                    middle: 0.0,
                    is_bend: true,
                    before: Vec::new(),
                    after: Vec::new(),
                });
                way.push(things.all.len() - 1);
            }
            way.push(to);
            // A line to its own box is drawn, but has no say.
            if start < end {
                for pair in way.windows(2) {
                    things.all[pair[0]].after.push(pair[1]);
                    things.all[pair[1]].before.push(pair[0]);
                }
            }
            things.ways.push(way);
        }
        things.first_order();
        things
    }

    /// As a walk from the first box comes by.
    fn first_order(&mut self) {
        let mut is_seen = vec![false; self.all.len()];
        for start in 0..self.all.len() {
            let mut waiting = vec![start];
            while let Some(thing) = waiting.pop() {
                if !std::mem::replace(&mut is_seen[thing], true) {
                    self.columns[self.all[thing].column].push(thing);
                    waiting.extend(self.all[thing].after.iter().rev());
                }
            }
        }
        self.last_below();
    }

    fn last_below(&mut self) {
        if let Some(last) = self.last.filter(|&last| last < self.all.len()) {
            let column = &mut self.columns[self.all[last].column];
            column.retain(|&thing| thing != last);
            column.push(last);
        }
    }

    fn order(&mut self) {
        let mut best = (self.crossings(), self.columns.clone());
        for sweep in 0..SWEEPS {
            let count = self.columns.len();
            let is_forward = sweep % 2 == 0;
            for step in 1..count {
                let column = if is_forward { step } else { count - 1 - step };
                self.order_column(column, is_forward);
            }
            self.last_below();
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.columns.clone());
            }
        }
        self.columns = best.1;
    }

    /// Puts each thing of a column where its neighbours are in the middle.
    fn order_column(&mut self, column: usize, is_forward: bool) {
        let places = self.places();
        let wish = |&thing: &usize| {
            let thing_at = &self.all[thing];
            let neighbours = if is_forward { &thing_at.before } else { &thing_at.after };
            match neighbours.len() {
                0 => places[thing] as f64,
                count => {
                    neighbours.iter().map(|&other| places[other] as f64).sum::<f64>() / count as f64
                }
            }
        };
        let mut wishes: Vec<(f64, usize)> =
            self.columns[column].iter().map(|thing| (wish(thing), *thing)).collect();
        // Those that wish the same stay as they are.
        wishes.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.columns[column] = wishes.into_iter().map(|(_, thing)| thing).collect();
    }

    /// The place of each thing in its column.
    fn places(&self) -> Vec<usize> {
        let mut places = vec![0; self.all.len()];
        for column in &self.columns {
            column.iter().enumerate().for_each(|(place, &thing)| places[thing] = place);
        }
        places
    }

    /// How many lines cross.
    fn crossings(&self) -> usize {
        let places = self.places();
        let mut count = 0;
        for column in &self.columns {
            let mut lines: Vec<(usize, usize)> = column
                .iter()
                .flat_map(|&thing| {
                    let after = self.all[thing].after.iter();
                    after.map(|&other| (places[thing], places[other])).collect::<Vec<_>>()
                })
                .collect();
            lines.sort_unstable();
            for (at, line) in lines.iter().enumerate() {
                count += lines[..at].iter().filter(|other| other.1 > line.1).count();
            }
        }
        count
    }

    /// Moves things towards their neighbours.
    fn place(&mut self, gap: f64) {
        for column in &self.columns {
            let mut top = 0.0;
            for &thing in column {
                let thing = &mut self.all[thing];
                thing.middle = top + thing.height / 2.0;
                top += thing.height + gap;
            }
        }
        let count = self.columns.len();
        for sweep in 0..SWEEPS {
            for step in 0..count {
                let column = if sweep % 2 == 0 { step } else { count - 1 - step };
                self.place_column(column, gap);
            }
        }
    }

    /// Moves the things of a column as near as can be to where they wish to be, without changing their order: where
    /// wishes collide, those that do form a group, which goes to the middle of its wishes.
    fn place_column(&mut self, column: usize, gap: f64) {
        struct Cluster {
            wish: f64,
            weight: f64,
            things: usize,
        }
        let column = &self.columns[column];
        // How far each would be below the first if all stood close together.
        let mut offsets = Vec::with_capacity(column.len());
        let mut top = 0.0;
        let mut clusters: Vec<Cluster> = Vec::new();
        for &thing in column {
            let thing = &self.all[thing];
            let offset = top + thing.height / 2.0;
            offsets.push(offset);
            top += thing.height + gap;
            let neighbours = || thing.before.iter().chain(&thing.after);
            let wish = match neighbours().count() {
                0 => thing.middle,
                count => {
                    neighbours().map(|&other| self.all[other].middle).sum::<f64>() / count as f64
                }
            };
            let weight = if thing.is_bend { STIFFNESS } else { 1.0 };
            let mut last = Cluster { wish: wish - offset, weight, things: 1 };
            while let Some(above) = clusters.pop_if(|above| above.wish >= last.wish) {
                let weight = above.weight + last.weight;
                let wish = (above.wish * above.weight + last.wish * last.weight) / weight;
                last = Cluster { wish, weight, things: above.things + last.things };
            }
            clusters.push(last);
        }
        let starts =
            clusters.iter().flat_map(|cluster| std::iter::repeat_n(cluster.wish, cluster.things));
        let middles: Vec<f64> = starts.zip(offsets).map(|(start, offset)| start + offset).collect();
        for (&thing, middle) in column.iter().zip(middles) {
            self.all[thing].middle = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(boxes: usize, lines: &[(usize, usize)]) -> Drawing {
        Sketch { heights: vec![20.0; boxes], lines: lines.to_vec(), last: None, gap: 10.0 }.draw()
    }

    /// No boxes of a column overlap.
    fn check(drawing: &Drawing) {
        for (at, one) in drawing.boxes.iter().enumerate() {
            assert!(one.1 >= 10.0 - 1e-6 && one.1 <= drawing.height - 10.0 + 1e-6);
            for other in &drawing.boxes[..at] {
                assert!(one.0 != other.0 || (one.1 - other.1).abs() >= 30.0 - 1e-6, "{at}");
            }
        }
    }

    #[test]
    fn lines_go_to_the_right() {
        let lines = [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3), (3, 4)];
        let drawing = draw(5, &lines);
        check(&drawing);
        let columns: Vec<_> = drawing.boxes.iter().map(|place| place.0).collect();
        assert_eq!((columns, drawing.columns), (vec![0, 1, 1, 2, 3], 4));
        assert!(drawing.lines.iter().all(|way| !way.is_back));
        // The one over two columns has a bend.
        let lengths: Vec<_> = drawing.lines.iter().map(|way| way.places.len()).collect();
        assert_eq!(lengths, [2, 2, 2, 2, 3, 2]);
    }

    #[test]
    fn crossings_are_undone() {
        let drawing = draw(6, &[(0, 1), (0, 2), (1, 5), (2, 4), (2, 3)]);
        check(&drawing);
        let [one, two] = [1, 2].map(|at| drawing.boxes[at].1);
        let [three, five] = [3, 5].map(|at| drawing.boxes[at].1);
        assert_eq!(one < two, five < three);
    }

    #[test]
    fn odd_sketches_are_drawn() {
        assert_eq!(draw(0, &[]).columns, 0);
        check(&draw(3, &[]));
        // Circles, lines to oneself, lines to nowhere.
        let drawing = draw(4, &[(0, 1), (1, 2), (2, 0), (3, 3), (0, 9), (2, 3)]);
        check(&drawing);
        assert_eq!(drawing.lines.len(), 6);
        let is_back: Vec<_> = drawing.lines.iter().map(|way| way.is_back).collect();
        assert_eq!(is_back, [false, false, true, false, false, false]);
        // It goes through the column between.
        assert_eq!(drawing.lines[2].places.len(), 3);
        let chain: Vec<_> = (0..2_000).map(|at| (at, at + 1)).collect();
        check(&draw(300, &(0..299).map(|at| (0, at + 1)).collect::<Vec<_>>()));
        assert_eq!(draw(2_001, &chain).columns, 2_001);
    }
}
