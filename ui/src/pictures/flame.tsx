/**
 * An interactive flame graph. Preact renders it once; the canvas, the outlines and the tooltip are updated directly, so that
 * pointing and zooming cause no rendering.
 *
 * A click zooms to a frame. With touch, which has no hovering, the first tap selects a frame and shows its numbers, and a second
 * one on the same frame zooms. Moving one finger scrolls, as everywhere on the page. Spreading two fingers zooms to the frame
 * between them, pinching zooms out.
 */
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { draw, topOf, type Area, type Look, type Window } from "./flame-draw";
import { frameAt, levelsBelow, type Layout } from "./flame-layout";
import type { Found } from "./flame-search";
import { listenToPinches } from "./pinch";

/** The texts about a frame: its name, then names and values. */
export interface Told {
  title: string;
  lines: readonly (readonly [string, string])[];
}

export interface FlameProps {
  layout: Layout;
  /** The frame that is as wide as the picture. */
  root: number;
  up: boolean;
  /** The least height, in rows. */
  leastRows?: number;
  fill: (node: number) => string;
  ink: (node: number) => string;
  rest: string;
  /** The text colour of frames that do not match the search. */
  dim: string;
  found: Found | null;
  /** -1 for none. */
  selected: number;
  onSelect: (node: number) => void;
  onOpen: (node: number) => void;
  /** Zooms out to the caller of the root. */
  onOut?: (() => void) | undefined;
  tell: (node: number) => Told;
  /** The text alternative. */
  label: string;
  /** For exporting the picture. */
  picture?: RefObject<(() => HTMLCanvasElement | null) | null>;
  ground: string;
}

const MOVE_MILLISECONDS = 160;

export function Flame(props: FlameProps) {
  const elements = {
    scroller: useRef<HTMLDivElement>(null),
    sheet: useRef<HTMLDivElement>(null),
    canvas: useRef<HTMLCanvasElement>(null),
    hover: useRef<HTMLDivElement>(null),
    mark: useRef<HTMLDivElement>(null),
    tip: useRef<HTMLDivElement>(null),
  };
  const stage = useMemo(() => new Stage(), []);
  useLayoutEffect(() => {
    stage.elements = {
      scroller: elements.scroller.current,
      sheet: elements.sheet.current,
      canvas: elements.canvas.current,
      hover: elements.hover.current,
      mark: elements.mark.current,
      tip: elements.tip.current,
    };
    stage.show(props);
    if (props.picture) props.picture.current = () => stage.whole();
  });
  useEffect(() => {
    const watch = new ResizeObserver(() => stage.resize());
    if (elements.scroller.current) watch.observe(elements.scroller.current);
    // The tooltip is at the pointer, which is elsewhere after scrolling.
    const stop = new AbortController();
    const { signal } = stop;
    addEventListener("scroll", () => stage.leave(), { capture: true, passive: true, signal });
    if (elements.scroller.current) listenToPinches(elements.scroller.current, (way, middle) => stage.pinch(way, middle), signal);
    return () => {
      stop.abort();
      watch.disconnect();
      stage.stop();
    };
  }, []);
  return (
    <div
      class={props.up ? "flame up" : "flame"}
      ref={elements.scroller}
      tabIndex={0}
      role="group"
      aria-label="Flame graph: arrows walk, Enter zooms"
      onScroll={() => stage.paint()}
    >
      <div
        class="sheet"
        ref={elements.sheet}
        onPointerDown={(event) => stage.press(event)}
        onMouseMove={(event) => stage.point(event)}
        onMouseLeave={() => stage.leave()}
        onClick={(event) => stage.click(event)}
        onContextMenu={(event) => {
          event.preventDefault();
          stage.select(event);
        }}
      >
        <canvas ref={elements.canvas} role="img" aria-label={props.label} data-testid="flame" />
        <div class="mark" ref={elements.mark} hidden />
        <div class="hover" ref={elements.hover} hidden />
      </div>
      <div class="tip" ref={elements.tip} hidden role="tooltip" />
    </div>
  );
}

interface Elements {
  scroller: HTMLDivElement | null;
  sheet: HTMLDivElement | null;
  canvas: HTMLCanvasElement | null;
  hover: HTMLDivElement | null;
  mark: HTMLDivElement | null;
  tip: HTMLDivElement | null;
}

/** What is drawn now, and what is being animated. */
class Stage {
  elements: Elements = { scroller: null, sheet: null, canvas: null, hover: null, mark: null, tip: null };
  private props: FlameProps | null = null;
  private window: Window = { root: 0, from: 0, to: 1, level: 0 };
  private content = 0;
  private row = 20;
  private frame = 0;
  private pointed = -1;
  private isTouched = false;

  /** Shows these properties; if only the root has changed, animates. */
  show(props: FlameProps): void {
    const old = this.props;
    this.props = props;
    const target = windowOf(props.layout, props.root);
    const isNew = !old || old.layout !== props.layout || old.up !== props.up;
    if (isNew || old.root !== props.root) {
      this.measure();
      this.leave();
      if (isNew) this.jump(target);
      else this.moveTo(target);
    }
    if (old && old.selected !== props.selected) {
      this.reveal(props.selected);
      // Keyboard navigation takes the focus, so that Enter zooms, whatever was pressed before.
      if (!isNew && props.selected >= 0) this.elements.scroller?.focus({ preventScroll: true });
    }
    this.paint();
  }

  resize(): void {
    this.measure();
    this.paint();
  }

  stop(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
  }

  /** Computes the heights. */
  private measure(): void {
    const { sheet, scroller } = this.elements;
    if (!this.props || !sheet || !scroller) return;
    const letter = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 14;
    this.row = Math.round(letter * 1.4);
    const levels = levelsBelow(this.props.layout, this.props.root);
    this.content = Math.max(levels, this.props.leastRows ?? 6) * this.row;
    sheet.style.height = `${this.content}px`;
  }

  private jump(target: Window): void {
    this.stop();
    this.window = target;
    const { scroller } = this.elements;
    if (scroller) scroller.scrollTop = this.props?.up ? this.content : 0;
  }

  private moveTo(target: Window): void {
    this.stop();
    const still = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)").matches;
    if (still || !this.props) return this.jump(target);
    const from = this.window;
    const { end } = this.props.layout;
    // During the animation, everything below the outer of the two roots is visible.
    const isInside = target.root >= from.root && target.root < (end[from.root] ?? 0);
    const holds = from.root >= target.root && from.root < (end[target.root] ?? 0);
    const root = isInside ? from.root : holds ? target.root : 0;
    const began = performance.now();
    const step = (now: number) => {
      const done = Math.min(1, Math.max(0, (now - began) / MOVE_MILLISECONDS));
      const eased = 1 - (1 - done) ** 3;
      const between = (a: number, b: number) => a + (b - a) * eased;
      this.window =
        done >= 1
          ? target
          : { root, from: between(from.from, target.from), to: between(from.to, target.to), level: between(from.level, target.level) };
      this.frame = done >= 1 ? 0 : requestAnimationFrame(step);
      this.paintNow();
    };
    const { scroller } = this.elements;
    if (scroller) scroller.scrollTop = this.props.up ? this.content : 0;
    this.frame = requestAnimationFrame(step);
  }

  /** Draws before the browser's next frame. */
  paint(): void {
    if (this.frame === 0) {
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.paintNow();
      });
    }
  }

  private area(): Area {
    const { scroller, sheet } = this.elements;
    return {
      width: sheet?.clientWidth ?? 0,
      height: Math.min(scroller?.clientHeight ?? 0, this.content),
      content: this.content,
      scrolled: scroller?.scrollTop ?? 0,
    };
  }

  private look(): Look | null {
    if (!this.props) return null;
    const { up, fill, ink, rest, dim, found } = this.props;
    const font = `${Math.round(this.row * 0.6)}px system-ui, "Segoe UI", "DejaVu Sans", sans-serif`;
    return { up, row: this.row, font, fill, ink, rest, dim, isFound: found ? (node) => found.frames[node] === 1 : null };
  }

  private paintNow(): void {
    const { canvas } = this.elements;
    const look = this.look();
    const context = canvas?.getContext("2d");
    if (!canvas || !context || !look || !this.props) return;
    const area = this.area();
    const dense = globalThis.devicePixelRatio || 1;
    const [width, height] = [Math.round(area.width * dense), Math.round(area.height * dense)];
    if (canvas.width !== width || canvas.height !== height) {
      [canvas.width, canvas.height] = [width, height];
      canvas.style.width = `${area.width}px`;
      canvas.style.height = `${area.height}px`;
    }
    context.setTransform(dense, 0, 0, dense, 0, 0);
    draw(context, this.props.layout, this.window, look, area);
    this.outline(this.elements.mark, this.props.selected);
  }

  /** Everything below the root on a separate canvas. */
  whole(): HTMLCanvasElement | null {
    const look = this.look();
    if (!this.props || !look) return null;
    const area = { ...this.area(), height: Math.min(this.content, 8000), scrolled: 0 };
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [area.width * 2, area.height * 2];
    const context = canvas.getContext("2d");
    if (!context) return null;
    context.setTransform(2, 0, 0, 2, 0, 0);
    draw(context, this.props.layout, this.window, look, area);
    context.globalCompositeOperation = "destination-over";
    context.fillStyle = this.props.ground;
    context.fillRect(0, 0, area.width, area.height);
    return canvas;
  }

  /** Draws an outline around a frame. */
  private outline(element: HTMLDivElement | null, node: number): void {
    if (!element || !this.props) return;
    const { layout, root, up } = this.props;
    const area = this.area();
    const isShown = node >= root && node < (layout.end[root] ?? 0);
    element.hidden = !isShown;
    if (!isShown) return;
    const scale = area.width / (this.window.to - this.window.from || 1);
    const left = ((layout.start[node] ?? 0) - this.window.from) * scale;
    const width = Math.max(2, (layout.width[node] ?? 0) * scale);
    const level = (layout.depth[node] ?? 0) - this.window.level;
    const top = topOf(level, up, this.row, { ...area, scrolled: 0 });
    element.style.transform = `translate(${left}px, ${top}px)`;
    element.style.width = `${Math.min(width, area.width - left)}px`;
    element.style.height = `${this.row - 1}px`;
  }

  private nodeAt(event: Pick<MouseEvent, "clientX" | "clientY">): number {
    const { sheet } = this.elements;
    if (!sheet || !this.props) return -1;
    const { layout, root, up } = this.props;
    const box = sheet.getBoundingClientRect();
    const y = event.clientY - box.top;
    const level = Math.floor((up ? this.content - y : y) / this.row);
    const at = this.window.from + ((event.clientX - box.left) / (box.width || 1)) * (this.window.to - this.window.from);
    return frameAt(layout, root, at, level);
  }

  point(event: MouseEvent): void {
    const node = this.nodeAt(event);
    const { tip, hover, sheet } = this.elements;
    if (!tip || !this.props) return;
    if (node < 0) return this.leave();
    if (node !== this.pointed) {
      this.pointed = node;
      this.outline(hover, node);
      this.fillTip(tip, node);
      if (sheet) sheet.style.cursor = "pointer";
    }
    tip.hidden = false;
    const { innerWidth, innerHeight } = globalThis;
    const [x, y] = [event.clientX + 14, event.clientY + 18];
    const left = Math.min(x, innerWidth - tip.offsetWidth - 8);
    const top = y + tip.offsetHeight + 8 > innerHeight ? event.clientY - tip.offsetHeight - 10 : y;
    tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
  }

  private fillTip(tip: HTMLDivElement, node: number): void {
    const told = this.props?.tell(node);
    if (!told) return;
    const title = document.createElement("strong");
    title.textContent = told.title;
    const list = document.createElement("dl");
    for (const [name, value] of told.lines) {
      const [term, text] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = name;
      text.textContent = value;
      list.append(term, text);
    }
    tip.replaceChildren(title, list);
  }

  leave(): void {
    const { tip, hover, sheet } = this.elements;
    this.pointed = -1;
    if (tip) tip.hidden = true;
    if (hover) hover.hidden = true;
    if (sheet) sheet.style.cursor = "";
  }

  press(event: PointerEvent): void {
    this.isTouched = event.pointerType === "touch";
  }

  click(event: MouseEvent): void {
    const node = this.nodeAt(event);
    if (node < 0 || !this.props) return;
    if (!this.isTouched || node === this.props.selected) return this.props.onOpen(node);
    this.props.onSelect(node);
    // Browsers usually send a mouse position before a click, but need not.
    this.point(event);
  }

  pinch(way: "in" | "out", middle: Pick<MouseEvent, "clientX" | "clientY">): void {
    if (way === "out") return this.props?.onOut?.();
    const node = this.nodeAt(middle);
    if (node >= 0 && node !== this.props?.root) this.props?.onOpen(node);
  }

  select(event: MouseEvent): void {
    const node = this.nodeAt(event);
    if (node >= 0) this.props?.onSelect(node);
  }

  /** Scrolls to a frame reached by keys. */
  private reveal(node: number): void {
    const { scroller } = this.elements;
    if (!scroller || !this.props || node < 0) return;
    const level = (this.props.layout.depth[node] ?? 0) - (this.props.layout.depth[this.props.root] ?? 0);
    const top = topOf(level, this.props.up, this.row, { ...this.area(), scrolled: 0 });
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + this.row > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + this.row - scroller.clientHeight;
  }
}

function windowOf(layout: Layout, root: number): Window {
  const from = layout.start[root] ?? 0;
  return { root, from, to: from + (layout.width[root] || 1), level: layout.depth[root] ?? 0 };
}
