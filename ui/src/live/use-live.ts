/** Answers that are repeatedly requested while the program is followed and the tab is visible. */
import { useEffect, useState } from "preact/hooks";
import { isReport, type Params } from "../api/ask";
import type { Questions } from "../api/generated";
import { useAnswer, type Asked } from "../api/use";

/** In milliseconds. With the time of the answer about twice a second: smooth, without piling up requests. */
const PAUSE = 450;

/** Asks, and asks again a little after each answer while `following`. */
export function useLive<N extends keyof Questions>(name: N, params: Params, following: boolean): Asked<Questions[N]["answer"]> {
  const [round, setRound] = useState(0);
  const asked = useAnswer<Questions[N]["answer"]>(name, params, round);
  const isVisible = useVisible();
  useEffect(() => {
    if (!following || isReport || asked.loading || !isVisible) return;
    const timer = setTimeout(() => setRound((n) => n + 1), PAUSE);
    return () => clearTimeout(timer);
  }, [following, asked.loading, isVisible, round]);
  return asked;
}

/** Whether the tab is visible. */
function useVisible(): boolean {
  const [isVisible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const tell = () => setVisible(!document.hidden);
    document.addEventListener("visibilitychange", tell);
    return () => document.removeEventListener("visibilitychange", tell);
  }, []);
  return isVisible;
}
