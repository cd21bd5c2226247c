/** What pictures that are made as SVG share: the room they have, how long texts may be, and their files. */
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

export interface Room {
  /** In pixels of the page. */
  width: number;
  /** How large letters are: 1 on ordinary screens, more on large ones. */
  scale: number;
}

/** The room that an element has; the component is drawn anew when it changes. */
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

/** About how wide a letter of the page's font is, in parts of its size. */
const LETTER = 0.58;

/** About how wide a text is. */
export function widthOf(text: string, size: number): number {
  return [...text].length * size * LETTER;
}

/** As much of a text as there is room for, or nothing if that would be too little to read. */
export function fitting(text: string, width: number, size: number): string {
  const letters = [...text];
  const most = Math.floor(width / (size * LETTER));
  if (letters.length <= most) return text;
  return most < 4 ? "" : `${letters.slice(0, most - 1).join("")}…`;
}

/** A text with so many letters at most; what is cut is in the middle, for names often differ at their ends. */
export function shortened(text: string, most: number): string {
  const letters = [...text];
  if (letters.length <= most) return text;
  const end = Math.floor((most - 1) * 0.4);
  return `${letters.slice(0, most - 1 - end).join("")}…${letters.slice(-end || letters.length).join("")}`;
}

/** Where a name can be broken: after these, so that its parts stay whole. */
const BREAKS = /[ ._/:,]/;

/** A text in lines of so many letters at most. What is too long for all of them is cut in the middle. */
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

/** A picture as a file of its own, on this ground. */
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

/** Control characters are in no XML, and names in files may have any; nor may they change how their neighbours are read, or end a section. */
export function plain(xml: string): string {
  return xml.replaceAll("]]>", "]]&gt;").replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u2028-\u202e\u2066-\u2069\ufffe\uffff]/g, "\ufffd");
}
