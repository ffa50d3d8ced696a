// Drives a real VS Code workbench with the packaged extension as a person would.
//
//   node test/workbench/drive.mjs WORKBENCH VSIX CTXD [PICTURES]
//
// WORKBENCH is the folder that setup.sh made. Needs Node 24, which is in it. Screenshots go to PICTURES.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { conversation, MODEL } from "../support/conversation.mts";

const [workbench, vsix, ctxd, pictures] = process.argv.slice(2).map((given) => path.resolve(given));
const { chromium } = createRequire(path.join(workbench, "tools/package.json"))("playwright-core");
const rpc = createRequire(import.meta.url)("vscode-jsonrpc/node");
const PATIENCE = 60_000;
const SAMPLE = path.resolve(import.meta.dirname, "../../../../ctxd/importers/samples/session.jsonl");
const ENTRY = path.join(workbench, "tools/node_modules/code-server/out/node/entry.js");
const ENV = { ...process.env, PATH: `${path.join(workbench, "node24/bin")}:${process.env.PATH}` };

const home = mkdtempSync(path.join(tmpdir(), "ctxd-workbench-"));
const folder = path.join(home, "project");
const profile = path.join(home, "profile");
const state = path.join(home, "state");
mkdirSync(folder);
cpSync(SAMPLE, path.join(folder, "session.jsonl"));
mkdirSync(path.join(profile, "Machine"), { recursive: true });
mkdirSync(path.join(profile, "User"), { recursive: true });
const command = path.join(home, "ctxd");
symlinkSync(ctxd, command);
writeFileSync(
  path.join(profile, "Machine/settings.json"),
  JSON.stringify({ "ctxd.path": command, "ctxd.storage.root": state }),
);
writeFileSync(
  path.join(profile, "User/settings.json"),
  JSON.stringify({
    "workbench.colorTheme": "Dark Modern",
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "editor.minimap.enabled": false,
    "ctxd.replay.windows": [60000, 30000],
  }),
);

const began = Date.now();
let passed = 0;
function step(sentence) {
  passed++;
  console.log(
    `ok ${String(passed).padStart(2)} ${((Date.now() - began) / 1000).toFixed(1).padStart(5)} s  ${sentence}`,
  );
}

/** Waits until a reading satisfies; nothing sleeps longer than a tenth of a second. */
async function until(what, read, satisfies = Boolean) {
  const end = Date.now() + PATIENCE;
  let last;
  while (Date.now() < end) {
    last = await read();
    if (satisfies(last)) return last;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`waited in vain for ${what}; last: ${JSON.stringify(last)}`);
}

/** Another program with a daemon of its own, which writes a session. */
async function startAgent() {
  const child = spawn(ctxd, ["serve"], { stdio: ["pipe", "pipe", "inherit"] });
  const link = rpc.createMessageConnection(
    new rpc.StreamMessageReader(child.stdout),
    new rpc.StreamMessageWriter(child.stdin),
  );
  link.listen();
  await link.sendRequest("initialize", {
    processId: process.pid,
    clientInfo: { name: "agent" },
    capabilities: {},
    workspaceFolders: [{ uri: pathToFileURL(folder).href, name: "project" }],
    initializationOptions: { storage: { root: state } },
  });
  await link.sendNotification("initialized", {});
  return {
    request: (method, params) => link.sendRequest(method, params),
    end: async () => {
      await link.sendRequest("shutdown");
      await link.sendNotification("exit");
      link.dispose();
    },
  };
}

/** Process ids of daemons below a process. */
function daemonsBelow(root) {
  const parents = new Map();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      parents.set(pid, { parent: stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1], command });
    } catch {
      // It ended meanwhile.
    }
  }
  const isBelow = (pid) => {
    for (let at = pid; at && at !== "0"; at = parents.get(at)?.parent) if (at === String(root)) return true;
    return false;
  };
  return [...parents]
    .filter(
      ([pid, { command }]) => command.includes("serve") && command.some((part) => /ctxd/.test(part)) && isBelow(pid),
    )
    .map(([pid]) => Number(pid));
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

const places = ["--user-data-dir", profile, "--extensions-dir", path.join(home, "extensions")];
const size = statSync(vsix).size;
assert.ok(size < 1024 * 1024, `the package has ${size} bytes`);
function must(argv, options = {}) {
  const done = spawnSync(process.execPath, argv, { env: ENV, encoding: "utf8", ...options });
  assert.equal(done.status, 0, done.stdout + done.stderr);
}
must([ENTRY, ...places, "--install-extension", vsix]);
step(`the package of ${Math.round(size / 1024)} KB installs`);

// Another extension, which uses this one's client and tool and offers a language model.
const consumer = path.join(home, "consumer.vsix");
const packer = path.join(workbench, "tools/node_modules/@vscode/vsce/vsce");
must([packer, "package", "--allow-missing-repository", "--skip-license", "--no-dependencies", "-o", consumer], {
  cwd: path.join(import.meta.dirname, "consumer"),
});
must([ENTRY, ...places, "--install-extension", consumer]);

const port = await freePort();
const server = spawn(
  process.execPath,
  [
    ENTRY,
    "--auth",
    "none",
    "--bind-addr",
    `127.0.0.1:${port}`,
    ...places,
    "--disable-telemetry",
    "--disable-update-check",
    "--disable-workspace-trust",
    folder,
  ],
  { env: ENV, stdio: "ignore" },
);
let browser;
let agent;
let page;
const shot = async (name) => {
  if (!pictures || !page) return;
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: path.join(pictures, `${name}.png`) });
};

try {
  await until("the server", () =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      (answer) => answer.ok,
      () => false,
    ),
  );
  browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.setDefaultTimeout(PATIENCE);
  await page.goto(`http://127.0.0.1:${port}/?folder=${encodeURIComponent(folder)}`);
  const gauge = page.locator(".statusbar-item[id*='ctxd.gauge']");
  const reading = async () => ((await gauge.count()) ? (await gauge.first().innerText()).trim() : "");
  const tokens = (text) => Number(/([\d.]+)k\//.exec(text)?.[1] ?? NaN);
  // A key that a webview gets while it loads is lost, and a palette that is closing takes nothing: try again.
  const run = (title) =>
    until(`the palette to take ${title}`, async () => {
      const input = page.locator(".quick-input-widget input.input");
      const timeout = 4000;
      try {
        await page.keyboard.press("F1");
        await input.fill(`>${title}`, { timeout });
        await page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().click({ timeout });
        return true;
      } catch {
        return false;
      }
    });
  const look = async (theme) => {
    await run("Preferences: Color Theme");
    const input = page.locator(".quick-input-widget input.input");
    await input.fill(theme);
    await page.locator(".quick-input-list .monaco-list-row", { hasText: theme }).first().click();
  };
  await page.locator(".monaco-workbench").waitFor();
  await until("the gauge", reading, (text) => text.includes("ctxd"));
  step("the workbench shows the gauge, empty");

  agent = await startAgent();
  const messages = conversation(28);
  const { sessionId } = await agent.request("session/open", {
    workspace: pathToFileURL(folder).href,
    dialect: "anthropic",
    model: MODEL,
  });
  await agent.request("session/append", { sessionId, messages: messages.slice(0, 40) });
  const first = await until("a first reading", reading, (text) => tokens(text) > 0);
  await agent.request("session/append", { sessionId, messages: messages.slice(40) });
  const second = await until("the gauge to move", reading, (text) => tokens(text) > tokens(first) + 5);
  step(`the gauge moves while another program works: ${first} → ${second}`);

  await gauge.first().click();
  const row = (text) => page.locator(".pane-body .monaco-list-row", { hasText: text }).first();
  await row("Tool outputs").waitFor();
  step("a click shows the view with categories");
  await page.mouse.move(800, 300);
  await shot("view-held");
  await gauge.first().hover();
  await page.getByText("written by agent").first().waitFor();
  await shot("tooltip");
  step("the tooltip says who writes the session");

  await run("ctxd: Compact Context");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "Without a model" }).click();
  await page.locator(".notification-toast", { hasText: "This session is written by agent" }).waitFor();
  step("a compaction of a session held elsewhere is refused with its holder");
  await agent.end();
  agent = undefined;
  await run("Notifications: Clear All Notifications");
  await until("the lock to go", reading, (text) => tokens(text) > 0 && !/lock/.test(text));

  await run("ctxd: Compact Context");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "Without a model" }).click();
  await page.locator(".monaco-diff-editor").waitFor();
  const question = page.locator(".notification-toast", { hasText: "Frees" });
  await question.waitFor();
  await page.locator(".monaco-diff-editor .view-line", { hasText: "The user's words" }).first().waitFor();
  await shot("plan");
  step("the plan is shown as a diff with its audit");
  assert.equal(tokens(await reading()), tokens(second));
  await question.getByRole("button", { name: "Commit" }).click();
  const third = await until("the gauge to fall", reading, (text) => tokens(text) < tokens(second) - 5);
  step(`the commit is on the gauge: ${second} → ${third}`);

  await row("Left the context").waitFor();
  await row("Left the context").click();
  const output = row(/turn 1$/);
  await output.waitFor();
  await shot("view");
  await output.click();
  await page.locator(".editor-instance .view-line", { hasText: "line of file 0" }).first().waitFor();
  await page.locator(".codelens-decoration", { hasText: "page 1 of 1" }).waitFor();
  await shot("output");
  step("an evicted output opens as a document");

  await run("View: Show Explorer");
  await page
    .locator(".explorer-folders-view .monaco-list-row", { hasText: "session.jsonl" })
    .click({ button: "right" });
  // A menu passes over the first clicks after it opened.
  const entry = page.locator(".monaco-menu .action-item", { hasText: "Replay Transcript" });
  await entry.waitFor();
  await until("the menu to take a click", async () => {
    await entry.click({ timeout: 1000 }).catch(() => {});
    return (await entry.count()) === 0;
  });
  const inner = page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
  await inner.locator(".figure svg").first().waitFor();
  await inner.locator(".figure svg").first().focus();
  await page.keyboard.press("PageDown");
  const said = await inner.locator(".readout").first().innerText();
  assert.match(said, /^Request \d+ of 34: .*compacted before it/);
  await shot("timeline-dark");
  step("the timeline is drawn and walked by keys");
  await look("Light Modern");
  await until("the light page", () => inner.locator("body.vscode-light").count());
  await shot("timeline-light");
  await look("Dark High Contrast");
  await until("the contrast page", () => inner.locator("body.vscode-high-contrast").count());
  await shot("timeline-contrast");
  await look("Dark Modern");
  await until("the dark page", () => inner.locator("body.vscode-dark").count());
  await page.setViewportSize({ width: 620, height: 800 });
  await shot("timeline-narrow");
  await page.setViewportSize({ width: 1280, height: 800 });
  step("light, high contrast and narrow keep it");

  const [daemon] = daemonsBelow(server.pid);
  assert.ok(daemon);
  process.kill(daemon, "SIGKILL");
  const [next] = await until(
    "another daemon",
    () => daemonsBelow(server.pid),
    (pids) => pids.length === 1 && pids[0] !== daemon,
  );
  await until("the gauge again", reading, (text) => tokens(text) === tokens(third));
  step(`a killed daemon comes back with the session: process ${daemon} → ${next}`);

  await run("ctxd: Undo the Last Compaction");
  await until("the view before", reading, (text) => tokens(text) === tokens(second));
  step("undo brings the view back");

  await run("ctxd: Compact Context");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "Summary by a model" }).click();
  const consent = page
    .locator(".monaco-dialog-box", { hasText: "language model" })
    .getByRole("button", { name: "Allow" });
  const plan = page.locator(".notification-toast", { hasText: "Frees" });
  await until("the plan", async () => {
    if (await consent.count()) await consent.click();
    return plan.count();
  });
  await plan.getByRole("button", { name: "Discard" }).click();
  await run("Consumer: Use ctxd");
  const used = await until("the other extension", () => {
    try {
      return JSON.parse(readFileSync(path.join(folder, "consumer.json"), "utf8"));
    } catch {
      return undefined;
    }
  });
  assert.equal(used.error, undefined);
  assert.equal(used.sessions, 1);
  assert.match(used.recall, /^line of file 0\n/);
  assert.ok(used.asked >= 1);
  step(
    `a language model of VS Code was asked for the summary (${used.asked}), the recall tool and getClient() answer another extension`,
  );

  rmSync(command);
  await run("ctxd: Restart the Daemon");
  await until("the missing daemon", reading, (text) => text.includes("not found"));
  await page.locator(".notification-toast", { hasText: "pip install ctxd-server" }).waitFor();
  await gauge.first().click();
  await page.locator(".welcome-view-content", { hasText: "One command brings it" }).waitFor();
  await page.mouse.move(800, 300);
  await shot("missing");
  symlinkSync(ctxd, command);
  await page.locator(".welcome-view-content .monaco-button", { hasText: "Look Again" }).click();
  await until("the gauge once more", reading, (text) => tokens(text) === tokens(second));
  step("a missing daemon is told with the command to run, and found once it is there");

  const log = globSync(path.join(profile, "logs/**/*ctxd*.log"))
    .map((name) => readFileSync(name, "utf8"))
    .join("");
  const activated = Number(/activated in (\d+) ms/.exec(log)?.[1]);
  assert.ok(activated <= 300, `activation took ${activated} ms`);
  step(`activation took ${activated} ms`);
  console.log(`${passed} passed, 0 failed`);
} catch (error) {
  await shot("failed");
  console.error(error);
  console.log(`${passed} passed, 1 failed`);
  process.exitCode = 1;
} finally {
  await browser?.close();
  server.kill();
  await agent?.end().catch(() => {});
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
process.exit();
