/**
 * A tree with sizes as an icicle or a treemap: click or Enter descends, arrows move, Backspace goes up. With touch, which has no
 * hovering, the first tap shows what a piece is, and a second one descends.
 */
import { useMemo, useRef, useState } from "preact/hooks";
import { useKeys } from "../state/keys";
import { useTheme, type Colours } from "../state/theme";
import { useExport } from "../parts/export";
import { coloursOf } from "./colours";
import { icicle, type Sized } from "./icicle";
import { fitting, svgFile, useRoom } from "./svg";
import { treemap } from "./treemap";

export interface TreeItem extends Sized {
  name: string;
  /** Determines the colour. */
  colour: string;
  /** Shown with the name, if it fits: a size. */
  note: string;
  /** The tooltip with all details. */
  title: string;
  children: readonly TreeItem[];
  /** The name of what is below it and omitted. */
  restName: string;
}

interface Props {
  top: TreeItem;
  as: "icicle" | "treemap";
  /** The current position: child indices from the top. */
  path: readonly number[];
  onMove: (path: number[]) => void;
  /** Descends to a piece; the rest of a row has -1 as its last index. */
  onDescend: (path: number[]) => void;
  onAscend: () => void;
  onInspect?: ((path: number[]) => void) | undefined;
  move: (path: readonly number[], key: string) => number[];
  title: string;
  command?: string | null | undefined;
}

interface Shape {
  path: number[];
  x: number;
  y: number;
  width: number;
  height: number;
  isParent: boolean;
}

/** As many levels as are requested; deeper ones are omitted. */
const LEVELS = 10;

export function TreePicture(props: Props) {
  const { top, as, path, onMove, onDescend, onAscend, move } = props;
  const around = useRef<HTMLDivElement>(null);
  const picture = useRef<SVGSVGElement>(null);
  const [over, setOver] = useState<readonly number[] | null>(null);
  const { width, scale } = useRoom(around);
  const colours = useTheme();
  const size = 12 * scale;
  const line = Math.round(26 * scale);
  const { shapes, height } = useMemo(() => {
    if (as === "icicle") {
      const slices = icicle(top, LEVELS - 1, width > 0 ? 1.5 / width : 1);
      const deepest = slices.reduce((most, slice) => Math.max(most, slice.depth), 0);
      const shapes = slices.map((slice): Shape => ({
        path: slice.path,
        x: slice.left * width,
        y: slice.depth * line,
        width: slice.width * width,
        height: line,
        isParent: false,
      }));
      return { shapes, height: (deepest + 1) * line };
    }
    const height = Math.round(Math.max(320, Math.min(width * 0.56, innerHeight * 0.64)));
    const options = { depth: LEVELS - 1, header: 20 * scale, padding: 3 * scale, least: 3 };
    return { shapes: treemap(top, { x: 0, y: 0, width, height }, options) as Shape[], height };
  }, [top, as, width, scale]);
  const fills = useMemo(() => coloursOf(namesIn(top), colours.isDark), [top, colours.isDark]);
  const isTouched = useRef(false);
  const walk = (key: string) => {
    onMove(move(path, key));
    // Keyboard navigation takes the focus, so that Enter descends, whatever was pressed before.
    around.current?.focus({ preventScroll: true });
  };
  const click = (to: number[]) => {
    if (isTouched.current && !same(to, path)) onMove(to);
    else onDescend(to);
  };
  const arrow = (key: string) => ({ key, what: "", run: () => walk(key) });
  useKeys([
    { key: "ArrowDown", what: "move in the picture: down, up, left and right", run: () => walk("ArrowDown") },
    arrow("ArrowUp"),
    arrow("ArrowLeft"),
    arrow("ArrowRight"),
    { key: "Enter", what: "go down to it", run: () => path.length > 0 && onDescend([...path]) },
    { key: "Backspace", what: "go up again", run: onAscend },
    { key: "i", what: "show the block or root", run: () => props.onInspect?.([...path]) },
  ]);
  useExport({ title: props.title, command: props.command, svg: () => svgFile(picture.current, colours.ground), csv: undefined });
  const shown = over ?? path;
  const story = itemAt(top, shown);
  return (
    <div
      class="tree-picture"
      ref={around}
      tabIndex={0}
      role="group"
      aria-label={`${props.title}: arrows walk through it`}
      onPointerDown={(event) => (isTouched.current = event.pointerType === "touch")}
    >
      {width > 0 && (
        <svg
          ref={picture}
          width={width}
          height={height}
          viewBox={`0 0 ${width} ${height}`}
          font-size={size}
          role="img"
          aria-label={props.title}
          data-testid={as}
          onMouseLeave={() => setOver(null)}
        >
          {shapes.map((shape) => (
            <Piece
              key={shape.path.join(".")}
              shape={shape}
              item={itemAt(top, shape.path)}
              size={size}
              colours={colours}
              fill={fills.get(itemAt(top, shape.path).colour) ?? ""}
              isHere={same(shape.path, path)}
              onClick={() => click(shape.path)}
              onOver={() => setOver(shape.path)}
            />
          ))}
        </svg>
      )}
      <p class="story" role="status">{story.title}</p>
    </div>
  );
}

/** The names that need colours, level by level, because outer levels are larger. */
function namesIn(top: TreeItem): { name: string }[] {
  const found: { name: string }[] = [];
  let level: readonly TreeItem[] = [top];
  for (let depth = 0; level.length > 0 && depth < LEVELS; depth++) {
    for (const { colour } of level) found.push({ name: colour });
    level = level.flatMap(({ children }) => children);
  }
  return found;
}

function same(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((place, at) => place === b[at]);
}

/** The item at a path, or a description of the rest there. */
function itemAt(top: TreeItem, path: readonly number[]): Pick<TreeItem, "name" | "colour" | "note" | "title"> & { isRest: boolean } {
  let item: TreeItem = top;
  for (const place of path) {
    const next = item.children[place];
    if (!next) return { name: item.restName, colour: "", note: "", title: `${item.restName}, below ${item.name}`, isRest: true };
    item = next;
  }
  return { ...item, isRest: false };
}

interface PieceProps {
  shape: Shape;
  item: ReturnType<typeof itemAt>;
  size: number;
  colours: Colours;
  fill: string;
  isHere: boolean;
  onClick: () => void;
  onOver: () => void;
}

function Piece({ shape, item, size, colours, fill, isHere, onClick, onOver }: PieceProps) {
  const { x, y, width, height, isParent } = shape;
  const ground = item.isRest ? (colours.isDark ? "#33373e" : "#ece9e1") : fill;
  // Text is dark on all palette colours; the rest has the page's own colour.
  const ink = item.isRest ? colours.faint : "#111111";
  const room = width - size * 0.8;
  const full = `${item.name}  ${item.note}`;
  const name = fitting(full, room, size) === full ? full : fitting(item.name, room, size);
  const lines = !isParent && height > size * 3 && name === item.name && item.note ? fitting(item.note, room, size) : "";
  const baseline = isParent || lines || height > size * 4 ? y + size * 1.25 : y + height / 2 + size * 0.35;
  return (
    <g class="piece" data-name={item.name} onClick={onClick} onMouseEnter={onOver}>
      <rect
        x={x + 0.5}
        y={y + 0.5}
        width={Math.max(0.5, width - 1)}
        height={Math.max(0.5, height - 1)}
        rx={2}
        fill={ground}
        fill-opacity={isParent ? 0.45 : 1}
        stroke={isHere ? colours.text : colours.ground}
        stroke-width={isHere ? 2.5 : 1}
      />
      {name && height > size * 1.1 && (
        <text x={x + size * 0.45} y={baseline} fill={isParent && colours.isDark ? colours.text : ink} font-weight={isParent ? "600" : "400"}>{name}</text>
      )}
      {lines && <text x={x + size * 0.45} y={baseline + size * 1.25} fill={ink}>{lines}</text>}
    </g>
  );
}
