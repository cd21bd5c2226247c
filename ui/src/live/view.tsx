/** Live. */
import type { ViewProps } from "../shell/views";

export function LiveView({ file, files }: ViewProps) {
  return <h2>{files[file]?.name}</h2>;
}
