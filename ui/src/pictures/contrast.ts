/** Readability of text on a colour: contrast as defined by the W3C (WCAG 2, 1.4.3), for `#rrggbb` and `rgb(r g b)`. */

/** Lower contrast is hard to read. */
export const READABLE = 4.5;

function channels(colour: string): number[] {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour);
  if (hex) return hex.slice(1).map((pair) => Number.parseInt(pair, 16));
  return (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channels(colour).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** From 1 (equal) to 21 (black and white). */
export function contrast(a: string, b: string): number {
  const [x, y] = [luminance(a) + 0.05, luminance(b) + 0.05];
  return Math.max(x, y) / Math.min(x, y);
}

/** The preferred text colour if it is readable there, and otherwise black or white. */
export function inkOn(ground: string, liked: string): string {
  if (contrast(ground, liked) >= READABLE) return liked;
  return contrast(ground, "#000000") > contrast(ground, "#ffffff") ? "#000000" : "#ffffff";
}
