/** Evolution. */
import type { ViewProps } from "../shell/views";

export function EvolutionView({ file, files }: ViewProps) {
  return <h2>{files[file]?.name}</h2>;
}
