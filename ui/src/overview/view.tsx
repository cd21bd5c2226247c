/** What each file is and what it says first. */
import type { ViewProps } from "../shell/views";

export function Overview({ files }: ViewProps) {
  return (
    <div class="overview">
      {files.map((file, at) => (
        <h2 key={at}>{file.name}</h2>
      ))}
    </div>
  );
}
