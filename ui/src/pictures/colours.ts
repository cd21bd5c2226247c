/**
 * Colours of modules and types. The origin of the code determines the palette: the program's own modules are strong, libraries
 * calm, the standard library sand, C primitives grey. All colours of a theme also differ for people with colour vision
 * deficiencies: they were chosen by computation, which `colours.test.ts` repeats.
 */

/** The origin of code. */
export type Origin = "program" | "library" | "stdlib" | "c";

/** For areas and frames with dark text on them. */
const LIGHT: Record<Origin, readonly string[]> = {
  program: ["#eb8d54", "#7db0dd", "#81d16f", "#9b81f2", "#e7bc51", "#ec74c3", "#759732", "#d59723", "#be9bfa", "#bbe795", "#a27bce"],
  library: ["#b8e1fb", "#c4a77f", "#62978b", "#fad5b3", "#4198aa", "#a48755", "#90d0fb"],
  stdlib: ["#cdbca5", "#f2e5d7", "#a1987f"],
  c: ["#c1c2c4", "#d7dde3", "#a5a8ad"],
};

/** The same for dark backgrounds, slightly calmer. */
const DARK: Record<Origin, readonly string[]> = {
  program: ["#df8553", "#71c8fe", "#a3d277", "#8089dc", "#e6b04b", "#c795dd", "#c26247", "#5c80ec", "#c5892e", "#b26c2c", "#3f95b7"],
  library: ["#9dcde4", "#cea780", "#628294", "#ddc19c", "#9c7464", "#89adc3", "#b78869"],
  stdlib: ["#bda995", "#cfc3b6", "#9b9387"],
  c: ["#929ca2", "#b3bdc3", "#7b7d7e"],
};

/** For what has no name. */
const UNKNOWN = { light: "#cfcfcf", dark: "#7d7d7d" };

/** Less and more: blue and red, through the background colour. */
export const LESS = "#2b7bba";
export const MORE = "#c9402b";

/** The colours for code of this origin; if it is unknown, those for the program and its libraries. */
export function palette(isDark: boolean, origin?: Origin): readonly string[] {
  const all = isDark ? DARK : LIGHT;
  return origin ? all[origin] : [...all.program, ...all.library];
}

/** FNV-1a: the same in every release and on every machine, so that pictures can be compared. */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    value ^= text.charCodeAt(at);
    value = Math.imul(value, 0x01000193);
  }
  return (value ^ (value >>> 15)) >>> 0;
}

/** `List` of `List.map`. */
export function moduleOf(name: string): string {
  const dot = name.indexOf(".");
  return dot < 0 ? name : name.slice(0, dot);
}

/** Something in a picture that has a colour. */
export interface Coloured {
  name: string;
  origin?: Origin | null | undefined;
}

/**
 * The colours of one picture, by name. Each name has a preferred colour, the same in all pictures. Earlier names, which should be
 * the largest, choose first, and no two are alike as long as colours are left.
 */
export function coloursOf(all: Iterable<Coloured>, isDark: boolean): Map<string, string> {
  const found = new Map<string, string>();
  const free = new Map<string, Set<number>>();
  for (const { name, origin } of all) {
    if (found.has(name)) continue;
    if (name.startsWith("[")) {
      found.set(name, unknown(isDark));
      continue;
    }
    const colours = palette(isDark, origin ?? undefined);
    const key = origin ?? "";
    let left = free.get(key);
    if (!left?.size) free.set(key, (left = new Set(colours.keys())));
    let place = hash(name) % colours.length;
    while (!left.has(place)) place = (place + 1) % colours.length;
    left.delete(place);
    found.set(name, colours[place] ?? unknown(isDark));
  }
  return found;
}

function unknown(isDark: boolean): string {
  return isDark ? UNKNOWN.dark : UNKNOWN.light;
}

/** The colour of a change, from -1 (less) to 1 (more). */
export function colourOfChange(change: number, isDark: boolean): string {
  const ground = isDark ? [70, 74, 80] : [232, 232, 228];
  const end = change < 0 ? [43, 123, 186] : [201, 64, 43];
  const share = Math.min(1, Math.abs(change)) ** 0.6;
  const mixed = ground.map((from, at) => Math.round(from + ((end[at] ?? 0) - from) * share));
  return `rgb(${mixed.join(" ")})`;
}
