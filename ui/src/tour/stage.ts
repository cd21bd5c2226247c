/**
 * The browser APIs that the page needs while it is rendered for a report: a location, an invisible document, and URLSearchParams.
 * Nothing is drawn, and nothing is asynchronous.
 */

type Init = string | Iterable<[string, string]> | undefined;

/** The part of the browser's class that the page uses. */
export class SearchParams {
  private all: [string, string][] = [];

  constructor(init?: Init) {
    if (typeof init !== "string") {
      this.all = [...(init ?? [])].map(([name, value]) => [name, value]);
      return;
    }
    const plain = (text: string) => {
      const spaced = text.replaceAll("+", " ");
      try {
        return decodeURIComponent(spaced);
      } catch {
        return spaced;
      }
    };
    for (const pair of init.replace(/^\?/, "").split("&")) {
      if (!pair) continue;
      const at = pair.indexOf("=");
      this.all.push(at < 0 ? [plain(pair), ""] : [plain(pair.slice(0, at)), plain(pair.slice(at + 1))]);
    }
  }

  get(name: string): string | null {
    return this.all.find(([known]) => known === name)?.[1] ?? null;
  }

  getAll(name: string): string[] {
    return this.all.filter(([known]) => known === name).map(([, value]) => value);
  }

  has(name: string): boolean {
    return this.all.some(([known]) => known === name);
  }

  append(name: string, value: string): void {
    this.all.push([name, value]);
  }

  set(name: string, value: string): void {
    const at = this.all.findIndex(([known]) => known === name);
    if (at < 0) return this.append(name, value);
    this.all = this.all.filter(([known], place) => known !== name || place === at);
    const pair = this.all[this.all.findIndex(([known]) => known === name)];
    if (pair) pair[1] = value;
  }

  delete(name: string): void {
    this.all = this.all.filter(([known]) => known !== name);
  }

  keys(): IterableIterator<string> {
    return this.all.map(([name]) => name).values();
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.all.map(([name, value]): [string, string] => [name, value]).values();
  }

  toString(): string {
    const written = (text: string) =>
      encodeURIComponent(text)
        .replace(/[!'()~]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)
        .replaceAll("%20", "+");
    return this.all.map(([name, value]) => `${written(name)}=${written(value)}`).join("&");
  }
}

/** Installs these APIs as globals. */
export function setStage(): void {
  const nothing = () => undefined;
  const location = { hash: "" };
  const stage = {
    location,
    history: { replaceState: (_: unknown, __: string, hash: string) => void (location.hash = hash) },
    HashChangeEvent: Object,
    dispatchEvent: nothing,
    setTimeout: nothing,
    clearTimeout: nothing,
    document: { hidden: false, documentElement: { dataset: {} } },
    getComputedStyle: () => ({ getPropertyValue: () => "", fontSize: "14px" }),
    innerHeight: 900,
    URLSearchParams: SearchParams,
  };
  Object.assign(globalThis, stage);
}
