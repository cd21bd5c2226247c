/** One host: its programs, the commands that show their traces there, and what they hold. */
import { bytes, count, date } from "../format";
import { Facts } from "../overview/headline";
import { Panel } from "../parts/controls";
import { linkTo, useRoute } from "../state/route";
import { number, questionOf, text, type FleetAnswer, type Row, type Shown } from "./answers";
import { Asked } from "./asked";
import { HostSites } from "./tables";

export function Host({ file, host, shown, again }: { file: number; host: string; shown: Shown; again: string | undefined }) {
  const route = useRoute();
  return (
    <>
      <p class="fleet-path">
        <a href={linkTo(route, { part: "hosts", params: { host: null } })}>All hosts</a> › <strong>{host}</strong>
      </p>
      <Asked params={{ file, ...questionOf(shown), host, again }}>
        {(fleet, command) => <Programs host={host} fleet={fleet} command={command} />}
      </Asked>
    </>
  );
}

function Programs({ host, fleet, command }: { host: string; fleet: FleetAnswer; command: string | null }) {
  const runs = fleet.answers.host_runs ?? [];
  if (runs.length === 0) return <p class="faint">There are no profiles of {host} in this time.</p>;
  return (
    <>
      {runs.map((run) => <Program key={`${text(run, "pid")} ${text(run, "start")}`} host={host} run={run} />)}
      <HostSites fleet={fleet} command={command} openHost={() => undefined} />
    </>
  );
}

function Program({ host, run }: { host: string; run: Row }) {
  const known = (name: string) => run[name] !== null && run[name] !== undefined;
  const sizes: (readonly [string, string])[] = [
    ["held", "Held by sites"],
    ["heap", "Heap"],
    ["rss", "RSS"],
    ["allocated_per_minute", "Allocated/min"],
  ];
  return (
    <Panel title={<>{text(run, "service")}, process {text(run, "pid")}</>} class="fleet-program">
      <Facts
        facts={[
          ...sizes.filter(([name]) => known(name)).map(([name, title]) => [title, bytes(Math.round(number(run, name)))] as const),
          ["Since", date(number(run, "start"))],
          ["Build", text(run, "build_id")],
          ...(known("version") ? [["Version", text(run, "version")] as const] : []),
          ...(known("ocaml") ? [["OCaml", text(run, "ocaml")] as const] : []),
          ["Profiles", count(number(run, "minutes"))],
        ]}
      />
      {known("command") ? (
        <div class="command">
          <span>Its trace, on {host}:</span>
          <code>{text(run, "command")}</code>
        </div>
      ) : (
        <p class="faint">The path of its trace was not shipped.</p>
      )}
    </Panel>
  );
}
