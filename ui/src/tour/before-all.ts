/** What libraries look for as soon as they are loaded, and QuickJS does not have. Nothing that is written goes through it. */
class PlainFormat {
  format(value: unknown): string {
    return String(value);
  }

  resolvedOptions(): { timeZone: string } {
    return { timeZone: "UTC" };
  }
}

Object.assign(globalThis, { Intl: globalThis.Intl ?? { NumberFormat: PlainFormat, DateTimeFormat: PlainFormat } });
