/**
 * The complete state of the page is in the URL, so that a link shows the same: `#/trace/0/flame?metric=live&in=Main.load`. It is
 * after the `#`, because reports are opened from disk, without a server that could handle other paths.
 */
import { useEffect, useState } from "preact/hooks";

export interface Route {
  /** `overview`, `trace`, `heap`, `evolution`, `live`, `fleet`, `gc`, `query`. */
  view: string;
  /** The index of the file. */
  file: number;
  /** The tab: `flame`, `roots`. Empty: the first. */
  part: string;
  params: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = splitOnce(hash.replace(/^#\/?/, ""), "?");
  const [view = "", file = "", part = ""] = path.split("/").map(decode);
  const number = Number.parseInt(file, 10);
  return {
    view: view || "overview",
    file: Number.isFinite(number) && number >= 0 ? number : 0,
    part,
    params: new URLSearchParams(query),
  };
}

function splitOnce(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function writeRoute({ view, file, part, params }: Route): string {
  const path = [view, String(file), ...(part ? [part] : [])].map(encodeURIComponent).join("/");
  const query = params.toString();
  return `#/${path}${query ? `?${query}` : ""}`;
}

/** A change of the state: parameters that are null or empty are removed. */
export interface Change {
  view?: string;
  file?: number;
  part?: string;
  /** Sets these and keeps the others; a list sets a parameter several times. */
  params?: Record<string, string | readonly string[] | null>;
  /** Keep no other parameters. */
  fresh?: boolean;
}

export function changed(route: Route, change: Change): Route {
  const params = new URLSearchParams(change.fresh ? "" : route.params);
  for (const [name, value] of Object.entries(change.params ?? {})) {
    params.delete(name);
    if (value === null) continue;
    for (const one of typeof value === "string" ? [value] : value) params.append(name, one);
  }
  return {
    view: change.view ?? route.view,
    file: change.file ?? route.file,
    part: change.part ?? (change.view !== undefined && change.view !== route.view ? "" : route.part),
    params,
  };
}

export function currentRoute(): Route {
  return parseRoute(location.hash);
}

/** Applies a change; with `replace` it adds no entry to the history. */
export function go(change: Change, options: { replace?: boolean } = {}): void {
  const hash = writeRoute(changed(currentRoute(), change));
  if (hash === location.hash) return;
  if (options.replace) {
    history.replaceState(null, "", hash);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = hash;
  }
}

/** The link for a change. */
export function linkTo(route: Route, change: Change): string {
  return writeRoute(changed(route, change));
}

/** The current state; components that use it are rendered again when it changes. */
export function useRoute(): Route & { go: typeof go } {
  const [route, setRoute] = useState(currentRoute);
  useEffect(() => {
    const update = () => setRoute(currentRoute());
    addEventListener("hashchange", update);
    // Effects run after the first frame; the URL may have changed before.
    setRoute((shown) => (writeRoute(shown) === writeRoute(currentRoute()) ? shown : currentRoute()));
    return () => removeEventListener("hashchange", update);
  }, []);
  return { ...route, go };
}
