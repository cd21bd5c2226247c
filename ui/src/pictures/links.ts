/**
 * Lays out boxes with arrows between them, in layers from left to right, after Sugiyama: backward arrows are reversed during the
 * layout, long ones get a place of their own in each layer, and the boxes of a layer are ordered so that few arrows cross. The
 * layout is deterministic.
 */

export interface Box {
  id: string;
  width: number;
  height: number;
}

export interface Link {
  from: string;
  to: string;
}

export interface Place {
  /** The centre of the box. */
  x: number;
  y: number;
  layer: number;
}

export interface Layout {
  places: Map<string, Place>;
  /** For each link its points, between its boxes. Links from a box to itself have none. */
  ways: [number, number][][];
  width: number;
  height: number;
}

export interface Gaps {
  /** Between layers. */
  across: number;
  /** Between boxes of a layer. */
  between: number;
}

const SWEEPS = 12;
const ALIGNMENTS = 16;
/** Arrows over more layers are drawn straight. */
const LONGEST = 24;

interface Item {
  width: number;
  height: number;
  layer: number;
  before: number[];
  after: number[];
  y: number;
}

/** Lays out boxes in layers. */
export function layered(boxes: readonly Box[], links: readonly Link[], gaps: Gaps): Layout {
  const number = new Map(boxes.map((box, at) => [box.id, at]));
  const ends = links.map(({ from, to }) => [number.get(from) ?? -1, number.get(to) ?? -1] as const);
  const turned = turnedRound(boxes.length, ends);
  const forward = ends.map(([from, to], at) => (turned[at] ? ([to, from] as const) : ([from, to] as const)));
  const layer = layersOf(boxes.length, forward);
  const items: Item[] = boxes.map(({ width, height }, at) => ({ width, height, layer: layer[at] ?? 0, before: [], after: [], y: 0 }));
  // The items that each link goes through, from its left end to its right one.
  const chains = forward.map(([from, to]) => {
    if (from < 0 || to < 0 || from === to) return [];
    const chain = [from];
    const [first, last] = [layer[from] ?? 0, layer[to] ?? 0];
    if (last - first <= LONGEST) {
      for (let between = first + 1; between < last; between++) {
        items.push({ width: 0, height: 2, layer: between, before: [], after: [], y: 0 });
        chain.push(items.length - 1);
      }
    }
    chain.push(to);
    chain.slice(1).forEach((item, at) => {
      items[chain[at] ?? 0]?.after.push(item);
      items[item]?.before.push(chain[at] ?? 0);
    });
    return chain;
  });
  const order = ordered(items);
  const x = columns(order, items, gaps.across);
  align(order, items, gaps.between);
  const top = Math.min(...items.map(({ y, height }) => y - height / 2), Infinity);
  const bottom = Math.max(...items.map(({ y, height }) => y + height / 2), -Infinity);
  const shift = Number.isFinite(top) ? -top : 0;
  const place = (at: number): Place => {
    const item = items[at];
    return { x: (x[item?.layer ?? 0]?.left ?? 0) + (item?.width ?? 0) / 2, y: (item?.y ?? 0) + shift, layer: item?.layer ?? 0 };
  };
  const ways = chains.map((chain, at) => {
    const points = chain.flatMap((item): [number, number][] => {
      const { x: middle, y, layer } = place(item);
      const column = x[layer];
      // Between its ends a link goes straight through columns, so that it passes between boxes.
      return item < boxes.length || !column ? [[middle, y]] : [[column.left, y], [column.right, y]];
    });
    return turned[at] ? points.reverse() : points;
  });
  return {
    places: new Map(boxes.map((box, at) => [box.id, place(at)])),
    ways,
    width: x.reduce((right, column) => Math.max(right, column.right), 0),
    height: Number.isFinite(top) ? bottom - top : 0,
  };
}

type Ends = readonly (readonly [number, number])[];

/** The links that go backward in a depth-first walk from nodes without incoming links, then from the remaining nodes. */
function turnedRound(count: number, ends: Ends): boolean[] {
  const after: number[][] = Array.from({ length: count }, () => []);
  const pointedTo = new Array<boolean>(count).fill(false);
  ends.forEach(([from, to], at) => {
    after[from]?.push(at);
    if (from !== to && to >= 0) pointedTo[to] = true;
  });
  const state = new Array<"new" | "open" | "done">(count).fill("new");
  const turned = new Array<boolean>(ends.length).fill(false);
  const starts = [...Array(count).keys()].sort((a, b) => Number(pointedTo[a]) - Number(pointedTo[b]) || a - b);
  for (const start of starts) {
    if (state[start] !== "new") continue;
    state[start] = "open";
    const way = [{ at: start, next: 0 }];
    for (let top = way.at(-1); top; top = way.at(-1)) {
      const link = after[top.at]?.[top.next];
      if (link === undefined) {
        state[top.at] = "done";
        way.pop();
        continue;
      }
      top.next += 1;
      const to = ends[link]?.[1] ?? -1;
      if (state[to] === "open") turned[link] = true;
      else if (state[to] === "new") {
        state[to] = "open";
        way.push({ at: to, next: 0 });
      }
    }
  }
  return turned;
}

/** The layer of each node: as far left as its incoming links allow; nodes without incoming links are next to their targets. */
function layersOf(count: number, forward: Ends): number[] {
  const after: number[][] = Array.from({ length: count }, () => []);
  const waiting = new Array<number>(count).fill(0);
  for (const [from, to] of forward) {
    if (from < 0 || to < 0 || from === to) continue;
    after[from]?.push(to);
    waiting[to] = (waiting[to] ?? 0) + 1;
  }
  const isFirst = waiting.map((links) => links === 0);
  const layer = new Array<number>(count).fill(0);
  const ready = [...Array(count).keys()].filter((at) => isFirst[at]);
  for (let next = 0; next < ready.length; next++) {
    const at = ready[next] ?? 0;
    for (const to of after[at] ?? []) {
      layer[to] = Math.max(layer[to] ?? 0, (layer[at] ?? 0) + 1);
      waiting[to] = (waiting[to] ?? 0) - 1;
      if (waiting[to] === 0) ready.push(to);
    }
  }
  for (let at = 0; at < count; at++) {
    const below = (after[at] ?? []).map((to) => layer[to] ?? 0);
    if (isFirst[at] && below.length > 0) layer[at] = Math.max(0, Math.min(...below) - 1);
  }
  return layer;
}

/** The items of each layer, from the top. */
function ordered(items: readonly Item[]): number[][] {
  const depth = items.reduce((most, item) => Math.max(most, item.layer), 0);
  let order: number[][] = Array.from({ length: items.length > 0 ? depth + 1 : 0 }, () => []);
  items.forEach((item, at) => order[item.layer]?.push(at));
  let best = order.map((layer) => [...layer]);
  let fewest = crossings(best, items);
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    const rightwards = sweep % 2 === 0;
    const layers = rightwards ? [...order.keys()] : [...order.keys()].reverse();
    const rank = ranks(order, items.length);
    for (const layer of layers) {
      const mean = (at: number) => {
        const near = (rightwards ? items[at]?.before : items[at]?.after) ?? [];
        return near.length === 0 ? (rank[at] ?? 0) : near.reduce((sum, to) => sum + (rank[to] ?? 0), 0) / near.length;
      };
      const means = new Map((order[layer] ?? []).map((at) => [at, mean(at)]));
      order[layer]?.sort((a, b) => (means.get(a) ?? 0) - (means.get(b) ?? 0));
      order[layer]?.forEach((at, place) => (rank[at] = place));
    }
    const found = crossings(order, items);
    if (found < fewest) {
      fewest = found;
      best = order.map((layer) => [...layer]);
    }
  }
  order = best;
  return order;
}

function ranks(order: readonly number[][], count: number): number[] {
  const rank = new Array<number>(count).fill(0);
  for (const layer of order) layer.forEach((at, place) => (rank[at] = place));
  return rank;
}

/** The number of crossing arrows. */
export function crossings(order: readonly number[][], items: readonly Pick<Item, "after">[]): number {
  const rank = ranks(order, items.length);
  let all = 0;
  for (const layer of order) {
    const ends = layer.flatMap((at) => (items[at]?.after ?? []).map((to) => [rank[at] ?? 0, rank[to] ?? 0] as const));
    // Enough to know that there are many.
    const few = ends.slice(0, 600);
    few.forEach(([a, b], at) => {
      for (let other = at + 1; other < few.length; other++) {
        const [c, d] = few[other] ?? [a, b];
        if ((a < c && b > d) || (a > c && b < d)) all += 1;
      }
    });
  }
  return all;
}

function columns(order: readonly number[][], items: readonly Item[], across: number): { left: number; right: number }[] {
  let left = 0;
  return order.map((layer) => {
    const width = layer.reduce((most, at) => Math.max(most, items[at]?.width ?? 0), 0);
    const column = { left, right: left + width };
    left += width + across;
    return column;
  });
}

/** Moves each item towards its neighbours, as far as the items beside it allow. */
function align(order: readonly number[][], items: Item[], between: number): void {
  for (const layer of order) {
    let y = 0;
    for (const at of layer) {
      const item = items[at];
      if (!item) continue;
      item.y = y + item.height / 2;
      y += item.height + between;
    }
    for (const at of layer) if (items[at]) items[at].y -= y / 2;
  }
  for (let round = 0; round < ALIGNMENTS; round++) {
    const layers = round % 2 === 0 ? order : [...order].reverse();
    for (const layer of layers) {
      const wanted = layer.map((at) => {
        const item = items[at];
        const near = [...(item?.before ?? []), ...(item?.after ?? [])];
        return near.length === 0 ? (item?.y ?? 0) : near.reduce((sum, to) => sum + (items[to]?.y ?? 0), 0) / near.length;
      });
      const room = layer.slice(1).map((at, place) => {
        const [above, below] = [items[layer[place] ?? 0], items[at]];
        return ((above?.height ?? 0) + (below?.height ?? 0)) / 2 + between;
      });
      apart(wanted, room).forEach((y, place) => {
        const item = items[layer[place] ?? -1];
        if (item) item.y = y;
      });
    }
  }
}

/**
 * Positions close to the wanted ones, in the same order and far enough apart: the mean of pushing all down and pushing all up.
 */
export function apart(wanted: readonly number[], room: readonly number[]): number[] {
  const down = [...wanted];
  for (let at = 1; at < down.length; at++) {
    down[at] = Math.max(down[at] ?? 0, (down[at - 1] ?? 0) + (room[at - 1] ?? 0));
  }
  const up = [...wanted];
  for (let at = up.length - 2; at >= 0; at--) {
    up[at] = Math.min(up[at] ?? 0, (up[at + 1] ?? 0) - (room[at] ?? 0));
  }
  return down.map((y, at) => (y + (up[at] ?? 0)) / 2);
}

/** Boxes on an ellipse, clockwise from the left, each with an arrow to the next. */
export function ring(boxes: readonly Box[], gap: number): Layout {
  const widest = boxes.reduce((most, box) => Math.max(most, box.width), 0);
  const highest = boxes.reduce((most, box) => Math.max(most, box.height), 0);
  const count = Math.max(1, boxes.length);
  // A quarter more than the boxes need side by side.
  const radiusX = Math.max(widest / 2 + gap, ((widest + gap) * count) / (2 * Math.PI));
  const radiusY = Math.max(highest + gap, ((highest + gap) * count) / (1.6 * Math.PI));
  const places = new Map<string, Place>();
  boxes.forEach((box, at) => {
    const angle = Math.PI + (2 * Math.PI * at) / count;
    const x = widest / 2 + radiusX * (1 + Math.cos(angle));
    const y = highest / 2 + radiusY * (1 + Math.sin(angle));
    places.set(box.id, { x, y, layer: at });
  });
  const at = (place: number) => places.get(boxes[place % count]?.id ?? "") ?? { x: 0, y: 0, layer: 0 };
  const ways = boxes.map((_, place): [number, number][] => [
    [at(place).x, at(place).y],
    [at(place + 1).x, at(place + 1).y],
  ]);
  return { places, ways, width: 2 * radiusX + widest, height: 2 * radiusY + highest };
}
