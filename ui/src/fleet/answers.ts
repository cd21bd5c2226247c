/** The answer about a store of profiles, which is that of `bactrian fleet STORE --json`. */

export type Row = Record<string, string | number | null>;

export interface Finding {
  sentence: string;
  service: string;
  host: string | null;
  /** The question whose answer it is from, and the row. */
  question: string;
  row: number;
  /** The bytes by which it has grown, or exceeds the build before or the other hosts. */
  excess: number;
  /** The excess as a share of the whole. */
  share: number;
}

export interface FleetAnswer {
  /** In seconds since 1970. */
  begin: number;
  end: number;
  totals: { services: number; hosts: number; builds: number; profiles: number };
  findings: Finding[];
  answers: Record<string, Row[]>;
}

export function text(row: Row, name: string): string {
  const value = row[name];
  return value === null || value === undefined ? "" : String(value);
}

export function number(row: Row, name: string): number {
  const value = row[name];
  return typeof value === "number" ? value : 0;
}

/** The rows of each service, in the order of the rows. */
export function byService(rows: readonly Row[]): Map<string, Row[]> {
  const found = new Map<string, Row[]>();
  for (const row of rows) {
    const service = text(row, "service");
    found.set(service, [...(found.get(service) ?? []), row]);
  }
  return found;
}

export type Level = "minute" | "hour" | "day";

/** The time resolutions, and how far back each can look; the first is what `bactrian fleet` does by default. */
export const LEVELS: readonly (readonly [level: Level, title: string, spans: readonly (readonly [value: string, title: string])[]])[] = [
  ["minute", "Minutes", [["2h", "2 hours"], ["30m", "30 minutes"], ["6h", "6 hours"], ["24h", "24 hours"]]],
  ["hour", "Hours", [["7d", "7 days"], ["24h", "24 hours"], ["30d", "30 days"], ["90d", "90 days"]]],
  ["day", "Days", [["90d", "90 days"], ["30d", "30 days"], ["365d", "a year"]]],
];

/** What is shown of a store, as the URL has it. */
export interface Shown {
  level: Level;
  /** How far back, or the default. */
  since: string;
  service: string;
}

export function shownIn(params: URLSearchParams): Shown {
  const [level, , spans] = LEVELS.find(([level]) => level === params.get("by")) ?? LEVELS[0]!;
  // The command line knows more spans than the page offers.
  return { level, since: params.get("since") ?? spans[0]![0], service: params.get("service") ?? "" };
}

/** The parameters of the question, without those that have their defaults. */
export function questionOf({ level, since, service }: Shown): Record<string, string> {
  const first = LEVELS.find(([one]) => one === level)?.[2][0]![0];
  return {
    ...(level === "minute" ? {} : { by: level }),
    ...(since === first ? {} : { since }),
    ...(service ? { service } : {}),
  };
}
