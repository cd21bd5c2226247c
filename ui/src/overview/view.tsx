/** The diagnosis, then the files that it is based on. */
import type { ViewProps } from "../api/files";
import { Diagnosis } from "./diagnosis";
import { Evidence } from "./evidence";
import { GcCard } from "./gc";
import { LiveCard } from "./live";
import "./overview.css";

export function Overview({ files }: ViewProps) {
  const all = files.map((file, at) => ({ file, at }));
  const of = (kind: string) => all.filter(({ file }) => file.kind === kind);
  const snapshots = of("snapshot");
  return (
    <div class="overview">
      <Diagnosis traces={of("trace")} snapshots={snapshots} />
      <Evidence traces={of("trace")} snapshots={snapshots} />
      {of("live").map(({ file, at }) => (
        <LiveCard key={at} at={at} file={file} />
      ))}
      {of("gc").map(({ file, at }) => (
        <GcCard key={at} at={at} file={file} />
      ))}
    </div>
  );
}
