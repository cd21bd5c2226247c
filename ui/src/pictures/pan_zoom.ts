/** A picture that is larger than its frame: dragged with the pointer, zoomed with the wheel or keys. */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface View {
  /** Where the picture's origin is in the frame. */
  x: number;
  y: number;
  zoom: number;
}

const LEAST = 0.05;
const MOST = 6;

/** The view that shows all of a picture, no larger than it is; `least` is how small it may be made. */
export function fitted(picture: { width: number; height: number }, frame: { width: number; height: number }, least = LEAST): View {
  const margin = 16;
  const whole = Math.min((frame.width - 2 * margin) / Math.max(1, picture.width), (frame.height - 2 * margin) / Math.max(1, picture.height));
  const zoom = Math.max(least, Math.min(1, whole));
  const middle = (room: number, size: number) => Math.max(margin, (room - size * zoom) / 2);
  return { x: middle(frame.width, picture.width), y: (frame.height - picture.height * zoom) / 2, zoom };
}

/** Zooms so that what is at a point of the frame stays there. */
export function zoomed(view: View, by: number, at: { x: number; y: number }): View {
  const zoom = Math.max(LEAST, Math.min(MOST, view.zoom * by));
  const factor = zoom / view.zoom;
  return { x: at.x - (at.x - view.x) * factor, y: at.y - (at.y - view.y) * factor, zoom };
}

interface PanZoom {
  view: View;
  setView: (view: View | ((old: View) => View)) => void;
  /** Whether the pointer has dragged since it went down, so that a click is none. */
  dragged: () => boolean;
}

export function usePanZoom(frame: RefObject<HTMLElement | null>): PanZoom {
  const [view, setView] = useState<View>({ x: 0, y: 0, zoom: 1 });
  const way = useRef(0);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    let last: { x: number; y: number } | null = null;
    const wheel = (event: WheelEvent) => {
      // The page goes on scrolling unless zooming is meant.
      if (!event.ctrlKey && !event.metaKey && Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
      event.preventDefault();
      const box = element.getBoundingClientRect();
      const at = { x: event.clientX - box.left, y: event.clientY - box.top };
      setView((old) => zoomed(old, Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0015)), at));
    };
    const down = (event: PointerEvent) => {
      if (event.button !== 0) return;
      last = { x: event.clientX, y: event.clientY };
      way.current = 0;
    };
    const move = (event: PointerEvent) => {
      if (!last) return;
      const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
      way.current += Math.abs(dx) + Math.abs(dy);
      if (way.current < 4) return;
      last = { x: event.clientX, y: event.clientY };
      setView((old) => ({ ...old, x: old.x + dx, y: old.y + dy }));
    };
    const up = () => (last = null);
    element.addEventListener("wheel", wheel, { passive: false });
    element.addEventListener("pointerdown", down);
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
    return () => {
      element.removeEventListener("wheel", wheel);
      element.removeEventListener("pointerdown", down);
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", up);
    };
  }, []);
  return { view, setView, dragged: () => way.current >= 4 };
}
