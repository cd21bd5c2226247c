/** What is wrong, then each file: what it is and what it says first; what was lost and how sure the numbers are stands beside them. */
import type { ViewProps } from "../api/files";
import { Diagnosis } from "./diagnosis";
import { LiveCard } from "./live";
import { SnapshotsCard } from "./snapshots";
import { TraceCard } from "./trace";
import "./overview.css";

export function Overview({ files }: ViewProps) {
  const all = files.map((file, at) => ({ file, at }));
  const of = (kind: string) => all.filter(({ file }) => file.kind === kind);
  const snapshots = of("snapshot");
  return (
    <div class="overview">
      <Diagnosis traces={of("trace")} snapshots={snapshots} />
      {of("trace").map(({ file, at }) => (
        <TraceCard key={at} at={at} file={file} />
      ))}
      {snapshots.length > 0 && <SnapshotsCard snapshots={snapshots} />}
      {of("live").map(({ file, at }) => (
        <LiveCard key={at} at={at} file={file} />
      ))}
    </div>
  );
}
