/** Heap. */
import type { ViewProps } from "../shell/views";

export function HeapView({ file, files }: ViewProps) {
  return <h2>{files[file]?.name}</h2>;
}
