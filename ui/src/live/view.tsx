/** A running program, or a recording of one: moving numbers, and rewinding. */
import type { ComponentChildren } from "preact";
import { isReport, canAsk } from "../api/ask";
import type { LiveStateAnswer } from "../api/generated";
import { Answered, Segmented } from "../parts/controls";
import { useKeys } from "../state/keys";
import { linkTo, useRoute } from "../state/route";
import { isUnderWay, type ViewProps } from "../api/files";
import { CHARTS, LiveChart, type Watched } from "./charts";
import { clock, SPANS, stepOf, stepped, watchFrom, type Watch } from "./live";
import "./live.css";
import { LogPart } from "./log";
import { ObserversPart, SitesPart } from "./observers";
import { Runs } from "./runs";
import { TakeSnapshot } from "./snapshot";
import { useLive } from "./use-live";

/** First the tabs that every program has, then those that few programs use. */
const PARTS: readonly (readonly [string, string])[] = [["", "Charts"], ["sites", "Sites"], ["log", "Log"], ["observers", "Observers"]];

/** The tabs that are not empty, and the requested one. */
function partsOf(state: LiveStateAnswer, part: string): typeof PARTS {
  const isEmpty: Record<string, boolean> = { sites: !state.has_sites, log: !state.has_log };
  return PARTS.filter(([id]) => id === part || !isEmpty[id]);
}

export function LiveView({ file, files, taking }: ViewProps) {
  const route = useRoute();
  const watch = watchFrom(route.params);
  const isFollowing = watch.at === null && !isReport;
  const asked = useLive("live/state", { file, at: watch.at ?? undefined }, !isReport);
  return (
    <div class="live">
      <Answered asked={asked}>
        {(state) => (
          <Live file={file} watch={watch} isFollowing={isFollowing} state={state}>
            {files[file]?.takes_snapshots && state.state === "live" && <TakeSnapshot file={file} isBusy={isUnderWay(taking)} />}
          </Live>
        )}
      </Answered>
    </div>
  );
}

/** `children`: actions on the program. */
function Live({ file, watch, isFollowing, state, children }: { file: number; watch: Watch; isFollowing: boolean; state: LiveStateAnswer; children: ComponentChildren }) {
  const route = useRoute();
  const { go, part } = route;
  const { about } = state;
  const parts = partsOf(state, part);
  // A program that has ended does not change any more; a recording that is being read does.
  const isMoving = !state.is_over;
  const look = (at: number | null) => {
    if (at === null || canAsk("live/state", { file, at })) go({ params: { at: at === null ? null : String(at) } }, { replace: true });
  };
  const step = (by: number) => look(stepped(watch.at, by * stepOf(watch.span, about.from, about.to), about.from, about.to));
  const pause = () => look(watch.at === null ? Math.round(about.to * 1000) / 1000 : null);
  useKeys([
    { key: " ", what: "pause, or follow", run: pause },
    { key: "ArrowLeft", what: "back in time", run: () => step(-1) },
    { key: "ArrowRight", what: "forward in time", run: () => step(1) },
    { key: "PageUp", what: "far back in time", run: () => step(-10) },
    { key: "PageDown", what: "far forward in time", run: () => step(10) },
    { key: "Home", what: "the first moment", run: () => look(about.from) },
    { key: "End", what: "follow the program", run: () => look(null) },
    { key: "z", what: "how much time is shown", run: () => go({ params: { span: nextSpan(watch.span) } }, { replace: true }) },
    ...parts.map(([id, title], at) => ({ key: String(at + 1), what: title.toLowerCase(), run: () => go({ part: id }) })),
  ]);
  const watched: Watched = { file, watch, following: isFollowing && isMoving, markers: about.markers };
  return (
    <>
      <header class="live-head">
        <h2 title={about.program.name}>{about.program.name.split("/").at(-1) || "program"}</h2>
        <span class="faint">{about.program.pid > 0 ? `process ${about.program.pid}` : ""} {about.program.runtime}</span>
        <Badge state={state} isFollowing={isFollowing} />
        {children}
        <span class="grow" />
        <Segmented label="Time shown" options={SPANS} value={spanValue(watch.span)} onChange={(span) => go({ params: { span: span === "0" ? null : span } }, { replace: true })} disabled={(span) => isReport && span !== "0"} />
      </header>
      {!isReport && (
        <div class="timeline">
          <button onClick={pause} title="Space" aria-pressed={!isFollowing}>{isFollowing ? "❚❚ Pause" : isMoving ? "▶ Follow" : "▶ To the end"}</button>
          <input
            type="range"
            aria-label="Moment"
            aria-valuetext={clock(state.at)}
            data-keys="view"
            min={about.from}
            max={about.to}
            step={0.001}
            value={watch.at ?? about.to}
            onInput={(event) => {
              const at = event.currentTarget.valueAsNumber;
              look(at >= about.to ? null : at);
            }}
          />
          <output class="mono">{clock(state.at)} <span class="faint">of {clock(about.to)}</span></output>
        </div>
      )}
      <Told state={state} />
      <Runs runs={about.runs} />
      <nav class="tabs" aria-label="Views">
        {parts.map(([id, title]) => (
          <a key={id} href={linkTo(route, { part: id })} aria-current={id === part ? "page" : undefined}>{title}</a>
        ))}
      </nav>
      {part === "observers" ? (
        <ObserversPart {...watched} />
      ) : part === "sites" ? (
        <SitesPart {...watched} />
      ) : part === "log" ? (
        <LogPart {...watched} />
      ) : (
        <div class="charts">
          {CHARTS.map((chart, at) => (
            <LiveChart key={chart.title} {...watched} {...chart} height={at === 0 ? 17 : 13} />
          ))}
        </div>
      )}
    </>
  );
}

function nextSpan(span: number): string | null {
  const place = SPANS.findIndex(([value]) => value === spanValue(span));
  const next = SPANS[(place + 1) % SPANS.length]?.[0] ?? "0";
  return next === "0" ? null : next;
}

function spanValue(span: number): string {
  return SPANS.find(([value]) => Number(value) === span)?.[0] ?? "0";
}

function Badge({ state, isFollowing }: { state: LiveStateAnswer; isFollowing: boolean }) {
  const [text, kind] = !isFollowing && !isReport
    ? ["looking back", "back"]
    : state.state === "live"
      ? ["live", "good"]
      : state.state === "lost"
        ? ["connection lost", "bad"]
        : state.state === "replay"
          ? ["recording", "back"]
          : ["over", "back"];
  return <span class={`badge ${kind}`} data-testid="live-state">{text}</span>;
}

/** Warnings, losses, and how the program ended. */
function Told({ state }: { state: LiveStateAnswer }) {
  const { about } = state;
  const lost: string[] = [];
  if (about.dropped.ticks > 0 || about.dropped.lines > 0) lost.push(`${about.dropped.ticks} moments and ${about.dropped.lines} lines were lost on the way.`);
  if (about.forgotten_values > 0) lost.push(`${about.forgotten_values} values have left the window: nothing is known of before ${clock(about.from)}.`);
  if (state.reason) lost.push(`The connection was lost: ${state.reason}`);
  if (about.ended) lost.push(`At ${clock(about.ended.time)}: ${about.ended.reason}.`);
  lost.push(...state.notices);
  return (
    <>
      {about.warnings.length > 0 && (
        <ul class="warnings" data-testid="warnings">
          {about.warnings.map((warning) => (
            <li key={warning.name + warning.subject}>
              <strong>{warning.sentence}</strong> <span class="faint">{warning.advice} Since {clock(warning.since)}.</span>
            </li>
          ))}
        </ul>
      )}
      {lost.length > 0 && (
        <ul class="told faint">
          {lost.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
    </>
  );
}
