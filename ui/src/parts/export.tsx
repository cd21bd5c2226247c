/** Export of what is shown: each view offers what it can export, and the page's menu exports it. */
import { useEffect, useRef, useState } from "preact/hooks";

export interface Exportable {
  /** A name for files. */
  title: string;
  /** The command line that prints the same. */
  command?: string | null | undefined;
  csv?: (() => string | Promise<string>) | undefined;
  svg?: (() => string) | undefined;
  canvas?: (() => HTMLCanvasElement | null) | undefined;
}

const offered: { now: () => Exportable }[] = [];
const listeners = new Set<() => void>();

/** Offers something for export while the component is mounted. The last offer comes first. */
export function useExport(what: Exportable): void {
  const now = useRef(what);
  now.current = what;
  useEffect(() => {
    const offer = { now: () => now.current };
    offered.unshift(offer);
    listeners.forEach((tell) => tell());
    return () => {
      offered.splice(offered.indexOf(offer), 1);
      listeners.forEach((tell) => tell());
    };
  }, []);
}

/** Cell texts come from files: what a spreadsheet would interpret as a formula is turned into text. */
export function csvOf(rows: readonly (readonly (string | number)[])[]): string {
  const cell = (value: string | number) => {
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

/** A text for an SVG or HTML file. */
export function escaped(text: string): string {
  // XML does not permit control characters.
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

export function save(name: string, contents: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(contents);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function fileName(title: string, end: string): string {
  return `${title.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 80) || "bactrian"}.${end}`;
}

/** Renders an SVG as a bitmap; null if the browser cannot. */
async function pngOfSvg(svg: string): Promise<Blob | null> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * 2;
  canvas.height = image.naturalHeight * 2;
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve));
}

async function savePng({ title, canvas, svg }: Exportable): Promise<void> {
  const drawn = canvas?.();
  const blob = drawn
    ? await new Promise<Blob | null>((resolve) => drawn.toBlob(resolve))
    : svg
      ? await pngOfSvg(svg())
      : null;
  if (blob) save(fileName(title, "png"), blob);
}

async function saveCsv({ title, csv }: Exportable): Promise<void> {
  if (csv) save(fileName(title, "csv"), new Blob([await csv()], { type: "text/csv;charset=utf-8" }));
}

/** The export menu. */
export function ExportMenu() {
  const [, redraw] = useState(0);
  const [copied, setCopied] = useState("");
  useEffect(() => {
    const tell = () => redraw((n) => n + 1);
    listeners.add(tell);
    return () => void listeners.delete(tell);
  }, []);
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const menu = details.current;
      if (menu?.open && event.target instanceof Node && !menu.contains(event.target)) menu.open = false;
    };
    // Before the keys of views: Escape closes the menu and does nothing else.
    const escape = (event: KeyboardEvent) => {
      const menu = details.current;
      if (event.key !== "Escape" || !menu?.open) return;
      event.preventDefault();
      menu.open = false;
      menu.querySelector("summary")?.focus();
    };
    addEventListener("pointerdown", close);
    addEventListener("focusin", close);
    addEventListener("keydown", escape, { capture: true });
    return () => {
      removeEventListener("pointerdown", close);
      removeEventListener("focusin", close);
      removeEventListener("keydown", escape, { capture: true });
    };
  }, []);
  const copy = (command: string) => {
    void navigator.clipboard?.writeText(command).then(() => setCopied(command), () => setCopied(""));
  };
  const text = (kind: string) => ({ type: `${kind};charset=utf-8` });
  return (
    <details class="menu" ref={details} data-testid="export">
      <summary onClick={() => redraw((n) => n + 1)}>Export</summary>
      <div class="menu-body">
        {offered.length === 0 && <p class="faint">Nothing to export here.</p>}
        {offered.map(({ now }, at) => {
          const what = now();
          const { title, command, csv, svg, canvas } = what;
          return (
            <section key={at}>
              <h4>{title}</h4>
              <div class="row">
                {svg && <button onClick={() => save(fileName(title, "svg"), new Blob([svg()], text("image/svg+xml")))}>SVG</button>}
                {(canvas || svg) && <button onClick={() => void savePng(what)}>PNG</button>}
                {csv && <button onClick={() => void saveCsv(what)}>CSV</button>}
              </div>
              {command && (
                <div class="command">
                  <code data-testid="command">{command}</code>
                  <button onClick={() => copy(command)}>{copied === command ? "copied" : "copy"}</button>
                </div>
              )}
            </section>
          );
        })}
      </div>
    </details>
  );
}
