/** Asks questions: of the server that the page came from, or, in a report, of the answers that the page carries. */

/** Names and values of a question; undefined ones are left out, lists are repeated. */
export type Params = Record<string, string | number | boolean | readonly string[] | undefined>;

/** What a question is answered with. */
export interface Answer<T> {
  /** The command that prints the same. */
  command: string | null;
  /** What was lost, estimated or left out. */
  notes: string[];
  result: T;
}

/** The page is a report, and does not carry this answer. */
export class NotInReport extends Error {
  constructor() {
    super("This report does not have that. `bactrian view` on the files does.");
  }
}

interface Carried {
  answers: Record<string, string>;
  left_out: string[];
  most_bytes: number;
}

function carriedAnswers(): Carried | null {
  const element = globalThis.document?.getElementById("answers");
  return element ? (JSON.parse(element.textContent ?? "") as Carried) : null;
}

const carried = carriedAnswers();

/** Whether this page is a report: it carries answers, and there is nobody to ask. */
export const isReport = carried !== null;

/** What a report has no room for. */
export const leftOut: readonly string[] = carried?.left_out ?? [];

/** How large a report may be, in bytes. */
export const mostBytes: number = carried?.most_bytes ?? 0;

/** Parameters as pairs, in the order of their names: a flag is a name with an empty value. */
export function pairs(params: Params): [string, string][] {
  const all: [string, string][] = [];
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || value === false) continue;
    if (value === true) all.push([name, ""]);
    else if (typeof value === "object") for (const one of value) all.push([name, one]);
    else all.push([name, String(value)]);
  }
  return all;
}

/** A question in the one way that crates/web writes it too (`query.rs`), to find its answer in a report. */
export function key(name: string, params: Params): string {
  const written = pairs(params).map(([n, v]) => `${encodeURIComponent(n)}=${encodeURIComponent(v)}`);
  return `${name}?${written.sort(byCodePoints).join("&")}`;
}

/** Strings of plain ASCII, as Rust orders them. */
function byCodePoints(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

async function unpacked(text: string): Promise<string> {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

/** Whether a report has the answer; a server always might. */
export function canAsk(name: string, params: Params): boolean {
  return carried === null || key(name, params) in carried.answers;
}

/** Asks, and throws a sentence if there is no answer. */
export async function ask<T>(name: string, params: Params, signal?: AbortSignal): Promise<Answer<T>> {
  const question = key(name, params);
  if (carried !== null) {
    const packed = carried.answers[question];
    if (packed === undefined) throw new NotInReport();
    return JSON.parse(await unpacked(packed)) as Answer<T>;
  }
  let response: Response;
  try {
    response = await fetch(`api/${question}`, signal ? { signal } : {});
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Error("bactrian does not answer: has `bactrian view` been stopped?");
  }
  const body = (await response.json()) as Answer<T> & { error?: string };
  if (!response.ok) throw new Error(body.error ?? `the server answered ${response.status}`);
  return body;
}
