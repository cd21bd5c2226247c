/** Trace. */
import type { ViewProps } from "../shell/views";

export function TraceView({ file, files }: ViewProps) {
  return <h2>{files[file]?.name}</h2>;
}
