/** A fleet of machines, from the profiles in a store: what stands out, services, sites, builds, hosts, heaps; and one host. */
import { useEffect, useState } from "preact/hooks";
import type { ViewProps } from "../api/files";
import { count, date } from "../format";
import { Panel, Search, Segmented, Select } from "../parts/controls";
import { useExport } from "../parts/export";
import { useKeys } from "../state/keys";
import { linkTo, useRoute } from "../state/route";
import { LEVELS, questionOf, shownIn, text, type FleetAnswer, type Level, type Shown } from "./answers";
import { Asked } from "./asked";
import { Findings } from "./findings";
import { Host } from "./host";
import { Builds, GrowingSites, Heaps, Hosts, RuntimeTables, Services, SITES, Sites, type TablesProps } from "./tables";
import "./fleet.css";

const TABS = [
  ["", "Overview"],
  ["sites", "Sites"],
  ["builds", "Builds"],
  ["hosts", "Hosts"],
  ["runtime", "Runtime"],
  ["heaps", "Heaps"],
] as const;

/** Parameters of one tab only. */
const OF_A_TAB = { of: null, host: null, q: null };

export function FleetView({ file, files }: ViewProps) {
  const route = useRoute();
  const shown = shownIn(route.params);
  const host = route.part === "host" ? route.params.get("host") : null;
  const tab = host ? "hosts" : TABS.find(([part]) => part === route.part)?.[0] ?? "";
  // The value of a new question: the server keeps recent answers.
  const [again, setAgain] = useState<string>();
  const refresh = () => setAgain(String(Date.now()));
  // Filtered by service, an answer knows of that one only.
  const [services, setServices] = useState<readonly string[]>([]);
  useKeys([
    ...TABS.map(([part, title], at) => ({ key: String(at + 1), what: title.toLowerCase(), run: () => route.go({ part, params: OF_A_TAB }) })),
    { key: "r", what: "ask again", run: refresh },
  ]);
  return (
    <div class="fleet">
      <Controls shown={shown} services={services} onRefresh={refresh} />
      <nav class="tabs" aria-label="Fleet">
        {TABS.map(([part, title]) => (
          <a key={part} href={linkTo(route, { part, params: OF_A_TAB })} aria-current={part === tab ? "page" : undefined}>{title}</a>
        ))}
      </nav>
      {host ? (
        <Host file={file} host={host} shown={shown} again={again} />
      ) : (
        <Asked params={{ file, ...questionOf(shown), again }}>
          {(fleet, command) => (
            <Answer fleet={fleet} command={command} part={tab} name={files[file]?.name ?? ""} onServices={shown.service ? undefined : setServices} />
          )}
        </Asked>
      )}
    </div>
  );
}

function Controls({ shown, services, onRefresh }: { shown: Shown; services: readonly string[]; onRefresh: () => void }) {
  const { go } = useRoute();
  const spans = LEVELS.find(([level]) => level === shown.level)?.[2] ?? [];
  const known = spans.some(([value]) => value === shown.since) ? spans : [...spans, [shown.since, shown.since] as const];
  const names = shown.service && !services.includes(shown.service) ? [...services, shown.service] : services;
  return (
    <div class="fleet-head row">
      <Segmented<Level>
        label="Time resolution"
        options={LEVELS.map(([level, title]) => [level, title] as const)}
        value={shown.level}
        onChange={(level) => go({ params: { by: level === "minute" ? null : level, since: null } })}
      />
      <Select label="of the last" options={known} value={shown.since} onChange={(since) => go({ params: { since: since === spans[0]?.[0] ? null : since } })} />
      <Select
        label="Service"
        options={[["", "all"], ...names.map((name) => [name, name] as const)]}
        value={shown.service}
        onChange={(service) => go({ params: { service: service || null } })}
      />
      <button onClick={onRefresh} title="Look for new profiles (r)">Refresh</button>
    </div>
  );
}

interface AnswerProps {
  fleet: FleetAnswer;
  command: string | null;
  part: string;
  /** The name of the store. */
  name: string;
  /** Called with the names of all services. */
  onServices: ((names: readonly string[]) => void) | undefined;
}

function Answer({ fleet, command, part, name, onServices }: AnswerProps) {
  const route = useRoute();
  useEffect(() => onServices?.((fleet.answers.services ?? []).map((row) => text(row, "service")).sort()), [fleet]);
  useExport({ title: `Fleet ${name}`, command });
  const openHost = (host: string) => route.go({ part: "host", params: { ...OF_A_TAB, host } });
  const props: TablesProps = { fleet, command, openHost };
  switch (part) {
    case "sites":
      return <SitesTab {...props} />;
    case "builds":
      return <Builds {...props} />;
    case "hosts": {
      const wanted = route.params.get("q") ?? "";
      const search = <Search label="Find a host" value={wanted} onInput={(q) => route.go({ params: { q: q || null } }, { replace: true })} />;
      return <Hosts {...props} wanted={wanted} search={search} />;
    }
    case "runtime":
      return <RuntimeTables {...props} />;
    case "heaps":
      return <Heaps {...props} />;
    default:
      return <Overview {...props} />;
  }
}

function Overview(props: TablesProps) {
  const route = useRoute();
  const { totals, begin, end } = props.fleet;
  const of = (number: number, what: string) => `${count(number ?? 0)} ${what}${number === 1 ? "" : "s"}`;
  return (
    <>
      <Panel title="What is wrong?" class="fleet-findings">
        <p class="fleet-sentence">
          <strong>{of(totals.services, "service")}</strong> on <strong>{of(totals.hosts, "host")}</strong>, {of(totals.builds, "build")}; {of(totals.profiles, "profile")} from {date(begin)} to {date(end)}.
        </p>
        <Findings fleet={props.fleet} />
      </Panel>
      <Services {...props} />
      <Sites {...props} of="held" first={12} more={<a href={linkTo(route, { part: "sites", params: OF_A_TAB })}>All sites</a>} />
    </>
  );
}

function SitesTab(props: TablesProps) {
  const route = useRoute();
  const of = route.params.get("of") ?? "held";
  const options = [...Object.entries(SITES).map(([of, [title]]) => [of, title] as const), ["growing", "Growing"] as const];
  const choice = <Segmented label="Sites by" options={options} value={of} onChange={(next) => route.go({ params: { of: next === "held" ? null : next } })} />;
  if (of === "growing") return <GrowingSites {...props} tools={choice} />;
  return <Sites {...props} of={of in SITES ? (of as keyof typeof SITES) : "held"} tools={choice} keys />;
}
