/** What stands out in this snapshot, and what grew up to it. */
import { Panel } from "../parts/controls";
import { SnapshotFindings } from "../overview/findings";
import type { TabProps } from "./view";

export function FindingsTab({ file, files }: TabProps) {
  const upTo = files.flatMap(({ kind }, at) => (kind === "snapshot" && at <= file ? [at] : []));
  return (
    <Panel title="Findings">
      <SnapshotFindings files={upTo} />
    </Panel>
  );
}
