/** The frame around all views: file and view selection, export, help. */
import { useState } from "preact/hooks";
import { isReport, leftOut, mostBytes } from "../api/ask";
import { useFiles, type Files, type ShownFile } from "../api/files";
import { bytes, percent } from "../format";
import { SnapshotTaking } from "../live/snapshot";
import { ExportMenu } from "../parts/export";
import { useKeys } from "../state/keys";
import { linkTo, useRoute } from "../state/route";
import { choice, choose, type Choice } from "../state/theme";
import { Guide, GuideOffer, useGuide } from "./guide";
import { Help } from "./help";
import { fileFor, shows, VIEWS, type View } from "./views";

export function App() {
  const { answer, error } = useFiles();
  if (error) return <main class="message"><h1>Bactrian</h1><p class="error" role="alert">{error}</p></main>;
  if (!answer) return <main class="message"><p class="faint">Reading…</p></main>;
  return <Frame {...answer.result} />;
}

function Frame({ files, version, taking, knows_sql }: Files) {
  const route = useRoute();
  const [helps, setHelps] = useState(false);
  const [guide, setGuide] = useGuide();
  const possible = VIEWS.filter((view) => shows(view, files, knows_sql));
  const view = possible.find((view) => view.id === route.view) ?? possible[0];
  const file = view ? fileFor(view, route.file, files) : 0;
  const among = view?.kind ? files.map((f, at) => ({ f, at })).filter(({ f }) => f.kind === view.kind) : files.map((f, at) => ({ f, at }));
  const step = (by: number) => {
    const here = among.findIndex(({ at }) => at === file);
    const next = among[(here + by + among.length) % among.length];
    if (next && among.length > 1) route.go({ file: next.at });
  };
  const goTo = (view: View) => route.go({ view: view.id, file: fileFor(view, route.file, files), part: "", fresh: true });
  useKeys([
    ...possible.map((view) => ({ key: `g ${view.key}`, what: `go to ${view.title}`, run: () => goTo(view) })),
    { key: "]", what: "next file", run: () => step(1) },
    { key: "[", what: "file before", run: () => step(-1) },
    { key: "?", what: "this help", run: () => setHelps((shown) => !shown) },
  ]);
  return (
    <>
      <a class="skip" href="#view" onClick={(event) => { event.preventDefault(); document.getElementById("view")?.focus(); }}>Skip to the view</a>
      <header class="top">
        <h1 class="name">Bactrian</h1>
        <nav aria-label="Views">
          {possible.map((one) => (
            <a
              key={one.id}
              href={linkTo(route, { view: one.id, file: fileFor(one, route.file, files), part: "", fresh: true })}
              aria-current={one === view ? "page" : undefined}
            >
              {one.title}
            </a>
          ))}
        </nav>
        {among.length > 1 && view && view.kind !== null && view.least === 1 && (
          <select class="file" aria-label="File" value={String(file)} onChange={(event) => route.go({ file: Number(event.currentTarget.value) })}>
            {among.map(({ f, at }) => (
              <option key={at} value={String(at)}>{f.name}</option>
            ))}
          </select>
        )}
        {among.length === 1 && <span class="file" title={files[file]?.path}>{files[file]?.name}</span>}
        <span class="grow" />
        <ExportMenu />
        <ThemeButton />
        <button class="quiet" aria-label="Help" onClick={() => setHelps(true)}>?</button>
      </header>
      {isReport && <ReportNote />}
      {guide === "offered" && <GuideOffer onAnswer={setGuide} />}
      <Opening files={files} />
      <SnapshotTaking taking={taking} files={files} />
      <main id="view" tabIndex={-1} data-view={view?.id}>
        {view && <h2 class="out-of-sight">{view.title}</h2>}
        {/* A series changes when a new snapshot arrives. */}
        {view ? <view.show key={view.least > 1 ? `${view.id} of ${among.length}` : view.id} file={file} files={files} taking={taking} /> : <p class="faint">There is nothing to show.</p>}
      </main>
      {guide === "shown" && <Guide files={files} goTo={(id) => possible.filter((view) => view.id === id).forEach(goTo)} onEnd={() => setGuide("off")} />}
      {helps && <Help version={version} onClose={() => setHelps(false)} onTour={() => setGuide("shown")} />}
    </>
  );
}

function Opening({ files }: { files: readonly ShownFile[] }) {
  const opening = files.filter((file) => file.state === "opening");
  if (opening.length === 0) return null;
  return (
    <div role="status">
      <ul class="opening">
        {opening.map((file) => (
          <li key={file.path}>
            Reading {file.name}: <progress max={1} value={file.done} aria-label={`share of ${file.name} that is read`} /> {percent(file.done)}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** States that the page is a report, and what it lacks. */
function ReportNote() {
  return (
    <details class="report-note" data-testid="report-note">
      <summary>
        A report: what was asked beforehand, nothing else. {leftOut.length === 0 ? "" : `${leftOut.length} answers were left out.`}
      </summary>
      {leftOut.length > 0 && (
        <>
          <p>Reports are no larger than {bytes(mostBytes)} (--max-size). There was no room for the output of these commands:</p>
          <ul>{leftOut.map((what) => <li key={what}>{what}</li>)}</ul>
        </>
      )}
      <p>For filters and everything else, use `bactrian view` on the same files.</p>
    </details>
  );
}

const NEXT: Record<Choice, Choice> = { system: "light", light: "dark", dark: "system" };

function ThemeButton() {
  const [now, setNow] = useState(choice);
  const turn = () => {
    choose(NEXT[now]);
    setNow(NEXT[now]);
  };
  useKeys([{ key: "D", what: "light, dark, or the system's setting", run: turn }]);
  return (
    <button class="quiet" onClick={turn} title="Light, dark, or the system's setting (D)" aria-label={`Colours: ${now}`}>
      {{ system: "◐", light: "☀", dark: "☾" }[now]}
    </button>
  );
}
