/** The help: what keys do, here and everywhere. */
import { useEffect, useRef } from "preact/hooks";
import { useKnownKeys } from "../state/keys";

export function Help({ version, onClose, onTour }: { version: string; onClose: () => void; onTour: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const keys = useKnownKeys();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={onClose} onClick={(event) => event.target === dialog.current && onClose()}>
      <h2 id="help-title">Keys</h2>
      <dl>
        {keys.map((key) => (
          <div key={key.key}>
            <dt><kbd>{key.key.startsWith("Arrow") ? key.key.slice(5) : key.key}</kbd></dt>
            <dd>{key.what}</dd>
          </div>
        ))}
      </dl>
      <p class="faint">
        Everything that is shown is in the URL: a link shows the same view. Export offers the picture, the numbers, and the command line that
        prints them. Bactrian {version}.
      </p>
      <form method="dialog" class="row">
        <button autofocus>Close</button>
        <button onClick={onTour}>One-minute tour</button>
      </form>
    </dialog>
  );
}
