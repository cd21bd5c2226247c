/**
 * What the browser stores for us, if it permits. Each `bactrian view` has its own port, which makes it another origin with
 * separate storage; cookies are per host only. A report has no host.
 */

const YEAR = 365 * 24 * 3600;

/** The value stored under a name of letters and dashes; null if there is none, or storage is not accessible. */
export function recall(name: string): string | null {
  try {
    const cookie = document.cookie.split("; ").find((pair) => pair.startsWith(`${name}=`));
    return localStorage.getItem(name) ?? cookie?.slice(name.length + 1) ?? null;
  } catch {
    return null;
  }
}

/** Stores a word. If that fails, it lasts only as long as the page. */
export function remember(name: string, word: string): void {
  try {
    document.cookie = `${name}=${word}; path=/; max-age=${YEAR}; samesite=strict`;
    localStorage.setItem(name, word);
  } catch {
    // Then the user is asked again the next time.
  }
}
