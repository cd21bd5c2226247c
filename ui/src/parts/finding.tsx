/** A finding as a card: its kind, certainty, size, growth, allocation site and holder, and a link to the view that shows it. */
import type { ComponentChildren } from "preact";
import { bytes, percent } from "../format";
import { Spark } from "../pictures/spark";
import "./finding.css";

interface FindingProps {
  sure: string;
  size: ComponentChildren;
  share: number;
  /** Its bytes in each snapshot; drawn if there are at least two. */
  series?: readonly number[];
  /** What readers look for first, extracted from the sentence. */
  facts?: readonly (readonly [name: string, value: string | null])[];
  href: string;
  children: ComponentChildren;
}

export function Finding({ sure, size, share, series = [], facts = [], href, children }: FindingProps) {
  const part = Math.min(1, share);
  const known = facts.filter(([, value]) => value);
  return (
    <article class={`finding ${sure}`}>
      <div class="finding-size">
        <strong>{size}</strong>
        <span class="finding-bar" aria-hidden="true"><span style={{ width: `${(100 * part).toFixed(1)}%` }} /></span>
        <small class="faint">{percent(part)}, {sure}</small>
        {series.length > 1 && <Spark values={series} label={`${bytes(series[0] ?? 0)} to ${bytes(series[series.length - 1] ?? 0)} in ${series.length} snapshots`} />}
      </div>
      <div>
        <p>{children}</p>
        {known.length > 0 && (
          <dl class="finding-facts">
            {known.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd><code>{value}</code></dd>
              </div>
            ))}
          </dl>
        )}
      </div>
      <a href={href}>show me</a>
    </article>
  );
}
