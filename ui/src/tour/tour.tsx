/**
 * A walk through the page without a browser, for a report: all views and their tabs, then what clicks on them lead to, and what
 * clicks lead to from there. The report contains what the page asks on the way.
 */
import { renderToString } from "preact-render-to-string";
import { answerOf, follow, type Answer, type Guide } from "../api/ask";
import type { Files } from "../api/files";
import { App } from "../shell/app";
import { VIEWS } from "../shell/views";
import { setStage } from "./stage";

/** The producer of the report: crates/web/src/tour.rs. */
export interface Host {
  /** Answers in JSON; undefined if nobody listens any more. The second number is the fraction of the tour that is done. */
  ask: (question: string, done: number) => string | undefined;
}

/** The number of clicks from the first pages. */
const DEPTH = 2;
/** The number of pages of one kind that are visited in addition to the first ones: rendering takes most of the time. */
const PAGES_OF_A_KIND = 8;
/**
 * After this many consecutive pages of one kind and file without new questions, the kind is considered complete: other files
 * contain other things.
 */
const BARREN_PAGES = 2;
/**
 * The number of questions of one kind that are asked because a click would ask them, and the number of rows clicked in each
 * table.
 */
const OF_A_KIND = 20;

/** What a page leads to. */
interface Seen {
  /** Its other tabs. */
  tabs: string[];
  links: string[];
  /** The questions that clicks would ask. */
  questions: string[];
}

export function tour(host: Host): void {
  setStage();
  const answers = new Map<string, Answer<unknown> | Error>();
  let done = 0;
  const ask = (question: string) => {
    const known = answers.get(question);
    if (known !== undefined) return known;
    const json = host.ask(question, done);
    const answer = json === undefined ? new Error("nobody answers") : answerOf(json);
    answers.set(question, answer);
    return answer;
  };
  const known = new Set<string>();
  const fresh = (all: readonly string[]) => all.filter((one) => !known.has(one) && known.add(one));
  const counts = new Map<string, number>();
  const few = (all: readonly string[], most: number) =>
    fresh(all).filter((one) => {
      const count = (counts.get(kindOf(one)) ?? 0) + 1;
      counts.set(kindOf(one), count);
      return count <= most;
    });
  const barren = new Map<string, number>();
  let here = fresh(firstPages(ask("files?")));
  for (let depth = 0; depth <= DEPTH; depth++) {
    const links: string[] = [];
    const questions: string[] = [];
    // The list grows by the tabs found on the way.
    for (let place = 0; place < here.length; place++) {
      done = (depth + place / here.length) / (DEPTH + 1);
      const address = here[place] ?? "";
      const kind = namesIn(address);
      const barrenBefore = barren.get(kind) ?? 0;
      if (barrenBefore >= BARREN_PAGES) continue;
      const answersBefore = answers.size;
      const page = look(address, ask);
      barren.set(kind, answers.size > answersBefore ? 0 : barrenBefore + 1);
      if (depth === 0) here.push(...fresh(page.tabs));
      links.push(...page.links);
      questions.push(...page.questions);
    }
    few(questions, OF_A_KIND).forEach(ask);
    here = few(links, PAGES_OF_A_KIND);
  }
}

/** Two pages or questions are of the same kind if they differ only in values or in their file. */
function kindOf(text: string): string {
  return namesIn(text).replace(/\/\d+/, "");
}

/** A page or question without the values of its parameters. */
function namesIn(text: string): string {
  const [path = "", query = ""] = text.split("?");
  const names = query.split("&").map((pair) => pair.split("=")[0]);
  return `${path} ${[...new Set(names)].sort().join(" ")}`;
}

/** Each view of each file; of snapshots the last first, because it has what stayed in memory. */
function firstPages(files: Answer<unknown> | Error): string[] {
  const all = files instanceof Error ? [] : (files as Answer<Files>).result.files;
  return VIEWS.flatMap((view) => {
    // A report has no answers to free queries.
    if (view.needsSql) return [];
    const of = all.map((file, at) => ({ file, at })).filter(({ file }) => file.kind === view.kind);
    if (view.kind !== null && of.length < view.least) return [];
    const places = view.kind === null || view.least > 1 ? [0] : of.map(({ at }) => at).reverse();
    return places.map((at) => `#/${view.id}/${at}`);
  });
}

/** Renders a page and clicks on it. */
function look(page: string, ask: Guide["answer"]): Seen {
  const questions: string[] = [];
  const clicks: (() => void)[] = [];
  follow({ answer: ask, rows: OF_A_KIND, couldAsk: (question) => questions.push(question), couldClick: (click) => clicks.push(click) });
  location.hash = page;
  const html = renderToString(<App />);
  const tabs = [...html.matchAll(/<nav[^>]*>.*?<\/nav>/gs)].flatMap(([nav]) => hashesIn(nav));
  const links = hashesIn(html);
  for (const click of clicks) {
    location.hash = page;
    click();
    if (location.hash !== page) links.push(location.hash);
  }
  return { tabs, links, questions };
}

function hashesIn(html: string): string[] {
  return [...html.matchAll(/href="(#\/[^"]*)"/g)].map(([, hash = ""]) => hash.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&amp;", "&"));
}
