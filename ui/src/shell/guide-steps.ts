/** The steps of the guide: texts and targets. */
import type { FileKind, ShownFile } from "../api/files";

export interface Step {
  /** The view to go to; null for the current one. */
  view: string | null;
  /** The element to outline: the first of these that exists. */
  targets: readonly string[];
  /** The question that it answers. */
  title: string;
  text: string;
}

const WRONG: Step = {
  view: "overview",
  targets: [".diagnosis .finding", ".diagnosis"],
  title: "What is wrong?",
  text: "The overview starts with the findings, the largest first. “show me” leads to the evidence for a finding.",
};

const SEEN: Step = {
  view: "overview",
  targets: [".overview .card .headline", ".overview .card"],
  title: "How large is it?",
  text: "The overview shows each program with its size, its state and its warnings.",
};

const TRACE: readonly Step[] = [
  {
    view: "trace",
    targets: [".timeline-panel [data-testid=timeline]", ".timeline-panel"],
    title: "When does memory grow?",
    text: "This is the live size at each moment. Drag over a span of time, and everything below shows what was alive then.",
  },
  {
    view: "trace",
    targets: [".flame-panel canvas", ".flame-panel"],
    title: "Which code allocated it?",
    text: "Each box is a function. Its width shows how much memory it and its callees keep. Click a box to zoom in.",
  },
];

const HEAP: Step = {
  view: "heap",
  targets: [".heap-main .table tbody tr", ".heap-main"],
  title: "What holds it?",
  text: "Roots hold the program's memory: values of modules, stacks. “Retained” is what would be freed without the root. Click a row to expand it.",
};

const EVOLUTION: Step = {
  view: "evolution",
  targets: [".evolution .chart canvas", ".evolution .chart"],
  title: "What grows?",
  text: "The snapshots in order. Areas that get wider from left to right grow; click an area to see what it consists of.",
};

const LIVE: Step = {
  view: "live",
  targets: [".live-head"],
  title: "What is happening now?",
  text: "The numbers of a running program. Pause, go back in time, or take a snapshot if the button is there.",
};

const FLEET: Step = {
  view: "fleet",
  targets: [".fleet .finding", ".fleet-findings", ".fleet"],
  title: "Which machine, which build?",
  text: "The fleet begins with what grows, what came with a build, and which hosts differ. “show me” leads to the table or the host.",
};

const GC: Step = {
  view: "gc",
  targets: [".gc-recommendation", ".gc"],
  title: "Which GC parameters?",
  text: "The recommended setting was run: its prediction is beside what was measured. Below, every setting is a mark: time against memory.",
};

const LAST: Step = {
  view: null,
  targets: ["[data-testid=export] summary", "header.top"],
  title: "How do I show it to others?",
  text: "Export offers the picture, the numbers, and the command that prints them; a link shows the same view. ? lists all keys and repeats this tour.",
};

/** The steps for which there is evidence. */
export function stepsFor(files: readonly ShownFile[]): Step[] {
  const count = (kind: FileKind) => files.filter((file) => file.kind === kind).length;
  const [traces, snapshots] = [count("trace"), count("snapshot")];
  return [
    ...(traces + snapshots > 0 ? [WRONG] : count("live") > 0 ? [SEEN] : []),
    ...(traces > 0 ? TRACE : []),
    ...(snapshots > 0 ? [HEAP] : []),
    ...(snapshots > 1 ? [EVOLUTION] : []),
    ...(count("live") > 0 ? [LIVE] : []),
    ...(count("fleet") > 0 ? [FLEET] : []),
    ...(count("gc") > 0 ? [GC] : []),
    LAST,
  ];
}
