// Bundles the extension and its webview into dist/; with --tests the unit tests too.

import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { build } from "esbuild";

const common = { bundle: true, minify: true, target: "es2022", logLevel: "warning", legalComments: "none" };

rmSync("dist", { recursive: true, force: true });
mkdirSync("dist", { recursive: true });
// The language client is as large as all the rest: it is loaded when the daemon starts, not at activation.
await build({
  ...common,
  entryPoints: { extension: "src/extension.ts", language_link: "src/host/language_link.ts" },
  outdir: "dist",
  platform: "node",
  format: "cjs",
  external: ["vscode", "./language_link.js"],
  plugins: [
    {
      name: "late",
      setup: ({ onResolve }) =>
        onResolve({ filter: /\/host\/language_link\.js$/ }, () => ({ path: "./language_link.js", external: true })),
    },
  ],
});
await build({
  ...common,
  entryPoints: ["src/webview/timeline.ts", "src/webview/timeline.css"],
  outdir: "dist",
  platform: "browser",
  format: "iife",
});
if (process.argv.includes("--tests")) {
  await build({
    bundle: true,
    entryPoints: readdirSync("test/unit")
      .filter((name) => name.endsWith(".test.ts"))
      .map((name) => `test/unit/${name}`),
    outdir: "dist/test",
    platform: "node",
    format: "cjs",
    target: "es2022",
    sourcemap: "inline",
    logLevel: "warning",
  });
}
