/** What SVG pictures share: available space, text lengths, and files. */
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

export interface Room {
  /** In CSS pixels. */
  width: number;
  /** The relative font size: 1 on ordinary screens, more on large ones. */
  scale: number;
}

/** The space available to an element; the component is rendered again when it changes. */
export function useRoom(of: RefObject<HTMLElement | null>): Room {
  const [room, setRoom] = useState<Room>({ width: 0, scale: 1 });
  useLayoutEffect(() => {
    const element = of.current;
    if (!element) return;
    const look = () => {
      const size = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 14;
      const next = { width: element.clientWidth, scale: size / 14 };
      setRoom((old) => (old.width === next.width && old.scale === next.scale ? old : next));
    };
    look();
    const watch = new ResizeObserver(look);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return room;
}

/** The approximate width of a letter in the page's font, relative to the font size. */
const LETTER = 0.58;

/** The approximate width of a text. */
export function widthOf(text: string, size: number): number {
  return [...text].length * size * LETTER;
}

/** As much of a text as fits, or nothing if that would be too little to read. */
export function fitting(text: string, width: number, size: number): string {
  const letters = [...text];
  const most = Math.floor(width / (size * LETTER));
  if (letters.length <= most) return text;
  return most < 4 ? "" : `${letters.slice(0, most - 1).join("")}…`;
}

/** A text shortened to a number of letters in the middle, because names often differ at their ends. */
export function shortened(text: string, most: number): string {
  const letters = [...text];
  if (letters.length <= most) return text;
  const end = Math.floor((most - 1) * 0.4);
  return `${letters.slice(0, most - 1 - end).join("")}…${letters.slice(-end || letters.length).join("")}`;
}

/** Names can be broken after these, so that their parts stay whole. */
const BREAKS = /[ ._/:,]/;

/** Wraps a text into lines. A text that is too long for all lines is shortened in the middle. */
export function wrapped(text: string, letters: number, lines: number): string[] {
  const found: string[] = [];
  // A line may end before its last letter.
  let rest = [...shortened(text, Math.floor(letters * lines * 0.85))];
  while (rest.length > 0 && found.length < lines - 1) {
    if (rest.length <= letters) break;
    let end = letters;
    while (end > letters / 2 && rest[end] !== " " && !BREAKS.test(rest[end - 1] ?? "")) end -= 1;
    if (end <= letters / 2) end = letters;
    found.push(rest.slice(0, end).join("").trim());
    rest = rest.slice(end);
  }
  return [...found, shortened(rest.join("").trim(), letters)];
}

export const FONT = 'system-ui, "Segoe UI", "DejaVu Sans", sans-serif';

/** A picture as a self-contained file, with this background. */
export function svgFile(element: SVGSVGElement | null, ground: string): string {
  if (!element) return "";
  const copy = element.cloneNode(true) as SVGSVGElement;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("font-family", FONT);
  const back = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const [x = "0", y = "0"] = (copy.getAttribute("viewBox") ?? "").split(" ");
  const whole = { x, y, width: "100%", height: "100%", fill: ground };
  for (const [name, value] of Object.entries(whole)) back.setAttribute(name, value);
  copy.prepend(back);
  return plain(new XMLSerializer().serializeToString(copy));
}

/**
 * Removes control characters, which XML does not permit and which names in files may contain, bidirectional marks, and ends of
 * CDATA sections.
 */
export function plain(xml: string): string {
  return xml.replaceAll("]]>", "]]&gt;").replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u2028-\u202e\u2066-\u2069\ufffe\uffff]/g, "\ufffd");
}
