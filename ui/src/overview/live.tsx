/** A program that runs, or a recording of one. */
import type { ShownFile } from "../api/files";
import { Panel } from "../parts/controls";
import { linkTo, useRoute } from "../state/route";

export function LiveCard({ at, file }: { at: number; file: ShownFile }) {
  const route = useRoute();
  return (
    <Panel class="card" title={<a href={linkTo(route, { view: "live", file: at, fresh: true })}>{file.name}</a>} tools={<span class="faint">live numbers</span>}>
      <p><a href={linkTo(route, { view: "live", file: at, fresh: true })}>Watch it</a></p>
    </Panel>
  );
}
