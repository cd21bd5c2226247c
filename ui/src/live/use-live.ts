/** Answers that are asked for again and again while the program is followed, and the tab is looked at. */
import { useEffect, useState } from "preact/hooks";
import { isReport, type Params } from "../api/ask";
import { useAnswer, type Asked } from "../api/use";

/** Twice a second: what is shown moves, and nobody waits for anybody. */
const PAUSE = 450;

/** Asks, and asks again a little after each answer as long as it is `following`. */
export function useLive<T>(name: string | null, params: Params, following: boolean): Asked<T> {
  const [round, setRound] = useState(0);
  const asked = useAnswer<T>(name, params, round);
  const isVisible = useVisible();
  useEffect(() => {
    if (!following || isReport || asked.loading || !isVisible || name === null) return;
    const timer = setTimeout(() => setRound((n) => n + 1), PAUSE);
    return () => clearTimeout(timer);
  }, [following, asked.loading, isVisible, name, round]);
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
