/** The answers about traces, under the names used in this view. */
export type {
  Change as DiffRow,
  Delta as Change,
  DiffAnswer as Diff,
  Flame,
  FlamesAround as Around,
  HotPath as PathRow,
  HotPaths as Paths,
  LifetimeRow as LifetimeRow,
  LifetimesAnswer as Lifetimes,
  Measure,
  Names,
  SourceAnswer as Source,
  Timeline as Series,
  TimelineAnswer as Timeline,
  TopAnswer as Top,
  TopRow,
} from "../api/generated";
