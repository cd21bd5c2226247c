/** Globals that libraries access as soon as they are loaded, and that QuickJS lacks. No output depends on them. */
class PlainFormat {
  format(value: unknown): string {
    return String(value);
  }

  resolvedOptions(): { timeZone: string } {
    return { timeZone: "UTC" };
  }
}

Object.assign(globalThis, { Intl: globalThis.Intl ?? { NumberFormat: PlainFormat, DateTimeFormat: PlainFormat } });
