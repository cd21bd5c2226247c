/**
 * Colours that people who see hues less well tell apart too: they differ in lightness as well as in hue. After Okabe and
 * Ito, with lighter and darker kin. The same module has the same colour everywhere.
 */

/** For areas and frames with dark text on them. */
const LIGHT = [
  "#56b4e9", "#e69f00", "#5fc9a4", "#f0e442", "#d98cb3", "#9fc5e8", "#ffb07a", "#a9d18e",
  "#c9b6e4", "#d9c27e", "#7fd1d1", "#f2a6a0", "#b8cf69", "#8fb0d9", "#e6b8d3", "#cdbb9a",
] as const;

/** The same for dark grounds: a little calmer. */
const DARK = [
  "#3f9bd1", "#c98a0a", "#43a886", "#c9bf35", "#b86f97", "#7aa6cf", "#d98f5c", "#86b26c",
  "#a691c9", "#b8a160", "#5cb0b0", "#cf837d", "#97ad4f", "#6f91bd", "#c294b0", "#ab9a7c",
] as const;

/** For what has no name. */
const UNKNOWN = { light: "#cfcfcf", dark: "#7d7d7d" };

/** Less and more: blue and red, through the colour of the ground. */
export const LESS = "#2b7bba";
export const MORE = "#c9402b";

export function palette(isDark: boolean): readonly string[] {
  return isDark ? DARK : LIGHT;
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

/** `Stdlib__List` of `Stdlib__List.map`. */
export function moduleOf(name: string): string {
  const dot = name.indexOf(".");
  return dot < 0 ? name : name.slice(0, dot);
}

/** The colour of a name: that of its module. */
export function colourOf(name: string, isDark: boolean): string {
  if (name.startsWith("[")) return isDark ? UNKNOWN.dark : UNKNOWN.light;
  const all = palette(isDark);
  return all[hash(moduleOf(name)) % all.length] ?? UNKNOWN.light;
}

/** The colour of a change, from -1 (less) to 1 (more). */
export function colourOfChange(change: number, isDark: boolean): string {
  const ground = isDark ? [70, 74, 80] : [232, 232, 228];
  const end = change < 0 ? [43, 123, 186] : [201, 64, 43];
  const share = Math.min(1, Math.abs(change)) ** 0.6;
  const mixed = ground.map((from, at) => Math.round(from + ((end[at] ?? 0) - from) * share));
  return `rgb(${mixed.join(" ")})`;
}
