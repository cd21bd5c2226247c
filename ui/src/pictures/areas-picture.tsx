/**
 * A chart on a canvas of the available width, drawn from shapes, with hit testing. Dragging a finger sideways points, and so does
 * a tap; only a second tap at the same place is a click.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { theme, useTheme } from "../state/theme";
import type { Look } from "./areas";
import { paint, svgOf, type Point, type Shape } from "./areas-shapes";

export interface Drawing {
  canvas: () => HTMLCanvasElement | null;
  svg: () => string;
}

/** The current look, for a picture of this size. */
function lookOf(width: number, height: number): Look {
  const colours = theme();
  const size = Math.max(11, Number.parseFloat(getComputedStyle(document.documentElement).fontSize) * 0.82);
  const { text, faint, line, accent, raised } = colours;
  return { width, height, size, text, faint, line, accent, ground: raised };
}

/** Fingers do not hit the same point twice, in pixels. */
const REACH = 24;

function near([x, y]: Point, [toX, toY]: Point): boolean {
  return Math.hypot(x - toX, y - toY) <= REACH;
}

export function Picture(props: {
  /** The text alternative. */
  label: string;
  /** Height in rem. */
  height: number;
  shapes: (look: Look) => Shape[];
  onPoint?: (at: Point | null, look: Look) => void;
  onClick?: (at: Point, look: Look) => void;
  /** Whether two taps hit the same thing; by default, whether they are close to each other. */
  isSame?: (a: Point, b: Point, look: Look) => boolean;
  /** Where exports find the drawing. */
  drawing?: { current: Drawing | null };
  cursor?: string | undefined;
  children?: ComponentChildren;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const colours = useTheme();
  useEffect(() => {
    const element = canvas.current?.parentElement;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    setWidth(element.clientWidth);
    return () => watch.disconnect();
  }, []);
  const pixels = () => props.height * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const look = () => lookOf(width, pixels());
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!canvas.current || !context || width === 0) return;
    const now = look();
    const scale = devicePixelRatio || 1;
    canvas.current.width = Math.round(now.width * scale);
    canvas.current.height = Math.round(now.height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = now.ground;
    context.fillRect(0, 0, now.width, now.height);
    paint(context, props.shapes(now));
  }, [width, props.height, props.shapes, colours.isDark]);
  if (props.drawing) {
    props.drawing.current = {
      canvas: () => canvas.current,
      svg: () => {
        const now = look();
        return svgOf(props.shapes(now), now.width, now.height, now.ground);
      },
    };
  }
  const point = (event: MouseEvent): Point => {
    const box = canvas.current?.getBoundingClientRect();
    return [event.clientX - (box?.left ?? 0), event.clientY - (box?.top ?? 0)];
  };
  const isTouched = useRef(false);
  const tapped = useRef<Point | null>(null);
  const click = (at: Point) => {
    const last = tapped.current;
    const now = look();
    const isSame = last !== null && (props.isSame ? props.isSame(last, at, now) : near(last, at));
    const isClick = !isTouched.current || isSame;
    // A click leads to something else, which must be pointed at first again.
    tapped.current = isClick ? null : at;
    if (isClick) props.onClick?.(at, now);
    else props.onPoint?.(at, now);
  };
  const leave = () => {
    tapped.current = null;
    props.onPoint?.(null, look());
  };
  return (
    <div class="picture" style={{ height: `${props.height}rem` }}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={props.label}
        style={{ width: "100%", height: "100%", cursor: props.cursor ?? "default" }}
        onPointerDown={(event) => (isTouched.current = event.pointerType === "touch")}
        onPointerMove={(event) => props.onPoint?.(point(event), look())}
        onMouseLeave={leave}
        onClick={(event) => click(point(event))}
      />
      {props.children}
    </div>
  );
}
