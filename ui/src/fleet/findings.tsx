/** What stands out in a fleet, with links to the tables and hosts that show it. */
import { bytes, percent } from "../format";
import "../parts/finding.css";
import { Spark } from "../pictures/spark";
import { linkTo, useRoute, type Change } from "../state/route";
import { number, type Finding, type FleetAnswer } from "./answers";

interface Kind {
  /** The tab that shows it. */
  part: string;
  of?: string;
  /** What the excess is. */
  unit: string;
  /** How sure it is: what its significance counts, and from which one on it is reported. */
  test?: readonly [unit: string, least: number];
}

const ERRORS = "standard errors";

const KINDS: Record<string, Kind> = {
  growing_sites: { part: "sites", of: "growing", unit: "more at the end", test: [ERRORS, 4.5] },
  builds_allocate: { part: "builds", unit: "more per minute and process", test: [ERRORS, 4.5] },
  builds_hold: { part: "builds", unit: "more per process", test: [ERRORS, 4.5] },
  odd_hosts: { part: "host", unit: "more than the others", test: ["standard deviations of the others", 6] },
  odd_sites: { part: "host", unit: "more than the others", test: [ERRORS, 6] },
  growing_memory: { part: "host", unit: "more at the end" },
};

export function Findings({ fleet }: { fleet: FleetAnswer }) {
  return (
    <section class="findings" aria-label="Findings">
      {fleet.findings.length === 0 && <p>Nothing: no growth, no build and no host differs by more than chance.</p>}
      {fleet.findings.map((finding) => <Card key={finding.sentence} finding={finding} fleet={fleet} />)}
    </section>
  );
}

function Card({ finding, fleet }: { finding: Finding; fleet: FleetAnswer }) {
  const route = useRoute();
  const { sentence, question, excess, share, host } = finding;
  const kind: Kind = KINDS[question] ?? { part: "", unit: "more" };
  const row = fleet.answers[question]?.[finding.row] ?? {};
  const significance = number(row, "significance");
  const series = question === "growing_sites" || question === "growing_memory" ? ["early", "middle", "late"].map((name) => number(row, name)) : [];
  const to: Change = { part: kind.part, params: { of: kind.of ?? null, host: kind.part === "host" ? host : null } };
  return (
    <article class="finding likely" data-question={question}>
      <div class="finding-size">
        <strong>{excess < 0 ? bytes(excess) : `+${bytes(excess)}`}</strong>
        <span class="finding-bar" aria-hidden="true"><span style={{ width: `${(100 * share).toFixed(1)}%` }} /></span>
        <small class="faint">{kind.unit.replace("more", excess < 0 ? "less" : "more")}{share > 0 && `, ${percent(share)} of it`}</small>
        {series.length > 0 && <Spark values={series} label={`${bytes(series[0] ?? 0)} to ${bytes(series[series.length - 1] ?? 0)}`} />}
      </div>
      <div>
        <p>{sentence}.</p>
        {kind.test && <p class="faint">{Math.abs(significance).toFixed(1)} {kind.test[0]}; from {kind.test[1]} on it is reported.</p>}
      </div>
      <a href={linkTo(route, to)}>show me</a>
    </article>
  );
}
