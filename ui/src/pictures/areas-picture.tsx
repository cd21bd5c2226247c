/** A chart on a canvas that takes the width it has: drawn from shapes, with a pointer that knows what it is at. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { theme, useTheme } from "../state/theme";
import type { Look } from "./areas";
import { paint, svgOf, type Point, type Shape } from "./areas-shapes";

export interface Drawing {
  canvas: () => HTMLCanvasElement | null;
  svg: () => string;
}

/** The look of now, for a picture of this size. */
function lookOf(width: number, height: number): Look {
  const colours = theme();
  const size = Math.max(11, Number.parseFloat(getComputedStyle(document.documentElement).fontSize) * 0.82);
  const { text, faint, line, accent, raised } = colours;
  return { width, height, size, text, faint, line, accent, ground: raised };
}

export function Picture(props: {
  /** What it shows, for who cannot see it. */
  label: string;
  /** Height in rem. */
  height: number;
  shapes: (look: Look) => Shape[];
  onPoint?: (at: Point | null, look: Look) => void;
  onClick?: (at: Point, look: Look) => void;
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
  return (
    <div class="picture" style={{ height: `${props.height}rem` }}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={props.label}
        style={{ width: "100%", height: "100%", cursor: props.cursor ?? "default" }}
        onMouseMove={(event) => props.onPoint?.(point(event), look())}
        onMouseLeave={() => props.onPoint?.(null, look())}
        onClick={(event) => props.onClick?.(point(event), look())}
      />
      {props.children}
    </div>
  );
}
