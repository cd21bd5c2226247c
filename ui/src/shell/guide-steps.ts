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
  text: "The overview begins with what was found, the largest first. “show me” leads to what a finding rests on.",
};

const SEEN: Step = {
  view: "overview",
  targets: [".overview .card .headline", ".overview .card"],
  title: "How large is it?",
  text: "The overview has each program with its size, how it stands, and what to worry about.",
};

const TRACE: readonly Step[] = [
  {
    view: "trace",
    targets: [".timeline-panel [data-testid=timeline]", ".timeline-panel"],
    title: "When does memory grow?",
    text: "This is what was alive at each moment. Drag over a stretch of time, and everything below is about what was alive then.",
  },
  {
    view: "trace",
    targets: [".flame-panel canvas", ".flame-panel"],
    title: "Which code made it?",
    text: "Each box is a function, as wide as what it and those it calls keep in memory. Click on one to look closer.",
  },
];

const HEAP: Step = {
  view: "heap",
  targets: [".heap-main .table tbody tr", ".heap-main"],
  title: "Who holds it?",
  text: "Roots are where a program holds on to memory: values of modules, stacks. “Retained” is what would be free without one. Click to go further in.",
};

const EVOLUTION: Step = {
  view: "evolution",
  targets: [".evolution .chart canvas", ".evolution .chart"],
  title: "What grows?",
  text: "The snapshots one after the other. What gets wider from left to right grows; click on it to see what it consists of.",
};

const LIVE: Step = {
  view: "live",
  targets: [".live-head"],
  title: "How is it now?",
  text: "The numbers of a program as it runs. Pause, go back in time, or take a snapshot where that is offered.",
};

const FLEET: Step = {
  view: "fleet",
  targets: [".fleet .finding", ".fleet-findings", ".fleet"],
  title: "Which machine, which build?",
  text: "The fleet begins with what grows, what came with a build, and which hosts differ. “show me” leads to the table or the host.",
};

const LAST: Step = {
  view: null,
  targets: ["[data-testid=export] summary", "header.top"],
  title: "How do I show it to others?",
  text: "Export has the picture, the numbers, and the command that prints them; a link shows what you see. ? lists all keys, and has this tour.",
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
    LAST,
  ];
}
