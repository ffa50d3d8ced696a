// A workspace of several folders: each has its sessions, one daemon serves them all.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { daemonsBelow, startAgent } from "../agents.mjs";
import { MODEL, story } from "../story.mjs";
import { until } from "../window.mjs";
import { trustIt } from "./trust.mjs";

export async function folders(stage) {
  const { bench, step } = stage;
  const daemons = () => daemonsBelow(bench.server.pid).length;
  const second = path.join(bench.home, "library");
  mkdirSync(second);
  const agent = await startAgent(bench.ctxd, second, bench.state);
  const workspace = pathToFileURL(second).href;
  const { sessionId } = await agent.request("session/open", { workspace, dialect: "anthropic", model: MODEL });
  await agent.request("session/append", { sessionId, messages: story().slice(0, 12) });
  await agent.end();
  const both = path.join(bench.home, "both.code-workspace");
  writeFileSync(both, JSON.stringify({ folders: [{ path: bench.folder }, { path: second }] }));

  const wide = await bench.window(both);
  const isAsking = wide.welcome("The daemon starts once you trust this workspace");
  // A workspace file that is opened for the first time has now and then no folders for any extension, however long
  // one waits; once the page is loaded again it has them.
  await until("VS Code to read the folders", async () => {
    await wide.gauge.first().click();
    const isThere = await isAsking.waitFor({ timeout: 10_000 }).then(
      () => true,
      () => false,
    );
    if (!isThere) await wide.page.reload();
    return isThere;
  });
  await trustIt(wide);
  await wide.row("project").waitFor();
  await wide.row("library").click();
  const session = wide.page.locator(".pane-body .monaco-list-row[aria-level='2']", { hasText: MODEL.id });
  await session.first().waitFor();
  await until("one daemon more, for both folders", daemons, (count) => count === 2);
  await wide.shot("folders");
  step("a workspace of two folders shows each with its sessions, from one daemon");

  await wide.run("Developer: Show Running Extensions");
  const shown = wide.page.locator(".runtime-extensions-editor .monaco-list-row", { hasText: "ctxd: agent context" });
  const said = await until("the time of activation", () => shown.first().innerText(), (text) => /\d+ms/.test(text));
  const activated = Number(/(\d+)ms/.exec(said)?.[1]);
  assert.ok(activated <= 300, `VS Code counts ${activated} ms`);
  step(`VS Code counts ${activated} ms for loading and activating the extension`);
  await wide.close();
  await until("its daemon to leave", daemons, (count) => count === 1);
}
