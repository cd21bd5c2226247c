/** The answers about heap snapshots, under the names used in this view. Sizes are in bytes. */
export type {
  Around,
  AroundNode,
  BlockRow,
  BlocksAnswer as Blocks,
  ClassChange,
  ClassPaths,
  ClassRow,
  ClassesAnswer as ClassTable,
  CollectionRow,
  CollectionsAnswer as Collections,
  DominatorRow,
  DominatorTree,
  DuplicatesAnswer as Duplicates,
  FieldRow,
  FieldsAnswer as FieldTable,
  FinaliserGroup,
  FinalisersAnswer as Finalisers,
  FirstRootRow as FirstRoot,
  FreedClass,
  HeapDiffAnswer as HeapDiff,
  HeapDiffFlame,
  NodeLine,
  PathStep,
  Paths as BlockPaths,
  PathsAnswer as Paths,
  ReducedHeap as Reduced,
  ReducedSet,
  RootRow,
  Roots,
  ShapeMembers,
  ShapeRow,
  Shown,
  TypeCoverage as Coverage,
  WhatIfAnswer as WhatIf,
} from "../api/generated";

export interface Label {
  name: string;
  file?: string;
  line?: number;
  columns?: [number, number];
}

/** `List.map  list.ml:92:2-9`, in the form that the command line prints and accepts. */
export function labelText({ name, file, line, columns }: Label): string {
  if (!file) return name;
  const place = line ? `${file}:${line}` : file;
  return columns ? `${name}  ${place}:${columns[0]}-${columns[1]}` : `${name}  ${place}`;
}
