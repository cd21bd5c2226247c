/** Answers that are asked for again and again while the program is followed, and the tab is looked at. */
import { useEffect, useState } from "preact/hooks";
import { isReport, type Params } from "../api/ask";
import type { Questions } from "../api/generated";
import { useAnswer, type Asked } from "../api/use";

/** Twice a second: what is shown moves, and nobody waits for anybody. */
const PAUSE = 450;

/** Asks, and asks again a little after each answer as long as it is `following`. */
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

/** Whether the tab is looked at. */
function useVisible(): boolean {
  const [isVisible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const tell = () => setVisible(!document.hidden);
    document.addEventListener("visibilitychange", tell);
    return () => document.removeEventListener("visibilitychange", tell);
  }, []);
  return isVisible;
}
