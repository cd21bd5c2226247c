/** Spreading or pinching two fingers, for pictures that zoom in steps instead of following the fingers. */

interface Place {
  clientX: number;
  clientY: number;
}

/** The least change of distance, as a ratio. */
const APART = 1.25;

/** Reports, when the fingers are lifted, which of the two it was, and the initial point between them. */
export function listenToPinches(element: HTMLElement, zoom: (way: "in" | "out", middle: Place) => void, signal: AbortSignal): void {
  let first = 0;
  let last = 0;
  let middle: Place = { clientX: 0, clientY: 0 };
  const apart = ([a, b]: Touch[]) => (a && b ? Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) : 0);
  const start = (event: TouchEvent) => {
    const all = [...event.touches];
    const [a, b] = all;
    first = last = all.length === 2 ? apart(all) : 0;
    if (a && b) middle = { clientX: (a.clientX + b.clientX) / 2, clientY: (a.clientY + b.clientY) / 2 };
  };
  const move = (event: TouchEvent) => {
    if (event.touches.length !== 2) return;
    // The page must neither scroll nor zoom.
    if (event.cancelable) event.preventDefault();
    last = apart([...event.touches]);
  };
  const end = () => {
    if (first > 0 && last / first > APART) zoom("in", middle);
    if (first > 0 && first / Math.max(1, last) > APART) zoom("out", middle);
    first = 0;
  };
  element.addEventListener("touchstart", start, { passive: true, signal });
  element.addEventListener("touchmove", move, { passive: false, signal });
  element.addEventListener("touchend", end, { passive: true, signal });
  element.addEventListener("touchcancel", () => (first = 0), { passive: true, signal });
}
