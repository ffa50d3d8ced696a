// A code-server with the extension in it, its folders, and a browser before it.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { Command } from "./agents.mjs";
import { CHANGE, FILES, RESTORED, textOf } from "./story.mjs";
import { PATIENCE, until, Window } from "./window.mjs";

const SAMPLE = path.resolve(import.meta.dirname, "../../../../ctxd/importers/samples/session.jsonl");
const BROWSER = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
/** Lets the other extension offer a model that needs consent, which is not yet of VS Code's settled interface. */
const PAYLOAD = JSON.stringify([["enableProposedApi", "true"]]);
const SETTINGS = {
  "workbench.colorTheme": "Dark Modern",
  "workbench.startupEditor": "none",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "security.workspace.trust.startupPrompt": "never",
  "security.workspace.trust.banner": "never",
  "editor.minimap.enabled": false,
  "ctxd.replay.windows": [60000, 30000],
};

export class Workbench {
  constructor(tools, ctxd, pictures) {
    this.tools = tools;
    this.ctxd = ctxd;
    this.pictures = pictures;
    this.home = mkdtempSync(path.join(tmpdir(), "ctxd-workbench-"));
    this.folder = path.join(this.home, "project");
    this.profile = path.join(this.home, "profile");
    this.state = path.join(this.home, "state");
    this.command = new Command(path.join(this.home, "ctxd"), ctxd);
    this.env = { ...process.env, PATH: `${path.join(tools, "node24/bin")}:${process.env.PATH}` };
    this.entry = path.join(tools, "tools/node_modules/code-server/out/node/entry.js");
    this.places = ["--user-data-dir", this.profile, "--extensions-dir", path.join(this.home, "extensions")];
    this.lay();
  }

  /** The project: a transcript, and the files that the story's agent read, one of them changed since. */
  lay() {
    for (const file of FILES) {
      const place = path.join(this.folder, file);
      mkdirSync(path.dirname(place), { recursive: true });
      writeFileSync(place, file === RESTORED ? `${CHANGE}\n${textOf(file)}` : textOf(file));
    }
    cpSync(SAMPLE, path.join(this.folder, "session.jsonl"));
    // Summaries that fail one after the other must not keep the next from being asked for.
    const daemon = { "ctxd.path": this.command.path, "ctxd.storage.root": this.state, "ctxd.summarizer.cooldownMs": 1 };
    this.write("Machine/settings.json", daemon);
    this.write("User/settings.json", SETTINGS);
  }

  write(name, content) {
    const place = path.join(this.profile, name);
    mkdirSync(path.dirname(place), { recursive: true });
    writeFileSync(place, JSON.stringify(content));
  }

  /** Installs a package as a person would. */
  install(vsix) {
    this.must([this.entry, ...this.places, "--install-extension", vsix]);
    return statSync(vsix).size;
  }

  /** Packages the extension of a folder and installs it. */
  installFrom(folder) {
    const packer = path.join(this.tools, "tools/node_modules/@vscode/vsce/vsce");
    const vsix = path.join(this.home, `${path.basename(folder)}.vsix`);
    const lenient = ["--allow-missing-repository", "--skip-license", "--no-dependencies"];
    this.must([packer, "package", ...lenient, "-o", vsix], { cwd: folder });
    this.install(vsix);
  }

  async start() {
    this.port = await freePort();
    const address = `127.0.0.1:${this.port}`;
    const quiet = ["--disable-telemetry", "--disable-update-check"];
    const argv = [this.entry, "--auth", "none", "--bind-addr", address, ...this.places, ...quiet];
    this.server = spawn(process.execPath, argv, { env: this.env, stdio: "ignore" });
    const isUp = () =>
      fetch(`http://${address}/healthz`).then(
        (answer) => answer.ok,
        () => false,
      );
    await until("the server", isUp);
    const { chromium } = createRequire(path.join(this.tools, "tools/package.json"))("playwright-core");
    this.browser = await chromium.launch({ executablePath: "/usr/bin/chromium", headless: true, args: BROWSER });
    this.context = await this.browser.newContext({
      viewport: { width: 1280, height: 800 },
      permissions: ["clipboard-read", "clipboard-write"],
    });
    this.context.setDefaultTimeout(PATIENCE);
  }

  /** A window on a folder, or on what a workspace file names. */
  async window(place = this.folder) {
    const window = new Window(await this.context.newPage(), this.pictures);
    const what = place.endsWith(".code-workspace") ? "workspace" : "folder";
    const query = new URLSearchParams({ [what]: place, payload: PAYLOAD });
    await window.page.goto(`http://127.0.0.1:${this.port}/?${query}`);
    await window.page.locator(".monaco-workbench").waitFor();
    return window;
  }

  /** Icons that the extension names and VS Code draws as nothing, having none of that name. */
  unknownIcons() {
    const extension = path.resolve(import.meta.dirname, "../..");
    const sources = [...globSync(path.join(extension, "src/{model,host}/*.ts")), path.join(extension, "package.json")];
    const text = sources.map((name) => readFileSync(name, "utf8")).join("\n");
    const icons = /\$\(([a-z][a-z-]*)(?:~spin)?\)|\bicon: "([a-z-]+)"/g;
    const named = [...text.matchAll(icons)].map((found) => found[1] ?? found[2]);
    const inner = "tools/node_modules/code-server/lib/vscode/out/vs/code/browser/workbench/workbench.js";
    const known = readFileSync(path.join(this.tools, inner), "utf8");
    assert.ok(named.length > 30);
    return [...new Set(named)].filter((name) => !new RegExp(`"${name}",(\\d+|[\\w.]+)\\)`).test(known));
  }

  /** What the extension logged. */
  log() {
    const files = globSync(path.join(this.profile, "logs/**/*ctxd*.log"));
    return files.map((name) => readFileSync(name, "utf8")).join("");
  }

  /** A file that the other extension wrote into the project, as soon as it is there. */
  async written(name) {
    const place = path.join(this.folder, name);
    const read = () => {
      try {
        return JSON.parse(readFileSync(place, "utf8"));
      } catch {
        return undefined;
      }
    };
    const found = await until(name, read);
    rmSync(place);
    return found;
  }

  async end() {
    await this.browser?.close();
    this.server?.kill();
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }

  must(argv, options = {}) {
    const done = spawnSync(process.execPath, argv, { env: this.env, encoding: "utf8", ...options });
    assert.equal(done.status, 0, done.stdout + done.stderr);
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
