/** Numbers in human-readable form, with the same rules as on the command line: three digits, units of thousands. */

/** An estimate and its 95 % confidence interval; for exact values all three are equal. */
export interface Estimate {
  value: number;
  low: number;
  high: number;
}

const SIZES = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];

function threeDigits(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

/** `12.3 MB` */
export function bytes(value: number): string {
  let unit = 0;
  let size = value;
  while (Math.abs(size) >= 999.5 && unit + 1 < SIZES.length) {
    size /= 1000;
    unit += 1;
  }
  return `${unit === 0 && Number.isInteger(size) ? size : threeDigits(size)} ${SIZES[unit]}`;
}

/** `12,345,678` */
export function grouped(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}

const COUNTS = ["", "k", "M", "G", "T"];

/** `12.3M`, `9,750` */
export function count(value: number): string {
  if (Math.abs(value) < 10_000) return grouped(value);
  let unit = 0;
  let size = value;
  while (Math.abs(size) >= 999.5 && unit + 1 < COUNTS.length) {
    size /= 1000;
    unit += 1;
  }
  return `${threeDigits(size)}${COUNTS[unit]}`;
}

/** `1.50 s`, `230 ms`, `2 min 5 s` */
export function seconds(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size < 1e-3) return `${threeDigits(value * 1e6)} µs`;
  if (size < 0.9995) return `${threeDigits(value * 1e3)} ms`;
  if (size < 100) return `${threeDigits(value)} s`;
  if (size < 3600) return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
  return `${Math.floor(value / 3600)} h ${Math.round((value % 3600) / 60)} min`;
}

/** `12.3 %` */
export function percent(share: number): string {
  const value = share * 100;
  if (value !== 0 && Math.abs(value) < 0.1) return value > 0 ? "< 0.1 %" : "> -0.1 %";
  return `${value.toFixed(1)} %`;
}

export function isExact({ low, high }: Estimate): boolean {
  return low === high;
}

/** `12.3 MB`, and the error if it is estimated: `± 4 %`. */
export function estimate(of: Estimate, show: (value: number) => string = bytes): string {
  const error = errorOf(of);
  return error ? `${show(of.value)} ${error}` : show(of.value);
}

/** `± 4.00 %`, or nothing for exact values: half the interval, or both ends if it is wide. */
export function errorOf({ value, low, high }: Estimate): string {
  if (low === high || value === 0) return "";
  const all = Math.abs(value);
  const error = ((high - low) / 2 / all) * 100;
  if (error < 50) return `± ${error.toFixed(error < 9.95 ? 2 : 1)} %`;
  const ends = [value - low, high - value].map((far) => ((far / all) * 100).toFixed(0));
  return `-${ends[0]}/+${ends[1]} %`;
}

/** A date and time, in the user's time zone. */
export function date(epochSeconds: number): string {
  const day = new Date(epochSeconds * 1000);
  return Number.isNaN(day.getTime()) ? "unknown" : day.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
}
