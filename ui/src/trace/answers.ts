/** What the server answers on traces: the results of the command line's `--json`, see docs/json.md. */
import type { Estimate } from "../format";
import type { FlameLabel, FlameTree } from "../pictures/flame-layout";

export interface Measure {
  unit: "bytes" | "objects";
  of: string;
}

export interface Series {
  points: { time: number; live: Estimate; max: Estimate; allocated: Estimate }[];
  peak_time: number;
  peak: Estimate;
}

export interface Timeline {
  all: Series;
  filtered: Series | null;
}

export interface Flame extends FlameTree {
  all: Estimate;
  measure: Measure;
  /** The stack that is shown as the root; 0 is the whole. */
  at: number;
  /** From the whole to what is shown, both included. */
  path: { id: number; label: string }[];
}

export interface Around {
  all: Estimate;
  share: number;
  callees: Flame;
  callers: Flame;
}

export interface TopRow extends FlameLabel {
  self: Estimate;
  total: Estimate;
}

export interface Top {
  by: string;
  measure: Measure;
  all: Estimate;
  row_count: number;
  rows: TopRow[];
}

export interface PathRow {
  /** Innermost first. */
  frames: FlameLabel[];
  own: Estimate;
  share: number;
  /** Outer frames that are not told. */
  left_out: number;
}

export interface Paths {
  all: Estimate;
  measure: Measure;
  row_count: number;
  rows: PathRow[];
}

export interface LifetimeRow extends FlameLabel {
  allocated: Estimate;
  never: Estimate;
  lifetimes: Estimate[];
  sizes: Estimate[];
}

export interface Lifetimes {
  by: string;
  lifetime_classes: number[];
  size_classes: number[];
  all: LifetimeRow;
  row_count: number;
  rows: LifetimeRow[];
}

export interface Change {
  before: Estimate;
  after: Estimate;
  change: Estimate;
  significant: boolean;
}

export interface DiffRow extends FlameLabel {
  self: Change;
  total: Change;
}

export interface Diff {
  by: string;
  measure: Measure;
  all: Change;
  row_count: number;
  significant: number;
  rows: DiffRow[];
}

export interface Source {
  file: string;
  found: boolean;
  first: number;
  lines: string[];
  numbers: Record<string, { self: Estimate; total: Estimate }>;
}

export interface Names {
  functions: string[];
  files: string[];
}
