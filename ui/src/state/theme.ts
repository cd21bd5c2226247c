/** The light or dark theme: the system's, unless the user has chosen. Without a browser it is light. */
import { useEffect, useState } from "preact/hooks";

export type Choice = "system" | "light" | "dark";

/** The colours of all views and exported files; `var(--accent)` in styles is `accent` here. */
const LIGHT = {
  ground: "#fbfaf7",
  raised: "#ffffff",
  text: "#1d1f23",
  faint: "#5d636d",
  line: "#d9d7d0",
  accent: "#0b63a5",
  "on-accent": "#ffffff",
  bar: "#cfe3f3",
  hover: "#f0eee7",
  bad: "#b3261e",
  warn: "#8a5a00",
  good: "#1b6e4b",
};

const DARK: typeof LIGHT = {
  ground: "#16181c",
  raised: "#1e2126",
  text: "#e6e4df",
  faint: "#a8aeb8",
  line: "#363b43",
  accent: "#6db6f0",
  "on-accent": "#10161c",
  bar: "#234257",
  hover: "#272b32",
  bad: "#ff8a7d",
  warn: "#f0bd5e",
  good: "#6fcf9f",
};

export type Colours = typeof LIGHT & { isDark: boolean };

const MEMORY = "bactrian-theme";
const changes = new Set<() => void>();
const system = globalThis.matchMedia?.("(prefers-color-scheme: dark)");

/** The user's choice, which is stored if the browser permits. */
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
    // Then it lasts only as long as the page.
  }
  apply(next);
}

/** The colours of exported files. */
export const paper: Colours = { ...LIGHT, isDark: false };

let now = paper;

function apply(chosen: Choice): void {
  const isDark = chosen === "dark" || (chosen === "system" && !!system?.matches);
  now = { ...(isDark ? DARK : LIGHT), isDark };
  const { dataset, style } = document.documentElement;
  dataset["theme"] = isDark ? "dark" : "light";
  for (const [name, colour] of Object.entries(isDark ? DARK : LIGHT)) style.setProperty(`--${name}`, colour);
  changes.forEach((tell) => tell());
}

/** To be called once, before anything is rendered. */
export function startTheme(): void {
  apply(choice());
  system?.addEventListener("change", () => apply(choice()));
}

/** The current colours. */
export function theme(): Colours {
  return now;
}

/** The current colours; the component is rendered again when they change. */
export function useTheme(): Colours {
  const [, redraw] = useState(0);
  useEffect(() => {
    const tell = () => redraw((n) => n + 1);
    changes.add(tell);
    return () => void changes.delete(tell);
  }, []);
  return now;
}
