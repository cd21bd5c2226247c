/** What the server says of a heap: the same as `bactrian heap VERB --json` (docs/json.md). Sizes are in bytes. */
import type { Estimate } from "../format";

export interface NodeLine {
  node: number;
  what: string;
  dominated: number;
}

export interface RootRow {
  kind: string;
  name: string;
  node: number;
  shallow: number;
  retained: number;
  dominated: number;
  share: number;
  rows: RootRow[];
  left_out: { rows: number; dominated: number; share: number };
}

/** What is known of roots before anything is computed. */
export interface FirstRoot {
  name: string;
  node: number;
  shallow: number;
  rows: FirstRoot[];
}

export interface Roots {
  unreached_blocks: number;
  all: RootRow;
}

export interface DominatorRow {
  what: string;
  /** Null: all blocks of a class that the row above holds. */
  node: number | null;
  objects: number;
  shallow: number;
  dominated: number;
  share: number;
  rows: DominatorRow[];
  left_out: { rows: number; dominated: number };
}

export interface DominatorTree {
  total: number;
  rows: DominatorRow[];
  left_out: { rows: number; dominated: number };
}

export interface Label {
  name: string;
  file?: string;
  line?: number;
  columns?: [number, number];
}

export interface ClassRow extends Label {
  kind: string | null;
  blocks: Estimate;
  shallow: Estimate;
  dominated: number | null;
}

export interface Coverage {
  typed: number;
  categories: { category: string; blocks: number; bytes: number; share: number }[];
  reasons: { reason: string; bytes: number; share: number }[];
  conflicts: number;
}

export interface ClassTable {
  by: string;
  exact: boolean;
  sampled_blocks: number;
  blocks: number;
  bytes: number;
  total: number;
  row_count: number;
  rows: ClassRow[];
  coverage: Coverage | null;
}

export interface FieldRow {
  constructor: string | null;
  field: string;
  type_name: string | null;
  pointers: number;
  immediates: number;
  dominated: number;
  share: number;
  shared: number;
  same: number;
}

export interface FieldTable {
  fields: { names: string[]; blocks: number; shallow: number; dominated: number; together: number; rows: FieldRow[] };
  row_count: number;
}

export interface PathStep {
  node: number;
  step: string;
  what: string;
  site: string | null;
  times: number;
}

export interface BlockPaths {
  target: NodeLine;
  roots: number;
  more: boolean;
  rows: { count: number; length: number; steps: PathStep[] }[];
}

export interface ShapeRow {
  step: string;
  what: string;
  node: number;
  repeats: boolean;
  here: number;
  blocks: number;
  bytes: number;
  rows: ShapeRow[];
  left_out: { rows: number; bytes: number };
}

export interface ClassPaths {
  blocks: number;
  bytes: number;
  unreached: number;
  rows: ShapeRow[];
  left_out: { rows: number; bytes: number };
}

export type Paths = { block: BlockPaths; row_count: number } | { class: ClassPaths };

export interface FinaliserGroup {
  count: number;
  of: number;
  function: string;
  value: string;
  in_use: number;
  bytes: number;
  cycle: PathStep[];
  values: NodeLine[];
}

export interface Finalisers {
  first: number;
  last: number;
  pending: number;
  leaking: number;
  bytes: number;
  groups: FinaliserGroup[];
}

export interface Duplicates {
  blocks: number;
  bytes: number;
  saved_blocks: number;
  saved: number;
  left_out: number;
  mutable: number | null;
  immediates_known: boolean;
  contents_known: boolean;
  class_count: number;
  classes: (Label & { kind: string; blocks: number; saved: number })[];
  sampled_blocks: number;
  sites_exact: boolean;
  site_count: number;
  sites: (Label & { sampled_blocks: number; share: number; saved: Estimate })[];
  structure_count: number;
  structures: { what: string; copies: number; each: number; saved: number; examples: string[]; nodes: number[] }[];
}

export interface CollectionRow {
  name: string;
  collection: string;
  count: number;
  elements: number;
  mean: number;
  largest: number;
  largest_node: number | null;
  empty: number | null;
  single: number;
  fill: number | null;
  overhead: number | null;
  bytes: number;
  share: number;
}

export interface Collections {
  total: number;
  row_count: number;
  rows: CollectionRow[];
  coverage: Coverage | null;
}

export interface ReducedSet {
  kind: "root" | "holder" | "large" | "way" | "rest";
  node: number | null;
  address: string | null;
  what: string;
  entry_blocks: number;
  blocks: number;
  bytes: number;
  share: number;
  classes: { name: string; blocks: number; bytes: number }[];
}

export interface Reduced {
  total: number;
  blocks: number;
  all: number;
  sets: ReducedSet[];
  edges: { from: number; to: number; pointers: number; left_out: number }[];
}

export interface AroundNode {
  kind: "centre" | "block" | "holder" | "rest";
  node: number | null;
  address: string | null;
  what: string;
  distance: number | null;
  blocks: number;
  shallow: number;
  dominated: number | null;
  share: number;
}

export interface Around {
  steps: number;
  near: number;
  told: number;
  nodes: AroundNode[];
  edges: { from: number; to: number; pointers: number; fields: string[] }[];
}

export interface Shown {
  this: NodeLine;
  address: string | null;
  class: string;
  of_type: { name: string; origin: string | null; is_polymorphic: boolean } | null;
  value: string | null;
  space: string | null;
  shallow: number;
  dominated: number;
  share: number;
  dominator: NodeLine | null;
  text: string | null;
  external: number;
  fields: { place: string; value: string | null; block: NodeLine | null }[];
  field_count: number;
  held_by: NodeLine[];
  held_by_count: number;
  holder_count: number;
  weakly_held_by: number;
  finalisers: NodeLine[];
  allocation: { frames: string[]; time: unknown; age: unknown } | null;
}

/** `List.map  list.ml:92:2-9`, as the command line writes it and takes it back. */
export function labelText({ name, file, line, columns }: Label): string {
  if (!file) return name;
  const place = line ? `${file}:${line}` : file;
  return columns ? `${name}  ${place}:${columns[0]}-${columns[1]}` : `${name}  ${place}`;
}
