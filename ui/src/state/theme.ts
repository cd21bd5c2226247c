/** Light or dark: as the system is, unless the user has chosen. Canvases need the colours as plain strings. */
import { useEffect, useState } from "preact/hooks";

export type Choice = "system" | "light" | "dark";

export interface Colours {
  isDark: boolean;
  ground: string;
  raised: string;
  text: string;
  faint: string;
  line: string;
  accent: string;
  bad: string;
  good: string;
}

const MEMORY = "bactrian-theme";
const changes = new Set<() => void>();
const system = globalThis.matchMedia?.("(prefers-color-scheme: dark)");

/** What was chosen. It is remembered if the browser lets us. */
export function choice(): Choice {
  try {
    const known = localStorage.getItem(MEMORY);
    return known === "light" || known === "dark" ? known : "system";
  } catch {
    return "system";
  }
}

export function choose(next: Choice): void {
  try {
    localStorage.setItem(MEMORY, next);
  } catch {
    // Then it is forgotten with the page.
  }
  apply(next);
}

function apply(now: Choice): void {
  const isDark = now === "dark" || (now === "system" && !!system?.matches);
  document.documentElement.dataset["theme"] = isDark ? "dark" : "light";
  changes.forEach((tell) => tell());
}

/** To be called once, before anything is drawn. */
export function startTheme(): void {
  apply(choice());
  system?.addEventListener("change", () => apply(choice()));
}

/** The colours of now. */
export function theme(): Colours {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    isDark: document.documentElement.dataset["theme"] === "dark",
    ground: colour("ground"),
    raised: colour("raised"),
    text: colour("text"),
    faint: colour("faint"),
    line: colour("line"),
    accent: colour("accent"),
    bad: colour("bad"),
    good: colour("good"),
  };
}

/** The colours of now; the component is drawn anew when they change. */
export function useTheme(): Colours {
  const [, redraw] = useState(0);
  useEffect(() => {
    const tell = () => redraw((n) => n + 1);
    changes.add(tell);
    return () => void changes.delete(tell);
  }, []);
  return theme();
}
