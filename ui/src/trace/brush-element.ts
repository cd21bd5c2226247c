/**
 * The selected time range on a chart: dragged with the mouse or a finger, moved with keys. It reports the selection when
 * released. A finger that moves vertically scrolls the page: then the browser cancels, and the selection does not change.
 */
import type uPlot from "uplot";
import { seconds } from "../format";
import { dragged, gripAt, moved, resized, type Grip, type Span } from "./brush";

/** How close to an end the pointer must be to grab it, in pixels. Fingers are thicker. */
const REACH = { mouse: 7, touch: 22 };
/** Smaller movements are clicks, which select nothing. */
const LEAST = 3;

export class Brush {
  private readonly element = document.createElement("div");
  /** The length of the selection, as text. */
  private readonly length = document.createElement("span");
  private span: Span | null = null;
  private readonly off = new AbortController();

  constructor(
    private readonly chart: uPlot,
    private readonly whole: Span,
    private readonly onSelect: (span: Span | null) => void,
  ) {
    this.element.className = "brush";
    this.element.tabIndex = 0;
    this.element.setAttribute("role", "slider");
    this.element.setAttribute("aria-label", "Selected time: arrows move it, with Shift they resize it, Escape clears it");
    this.element.dataset["testid"] = "brush";
    for (const side of ["from", "to"]) {
      const handle = document.createElement("i");
      handle.className = side;
      this.element.append(handle);
    }
    this.element.append(this.length);
    chart.over.append(this.element);
    const { signal } = this.off;
    chart.over.addEventListener("pointerdown", (event) => this.press(event), { signal });
    chart.over.addEventListener("pointermove", (event) => this.point(event), { signal });
    chart.over.addEventListener("dblclick", () => this.choose(null), { signal });
    this.element.addEventListener("keydown", (event) => this.key(event), { signal });
    this.show(null);
  }

  hasFocus(): boolean {
    return document.activeElement === this.element;
  }

  focus(): void {
    this.element.focus({ preventScroll: true });
  }

  stop(): void {
    this.off.abort();
    this.element.remove();
  }

  /** Shows a selection; by default the current one, after the chart was resized. */
  show(span: Span | null = this.span): void {
    this.span = span;
    const left = span ? this.chart.valToPos(span.from, "x") : 0;
    const right = span ? this.chart.valToPos(span.to, "x") : 0;
    this.element.classList.toggle("empty", span === null);
    this.element.style.transform = `translateX(${left}px)`;
    this.element.style.width = `${Math.max(span ? 1 : 0, right - left)}px`;
    this.length.textContent = span && right - left > 60 ? seconds(span.to - span.from) : "";
    // To the microsecond, the resolution of traces: smaller numbers would be written with an exponent, which ARIA does not
    // accept.
    const told = (time: number) => String(Number(time.toFixed(6)));
    this.element.setAttribute("aria-valuemin", told(this.whole.from));
    this.element.setAttribute("aria-valuemax", told(this.whole.to));
    this.element.setAttribute("aria-valuenow", told(span?.from ?? this.whole.from));
    this.element.setAttribute("aria-valuetext", span ? `${told(span.from)} to ${told(span.to)} seconds` : "all");
  }

  private choose(span: Span | null): void {
    this.show(span);
    this.onSelect(span);
  }

  private time(event: MouseEvent): number {
    const box = this.chart.over.getBoundingClientRect();
    return this.chart.posToVal(event.clientX - box.left, "x");
  }

  /** Converts pixels to seconds. */
  private reach(pixels: number): number {
    return ((this.whole.to - this.whole.from) * pixels) / (this.chart.over.clientWidth || 1);
  }

  private grip(event: PointerEvent): Grip {
    return gripAt(this.time(event), this.span, this.reach(event.pointerType === "touch" ? REACH.touch : REACH.mouse));
  }

  private point(event: PointerEvent): void {
    if (event.buttons !== 0) return;
    this.chart.over.style.cursor = { new: "crosshair", move: "grab", from: "ew-resize", to: "ew-resize" }[this.grip(event)];
  }

  private press(event: PointerEvent): void {
    if (event.button !== 0) return;
    event.preventDefault();
    const pressed = this.time(event);
    const grip = this.grip(event);
    const old = this.span;
    const move = new AbortController();
    let now = old;
    let hasMoved = false;
    const { pointerId } = event;
    const follow = (event: PointerEvent) => {
      if (event.pointerId !== pointerId) return;
      const time = this.time(event);
      hasMoved ||= Math.abs(time - pressed) > this.reach(LEAST);
      if (!hasMoved) return;
      now = dragged(grip, old, pressed, time, this.whole);
      this.show(now);
    };
    const drop = () => {
      move.abort();
      this.focus();
      if (hasMoved) this.choose(now);
    };
    addEventListener("pointermove", follow, { signal: move.signal });
    addEventListener("pointerup", drop, { signal: move.signal });
    const cancel = () => {
      move.abort();
      this.show(old);
    };
    addEventListener("pointercancel", cancel, { signal: move.signal });
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const whole = this.whole.to - this.whole.from;
    const by = (whole / 50) * (way ?? 0);
    if (way !== undefined) {
      // The first key selects the middle, so that there is something to move.
      const middle = { from: this.whole.from + whole * 0.4, to: this.whole.from + whole * 0.6 };
      if (!this.span) this.choose(middle);
      else if (event.shiftKey) this.choose(resized(this.span, by, this.whole, whole / 200));
      else this.choose(moved(this.span, by, this.whole));
    } else if (event.key === "Escape" && this.span) {
      this.choose(null);
    } else {
      return;
    }
    event.preventDefault();
  }
}
