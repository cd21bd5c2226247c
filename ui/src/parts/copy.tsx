/** A line to paste elsewhere, with a button that copies it. */
import { useState } from "preact/hooks";

export function Copyable({ name, text }: { name: string; text: string }) {
  const [copied, setCopied] = useState("");
  const copy = () => void navigator.clipboard?.writeText(text).then(() => setCopied(text), () => setCopied(""));
  return (
    <div class="command copyable">
      <span class="faint">{name}</span>
      <code data-testid={`line-${name}`}>{text}</code>
      <button aria-label={`Copy the line for ${name}`} onClick={copy}>{copied === text ? "copied" : "copy"}</button>
    </div>
  );
}
