/**
 * A picture larger than its frame: dragged with the pointer, zoomed with the wheel, with two fingers, or with keys.
 *
 * Moving one finger vertically scrolls the page, because a picture may fill the screen. A movement that starts horizontally drags
 * the picture, and so do two fingers, whose distance zooms. The browser distinguishes these: the frame has `touch-action: pan-y`.
 */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface View {
  /** The position of the picture's origin in the frame. */
  x: number;
  y: number;
  zoom: number;
}

const LEAST = 0.05;
const MOST = 6;

/** The view that shows a whole picture without magnifying it; `least` is the least scale. */
export function fitted(picture: { width: number; height: number }, frame: { width: number; height: number }, least = LEAST): View {
  const margin = 16;
  const whole = Math.min((frame.width - 2 * margin) / Math.max(1, picture.width), (frame.height - 2 * margin) / Math.max(1, picture.height));
  const zoom = Math.max(least, Math.min(1, whole));
  const middle = (room: number, size: number) => Math.max(margin, (room - size * zoom) / 2);
  return { x: middle(frame.width, picture.width), y: (frame.height - picture.height * zoom) / 2, zoom };
}

/** Zooms around a point of the frame. */
export function zoomed(view: View, by: number, at: { x: number; y: number }): View {
  const zoom = Math.max(LEAST, Math.min(MOST, view.zoom * by));
  const factor = zoom / view.zoom;
  return { x: at.x - (at.x - view.x) * factor, y: at.y - (at.y - view.y) * factor, zoom };
}

type Point = { x: number; y: number };

/** The view after two fingers have moved: what was under each of them still is, as far as possible without rotation. */
export function pinched(view: View, before: readonly [Point, Point], after: readonly [Point, Point]): View {
  const middle = ([a, b]: readonly [Point, Point]) => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
  const apart = ([a, b]: readonly [Point, Point]) => Math.max(1, Math.hypot(a.x - b.x, a.y - b.y));
  const [from, to] = [middle(before), middle(after)];
  const moved = { ...view, x: view.x + to.x - from.x, y: view.y + to.y - from.y };
  return zoomed(moved, apart(after) / apart(before), to);
}

interface PanZoom {
  view: View;
  setView: (view: View | ((old: View) => View)) => void;
  /** Whether the pointer has dragged since it was pressed, so that there is no click. */
  dragged: () => boolean;
}

/** Smaller movements still count as clicks, in pixels; fingers are less steady. */
const STILL = { mouse: 4, touch: 10 };

export function usePanZoom(frame: RefObject<HTMLElement | null>): PanZoom {
  const [view, setView] = useState<View>({ x: 0, y: 0, zoom: 1 });
  const hasDragged = useRef(false);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const stop = new AbortController();
    const { signal } = stop;
    /** The last position of each pressed button or finger. */
    const down = new Map<number, Point>();
    /** Where the first of them was pressed. */
    let pressed: Point = { x: 0, y: 0 };
    const inFrame = (event: MouseEvent): Point => {
      const box = element.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const wheel = (event: WheelEvent) => {
      // The page continues scrolling unless zooming is meant.
      if (!event.ctrlKey && !event.metaKey && Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
      event.preventDefault();
      const at = inFrame(event);
      setView((old) => zoomed(old, Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0015)), at));
    };
    const press = (event: PointerEvent) => {
      if (event.button !== 0 || down.size >= 2) return;
      if (down.size === 0) {
        pressed = inFrame(event);
        hasDragged.current = false;
      }
      down.set(event.pointerId, inFrame(event));
    };
    const move = (event: PointerEvent) => {
      const from = down.get(event.pointerId);
      if (!from) return;
      const to = inFrame(event);
      const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
      if (!other && !hasDragged.current) {
        const [x, y] = [Math.abs(to.x - pressed.x), Math.abs(to.y - pressed.y)];
        const isTouch = event.pointerType === "touch";
        if (x + y < (isTouch ? STILL.touch : STILL.mouse)) return;
        // The page scrolls. Moves that arrive before the browser has noticed are not for the picture.
        if (isTouch && y > x) return void down.delete(event.pointerId);
      }
      hasDragged.current = true;
      down.set(event.pointerId, to);
      if (other) setView((old) => pinched(old, [from, other], [to, other]));
      else setView((old) => ({ ...old, x: old.x + to.x - from.x, y: old.y + to.y - from.y }));
    };
    const lift = (event: PointerEvent) => down.delete(event.pointerId);
    // Two fingers are for the picture, even if they move as if to scroll.
    const hold = (event: TouchEvent) => {
      if (event.touches.length > 1 && event.cancelable) event.preventDefault();
    };
    element.addEventListener("wheel", wheel, { passive: false, signal });
    element.addEventListener("touchstart", hold, { passive: false, signal });
    element.addEventListener("touchmove", hold, { passive: false, signal });
    element.addEventListener("pointerdown", press, { signal });
    addEventListener("pointermove", move, { signal });
    addEventListener("pointerup", lift, { signal });
    addEventListener("pointercancel", lift, { signal });
    return () => stop.abort();
  }, []);
  return { view, setView, dragged: () => hasDragged.current };
}
