/**
 * Asks questions: of the server that the page came from; in a report, of the answers embedded in the page; while a report is
 * made, of its producer.
 */

/** Names and values of a question. Undefined ones are omitted, lists are repeated. */
export type Params = Record<string, string | number | boolean | readonly string[] | undefined>;

/** The answer to a question. */
export interface Answer<T> {
  /** The command that prints the same. */
  command: string | null;
  /** Notes on what was lost, estimated or left out. */
  notes: string[];
  result: T;
}

/** Thrown in a report that does not contain the answer. */
export class NotInReport extends Error {
  constructor() {
    super("This is not in the report. Use `bactrian view` on the files.");
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

/** Guides the page while a report is made (`tour/`). */
export interface Guide {
  /** Answers synchronously. */
  answer: (question: string) => Answer<unknown> | Error;
  /** The number of rows of a table to visit. */
  rows: number;
  /** Called with the question that a click would ask. */
  couldAsk: (question: string) => void;
  /** Called with what a click would do. */
  couldClick: (click: () => void) => void;
}

let guide: Guide | null = null;

export function follow(next: Guide): void {
  guide = next;
}

/** Whether this page is a report or becomes one: it has some answers, and there is no server to ask for others. */
export const isReport = carried !== null || globalThis.document === undefined;

/** The answers that did not fit into the report. */
export const leftOut: readonly string[] = carried?.left_out ?? [];

/** The size limit of the report, in bytes. */
export const mostBytes: number = carried?.most_bytes ?? 0;

/** Parameters as pairs, sorted by name; a flag is a name with an empty value. */
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

/** The canonical form of a question, independent of the order of parameters, by which its answer is found in a report. */
export function key(name: string, params: Params): string {
  const written = pairs(params).map(([n, v]) => `${encodeURIComponent(n)}=${encodeURIComponent(v)}`);
  return `${name}?${written.sort(byCodePoints).join("&")}`;
}

/** Orders ASCII strings as Rust does. */
function byCodePoints(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

async function unpacked(text: string): Promise<string> {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

/** Whether the answer is available: in a report it must be embedded; a server may always have it. */
export function canAsk(name: string, params: Params): boolean {
  guide?.couldAsk(key(name, params));
  return carried === null || key(name, params) in carried.answers;
}

/** Registers what a click does, so that a report contains what it leads to. */
export function canClick(click: () => void): void {
  guide?.couldClick(click);
}

/** The answer, if it is available synchronously, which is the case while a report is made; null otherwise. */
export function askAtOnce<T>(question: string): Answer<T> | Error | null {
  return guide && (guide.answer(question) as Answer<T> | Error);
}

/** Parses an answer, or the reason why there is none. */
export function answerOf<T>(json: string): Answer<T> | Error {
  const body = JSON.parse(json) as Answer<T> & { error?: string };
  return body.error === undefined ? body : new Error(body.error);
}

function orThrow<T>(answer: Answer<T> | Error): Answer<T> {
  if (answer instanceof Error) throw answer;
  return answer;
}

/** The most rows of a table that are drawn. */
export function mostRows(): number {
  return guide?.rows ?? Infinity;
}

/** Asks a question; throws a sentence if there is no answer. */
export async function ask<T>(name: string, params: Params, signal?: AbortSignal): Promise<Answer<T>> {
  const question = key(name, params);
  const known = askAtOnce<T>(question);
  if (known !== null) return orThrow(known);
  if (carried !== null) {
    const packed = carried.answers[question];
    if (packed === undefined) throw new NotInReport();
    return orThrow(answerOf<T>(await unpacked(packed)));
  }
  let response: Response;
  try {
    response = await fetch(`api/${question}`, signal ? { signal } : {});
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Error("bactrian does not respond: has `bactrian view` been stopped?");
  }
  const answer = orThrow(answerOf<T>(await response.text()));
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return answer;
}

/** Makes the server do something; throws a sentence if it does not. Not possible in a report. */
export async function change<T>(name: string, params: Params): Promise<T> {
  if (isReport) throw new NotInReport();
  const response = await fetch(`api/${key(name, params)}`, { method: "POST" }).catch(() => {
    throw new Error("bactrian does not respond: has `bactrian view` been stopped?");
  });
  return orThrow(answerOf<T>(await response.text())).result;
}
