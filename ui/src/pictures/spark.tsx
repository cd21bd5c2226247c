/** A sparkline: a line without axes. */

const WIDTH = 600;
const HEIGHT = 70;

/** The outline of the area below equidistant values. */
export function outline(values: readonly number[], width: number, height: number): string {
  if (values.length === 0) return "";
  const most = Math.max(...values, 0) || 1;
  const step = width / Math.max(1, values.length - 1);
  const points = values.map((value, at) => `${(at * step).toFixed(1)},${(height - (value / most) * height).toFixed(1)}`);
  return `M0,${height} L${points.join(" L")} L${width},${height} Z`;
}

export function Spark({ values, label }: { values: readonly number[]; label: string }) {
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <title>{label}</title>
      <path d={outline(values, WIDTH, HEIGHT)} />
    </svg>
  );
}
