/**
 * Asks questions: of the server that the page came from; in a report, of the answers that the page carries; while a report is
 * made, of whoever makes it.
 */

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

/** Leads through the page where a report is made (`tour/`). */
export interface Guide {
  /** Answers at once. */
  answer: (question: string) => Answer<unknown> | Error;
  /** So many rows of a table are looked at. */
  rows: number;
  /** Is told what a click would ask. */
  couldAsk: (question: string) => void;
  /** Is told what a click would do. */
  couldClick: (click: () => void) => void;
}

let guide: Guide | null = null;

export function follow(next: Guide): void {
  guide = next;
}

/** Whether this page is a report, or becomes one: it has some answers, and there is nobody to ask for others. */
export const isReport = carried !== null || globalThis.document === undefined;

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

/** A question in one way, however its parameters are ordered, to find its answer in a report. */
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
  guide?.couldAsk(key(name, params));
  return carried === null || key(name, params) in carried.answers;
}

/** Something that a click does: a report should have what it leads to. */
export function canClick(click: () => void): void {
  guide?.couldClick(click);
}

/** The answer, where there is no need to wait for it: where a report is made. Null where there is. */
export function askAtOnce<T>(question: string): Answer<T> | Error | null {
  return guide && (guide.answer(question) as Answer<T> | Error);
}

/** What was answered, or why there is no answer. */
export function answerOf<T>(json: string): Answer<T> | Error {
  const body = JSON.parse(json) as Answer<T> & { error?: string };
  return body.error === undefined ? body : new Error(body.error);
}

function orThrow<T>(answer: Answer<T> | Error): Answer<T> {
  if (answer instanceof Error) throw answer;
  return answer;
}

/** How many rows of a table are drawn at most. */
export function mostRows(): number {
  return guide?.rows ?? Infinity;
}

/** Asks, and throws a sentence if there is no answer. */
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
    throw new Error("bactrian does not answer: has `bactrian view` been stopped?");
  }
  const answer = orThrow(answerOf<T>(await response.text()));
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return answer;
}

/** Has the server do something, and throws a sentence if it does not. Only a server can: a report has none. */
export async function change<T>(name: string, params: Params): Promise<T> {
  if (isReport) throw new NotInReport();
  const response = await fetch(`api/${key(name, params)}`, { method: "POST" }).catch(() => {
    throw new Error("bactrian does not answer: has `bactrian view` been stopped?");
  });
  return orThrow(answerOf<T>(await response.text())).result;
}
