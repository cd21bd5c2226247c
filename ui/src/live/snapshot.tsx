/**
 * Snapshots of a running program taken from the page: the button in its view, and above all views the progress and the result.
 * When the snapshot is ready the page goes to it, unless the user has gone elsewhere meanwhile.
 */
import { useEffect, useState } from "preact/hooks";
import { change } from "../api/ask";
import { isUnderWay, lookAgain, type ShownFile, type Taking } from "../api/files";
import { percent } from "../format";
import { useKeys } from "../state/keys";
import { linkTo, useRoute } from "../state/route";

/** The number of the last snapshot requested in this tab. */
let own = 0;

/** Requests a snapshot. The result comes with the list of files; throws if none is started. */
async function take(file: number): Promise<void> {
  own = (await change<Taking>("snapshot", { file })).number;
  lookAgain();
}

export function TakeSnapshot({ file, isBusy }: { file: number; isBusy: boolean }) {
  const [refusal, setRefusal] = useState("");
  const begin = () => {
    setRefusal("");
    take(file).catch((error: unknown) => setRefusal(error instanceof Error ? error.message : String(error)));
  };
  useKeys([{ key: "s", what: "take a snapshot of the program", run: () => !isBusy && begin() }]);
  return (
    <>
      <button class="take" disabled={isBusy} onClick={begin} title="Writes every block of its heap to a new file (s). The program pauses for milliseconds.">
        Take a snapshot
      </button>
      {refusal && <span class="error" role="alert">{refusal}</span>}
    </>
  );
}

/** The progress of the current snapshot, or its result, until it is closed or the page is reloaded. */
export function SnapshotTaking({ taking, files }: { taking: Taking | null; files: readonly ShownFile[] }) {
  const route = useRoute();
  const [closed, setClosed] = useState(0);
  const isOwn = taking !== null && taking.number === own;
  useEffect(() => {
    if (isOwn && taking.state === "taken" && route.view === "live") route.go({ view: "heap", file: taking.file, part: "", fresh: true });
  }, [isOwn, taking?.state]);
  if (!taking || taking.number === closed || !(isOwn || isUnderWay(taking))) return null;
  const program = files[taking.of]?.name ?? "the program";
  return (
    <div class="taking" role="status" data-testid="taking" data-state={taking.state}>
      <What taking={taking} program={program} />
      {taking.state === "taken" && route.view !== "heap" && <a href={linkTo(route, { view: "heap", file: taking.file, part: "", fresh: true })}>show it</a>}
      <span class="grow" />
      {!isUnderWay(taking) && <button class="quiet" aria-label="Close" onClick={() => setClosed(taking.number)}>✕</button>}
    </div>
  );
}

function What({ taking, program }: { taking: Taking; program: string }) {
  switch (taking.state) {
    case "freezing":
      return <span>Taking a snapshot of {program}: waiting until its heap is consistent <progress aria-label="waiting" /></span>;
    case "reading":
      return <span>Taking a snapshot of {program}: reading its heap <progress max={1} value={taking.done} aria-label="share of the heap that is read" /> {percent(taking.done)}</span>;
    case "taken":
      return <span>Snapshot of {program}: {taking.said.join("; ")}.</span>;
    case "failed":
      return <span class="error">No snapshot of {program}: {taking.why}</span>;
  }
}
