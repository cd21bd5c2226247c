/** The answer to each question about a fleet as a table. */
import type { ComponentChildren } from "preact";
import { bytes, count, date, percent, seconds } from "../format";
import { Panel } from "../parts/controls";
import { Table, type TableColumn } from "../parts/table";
import { Spark } from "../pictures/spark";
import { byService, number, text, type FleetAnswer, type Row } from "./answers";

type Column = TableColumn<Row>;

/** What all tables need. */
export interface TablesProps {
  fleet: FleetAnswer;
  /** The command that prints the whole answer. */
  command: string | null;
  /** Goes to one host. */
  openHost: (host: string) => void;
}

const size = (title: string, name: string, more: Partial<Column> = {}): Column => ({
  title,
  cell: (row) => (row[name] === null ? "" : bytes(Math.round(number(row, name)))),
  value: (row) => number(row, name),
  number: true,
  ...more,
});

const words = (title: string, name: string, more: Partial<Column> = {}): Column => ({
  title,
  cell: (row) => text(row, name),
  value: (row) => text(row, name),
  ...more,
});

const whole = (title: string, name: string, more: Partial<Column> = {}): Column => ({
  title,
  cell: (row) => (row[name] === null ? "" : count(number(row, name))),
  value: (row) => number(row, name),
  number: true,
  ...more,
});

/** With one digit after the point. */
const decimal = (title: string, name: string, more: Partial<Column> = {}): Column => ({
  ...whole(title, name),
  cell: (row) => (row[name] === null ? "" : number(row, name).toFixed(1)),
  ...more,
});

const SERVICE = words("Service", "service");
const HOSTS = whole("Hosts", "hosts");
const HOST = words("Host", "host", { wide: true });
const significance = (help: string) => decimal("Significance", "significance", { help });
const SIGNIFICANCE = significance("the difference in standard errors; from 4.5 on it is reported");

const SITE: Column = {
  title: "Allocated in",
  cell: (row) => (
    <>
      <code>{text(row, "leaf")}</code> <span class="faint">{place(row)}</span>
    </>
  ),
  value: (row) => `${text(row, "leaf")} ${place(row)}`.trim(),
  wide: true,
};

function place(row: Row): string {
  return text(row, "file") && `${text(row, "file")}:${text(row, "line")}`;
}

/** An estimate with its 95 % confidence interval. */
const estimated = (title: string, name: string, most: number): Column => ({
  ...size(title, name, { bar: (row) => number(row, name) / most }),
  cell: (row) => (
    <>
      {bytes(Math.round(number(row, name)))} <small class="faint">± {((196 * number(row, "error")) / number(row, name)).toFixed(1)} %</small>
    </>
  ),
});

const most = (rows: readonly Row[], name: string) => Math.max(1, ...rows.map((row) => number(row, name)));

interface QuestionTableProps extends TablesProps {
  title: string;
  /** Its name in the answer; on the command line it has hyphens. */
  question: string;
  columns: (rows: readonly Row[]) => readonly Column[];
  /** Shown if there are no rows. */
  none: string;
  /** Whether rows lead to their host. */
  opens?: boolean;
  keys?: boolean;
  /** Which rows; by default all. */
  filter?: (row: Row) => boolean;
  tools?: ComponentChildren;
  more?: ComponentChildren;
  /** The number of rows shown; by default all. */
  first?: number;
}

export function QuestionTable(props: QuestionTableProps) {
  const { fleet, command, openHost, title, question, columns, none, opens = false, keys = false, filter = () => true, tools, more, first = Infinity } = props;
  const rows = (fleet.answers[question] ?? []).filter(filter);
  return (
    <Panel title={title} tools={tools} class="fleet-table">
      {rows.length === 0 && <p class="faint">{none}</p>}
      {rows.length > 0 && (
        <Table
          title={title}
          columns={columns(rows)}
          rows={rows.slice(0, first)}
          id={(row, at) => [row.service, row.host, row.build ?? row.build_id, row.leaf ?? row.class, row.file, row.line, at].join(" ")}
          onOpen={opens ? (row) => openHost(text(row, "host")) : undefined}
          command={command && `${command} --show ${question.replaceAll("_", "-")}`}
          keys={keys}
          more={more}
        />
      )}
    </Panel>
  );
}

export function Services(props: TablesProps) {
  const overTime = byService(props.fleet.answers.over_time ?? []);
  const held = (row: Row) => (overTime.get(text(row, "service")) ?? []).map((minute) => number(minute, "live"));
  return (
    <QuestionTable
      {...props}
      title="Services"
      question="services"
      none="There are no profiles in this time."
      keys
      columns={(rows) => [
        words("Service", "service", { wide: true }),
        size("Held", "live", { bar: (row) => number(row, "live") / most(rows, "live"), help: "live at the end, of all hosts" }),
        { title: "Over time", cell: (row) => <Spark values={held(row)} label={`what ${text(row, "service")} holds over time`} /> },
        size("Allocated/min", "allocated_per_minute"),
        HOSTS,
        whole("Builds", "builds"),
        whole("Processes", "runs"),
        whole("Profiles", "profiles"),
      ]}
    />
  );
}

/** The tables of allocation sites. */
export const SITES = {
  held: ["Held", "live_sites", "live", "Nothing is held."],
  allocated: ["Allocated", "allocating_sites", "per_minute", "Nothing is allocated."],
  promoted: ["Promoted", "promoting_sites", "per_minute", "Nothing is promoted to the major heap."],
} as const;

export function Sites(props: TablesProps & { of: keyof typeof SITES; tools?: ComponentChildren; more?: ComponentChildren; first?: number; keys?: boolean }) {
  const [title, question, name, none] = SITES[props.of];
  const unit = name === "per_minute" ? "/min" : "";
  const columns = (rows: readonly Row[]) => [SITE, estimated(`${title}${unit}`, name, most(rows, name)), HOSTS, SERVICE];
  return <QuestionTable {...props} title={`Sites by bytes ${title.toLowerCase()}`} question={question} none={none} columns={columns} />;
}

export function GrowingSites(props: TablesProps & { tools?: ComponentChildren }) {
  const values = (row: Row) => ["early", "middle", "late"].map((name) => number(row, name));
  return (
    <QuestionTable
      {...props}
      title="Growing sites"
      question="growing_sites"
      none="No site grows by more than chance."
      keys
      columns={(rows) => [
        SITE,
        size("Growth", "growth", { bar: (row) => number(row, "growth") / most(rows, "growth") }),
        { title: "Over time", cell: (row) => <Spark values={values(row)} label={`from ${bytes(number(row, "early"))} to ${bytes(number(row, "late"))}`} /> },
        size("At the end", "late"),
        SIGNIFICANCE,
        { ...whole("Hosts", "hosts_growing"), cell: (row) => `${count(number(row, "hosts_growing"))} of ${count(number(row, "hosts"))}`, help: "hosts on which it grows all the time" },
        SERVICE,
      ]}
    />
  );
}

export function Builds(props: TablesProps) {
  const compared = (rows: readonly Row[]) => [
    words("Function", "leaf", { wide: true }),
    size("Difference", "difference", { bar: (row) => Math.abs(number(row, "difference")) / Math.max(1, ...rows.map((one) => Math.abs(number(one, "difference")))) }),
    size("Before", "before"),
    size("Now", "now"),
    SIGNIFICANCE,
    words("Build before", "build_before"),
    words("Build", "build"),
    SERVICE,
  ];
  return (
    <>
      <QuestionTable
        {...props}
        title="Allocated per minute and process, compared with the build before"
        question="builds_allocate"
        none="No function allocates more or less than in the build before, by more than chance."
        columns={compared}
        keys
      />
      <QuestionTable
        {...props}
        title="Held per process, compared with the build before"
        question="builds_hold"
        none="No function holds more or less than in the build before, by more than chance."
        columns={compared}
      />
      <QuestionTable
        {...props}
        title="Builds"
        question="builds"
        none="There are no profiles in this time."
        columns={() => [
          words("Build", "build_id", { wide: true }),
          SERVICE,
          words("Version", "version"),
          words("OCaml", "ocaml"),
          { ...whole("Since", "since"), cell: (row) => date(number(row, "since")) },
          HOSTS,
          size("Allocated/min", "allocated_per_minute", { help: "per process" }),
          size("Held", "live", { help: "per process, at the end" }),
        ]}
      />
    </>
  );
}

export function Hosts(props: TablesProps & { wanted: string; search: ComponentChildren }) {
  const wanted = props.wanted.toLowerCase();
  const all = props.fleet.answers.hosts?.length ?? 0;
  return (
    <>
      <QuestionTable
        {...props}
        title="Hosts that differ from the others of their service"
        question="odd_hosts"
        none="No host holds more or less than the others of its service, by more than chance."
        opens
        columns={() => [HOST, size("Held", "live"), size("The others", "others", { help: "the mean of the other hosts" }), significance("the difference in standard deviations of the others; from 6 on it is reported"), SERVICE]}
      />
      <QuestionTable
        {...props}
        title="Sites of which one host holds many times more"
        question="odd_sites"
        none="There are none."
        opens
        columns={() => [SITE, size("Held", "live"), size("The others", "others"), significance("the difference in standard errors; from 6 on it is reported"), words("Host", "host"), SERVICE]}
      />
      <QuestionTable
        {...props}
        title="Hosts"
        question="hosts"
        none={wanted ? "No host has such a name." : "There are no profiles in this time."}
        opens
        keys
        filter={(row) => text(row, "host").toLowerCase().includes(wanted)}
        tools={props.search}
        more={all >= MOST_HOSTS ? `The ${count(MOST_HOSTS)} that hold most. Any other: bactrian fleet --host NAME` : undefined}
        columns={(rows) => [
          HOST,
          size("Held", "live", { bar: (row) => number(row, "live") / most(rows, "live") }),
          size("Allocated/min", "allocated_per_minute"),
          SERVICE,
          words("Build", "build_id"),
          whole("Processes", "runs"),
          whole("Profiles", "profiles"),
        ]}
      />
      <QuestionTable
        {...props}
        title="Hosts whose live size grows"
        question="growing_hosts"
        none="There are none."
        opens
        columns={() => [HOST, size("Growth", "growth"), size("Early", "early"), size("Late", "late"), words("Build", "build_id"), SERVICE]}
      />
    </>
  );
}

/** The number of hosts in an answer. */
const MOST_HOSTS = 1000;

export function RuntimeTables(props: TablesProps) {
  return (
    <>
      <QuestionTable
        {...props}
        title="Hosts whose memory grows while their heaps do not"
        question="growing_memory"
        none="There are none."
        opens
        columns={() => [
          HOST,
          size("Growth", "growth"),
          size("Growth of live", "growth_of_live"),
          size("At the end", "late", { help: "resident memory" }),
          words("Build", "build_id"),
          SERVICE,
        ]}
      />
      <QuestionTable
        {...props}
        title="Garbage collection"
        question="collectors"
        none="The runtime's counters were not shipped."
        keys
        columns={(rows) => [
          words("Service", "service", { wide: true }),
          HOSTS,
          decimal("Minor/min", "minor_per_minute", { help: "minor collections per minute of a process" }),
          decimal("Major/min", "major_per_minute", { help: "major collections per minute of a process" }),
          size("Promoted/min", "promoted_per_minute", { help: "per process" }),
          { ...decimal("In the collector", "share_in_collector"), cell: (row) => (row.share_in_collector === null ? "" : percent(number(row, "share_in_collector"))) },
          { ...decimal("Longest pause", "longest_pause"), cell: (row) => (row.longest_pause === null ? "" : seconds(number(row, "longest_pause"))) },
          size("RSS", "rss", { bar: (row) => number(row, "rss") / most(rows, "rss"), help: "resident memory of all hosts" }),
          size("Heap", "heap", { help: "major heaps of all hosts" }),
        ]}
      />
    </>
  );
}

export function Heaps(props: TablesProps) {
  return (
    <QuestionTable
      {...props}
      title="What all heaps hold, by class"
      question="held_classes"
      none="No snapshots were shipped in the last thirty days: bactrian snapshot PID --summary --to STORE sends one, and ship sends those beside the traces."
      keys
      columns={(rows) => [
        { ...words("Class", "class", { wide: true }), cell: (row) => <code>{text(row, "class")}</code> },
        size("Bytes", "bytes", { bar: (row) => number(row, "bytes") / most(rows, "bytes"), help: "shallow size" }),
        size("Retained", "retained", { help: "what would be freed without them" }),
        whole("Blocks", "blocks"),
        HOSTS,
        SERVICE,
      ]}
    />
  );
}

export function HostSites(props: TablesProps) {
  return (
    <QuestionTable
      {...props}
      title="What they hold at the end"
      question="host_sites"
      none="Nothing of what was sampled."
      keys
      columns={(rows) => [SITE, estimated("Held", "live", most(rows, "live")), { ...whole("Process", "pid"), cell: (row) => text(row, "pid") }, SERVICE]}
    />
  );
}
