/** One script, one style, with names that crates/web knows. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    target: "es2022",
    cssCodeSplit: false,
    // A report is read from disk and sent around: its script is not for debuggers.
    sourcemap: false,
    modulePreload: false,
    rollupOptions: {
      output: {
        inlineDynamicImports: true,
        entryFileNames: "app.js",
        assetFileNames: "app[extname]",
      },
    },
  },
  // One thread that reads modules once: none of them keeps anything that another test could meet.
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"], pool: "threads", isolate: false, poolOptions: { threads: { singleThread: true } } },
});
