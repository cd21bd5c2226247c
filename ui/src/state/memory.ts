/**
 * What the browser remembers for us, if it lets us. Each `bactrian view` has a port of its own, which makes it another site with
 * another storage; cookies are by host alone. A report has no host.
 */

const YEAR = 365 * 24 * 3600;

/** What was remembered under a name of letters and dashes; null: nothing, or it is not to be had. */
export function recall(name: string): string | null {
  try {
    const cookie = document.cookie.split("; ").find((pair) => pair.startsWith(`${name}=`));
    return localStorage.getItem(name) ?? cookie?.slice(name.length + 1) ?? null;
  } catch {
    return null;
  }
}

/** Remembers a word. If that cannot be, it is forgotten with the page. */
export function remember(name: string, word: string): void {
  try {
    document.cookie = `${name}=${word}; path=/; max-age=${YEAR}; samesite=strict`;
    localStorage.setItem(name, word);
  } catch {
    // Then it is asked again the next time.
  }
}
