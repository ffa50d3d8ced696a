// The first minute: a gauge that moves, what fills the context, a compaction looked at and made, an output read again.

import assert from "node:assert/strict";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { startAgent } from "../agents.mjs";
import { CHANGE, FILES, MODEL, RESTORED, story, textOf } from "../story.mjs";
import { tokens, until } from "../window.mjs";

export async function context(stage) {
  const { bench, window, step } = stage;
  const { gauge, page } = window;
  const agent = await startAgent(bench.ctxd, bench.folder, bench.state);
  stage.leave = () => agent.end();
  const messages = story();
  const workspace = pathToFileURL(bench.folder).href;
  const { sessionId } = await agent.request("session/open", { workspace, dialect: "anthropic", model: MODEL });
  await agent.request("session/append", { sessionId, messages: messages.slice(0, 40) });
  const first = await window.shows("a first reading", (text) => tokens(text) > 0);
  await agent.request("session/append", { sessionId, messages: messages.slice(40) });
  const second = await window.shows("the gauge to move", (text) => tokens(text) > tokens(first) + 5);
  step(`the gauge moves while another program works: ${first} → ${second}`);

  await gauge.first().click();
  await window.row("Tool outputs").waitFor();
  step("a click shows the view with categories");
  await window.shot("view-held");
  await gauge.first().hover();
  await page.getByText("written by agent").first().waitFor();
  await page.getByText(/Between [\d,]+ and [\d,]+/).first().waitFor();
  await window.shot("tooltip", { hover: true });
  step("the tooltip has the interval, and says who writes the session");

  await window.run("ctxd: Compact Context");
  await window.pick("Without a model");
  await window.toast("This session is written by agent").waitFor();
  step("a compaction of a session held elsewhere is refused with its holder");
  await agent.end();
  stage.leave = undefined;
  await window.clear();
  await until("the lock to go", () => window.row("written elsewhere").count(), (count) => count === 0);

  await plan(window, "Without a model");
  await window.line("The user's words").waitFor();
  await window.shot("plan");
  step("the plan is shown as a diff with its audit");
  assert.equal(tokens(await window.reading()), tokens(second));
  await window.toast("Frees").getByRole("button", { name: "Commit" }).click();
  const third = await window.shows("the gauge to fall", (text) => tokens(text) < tokens(second) - 5);
  step(`the commit is on the gauge: ${second} → ${third}`);
  await window.clear();

  const restored = window.row("Restored files");
  await restored.click();
  await window.row(RESTORED).waitFor();
  await window.row("Left the context").click();
  const output = window.row(FILES[0]);
  await until("the first output to be in sight", async () => {
    if (await output.count()) return true;
    await window.row("Left the context").hover();
    await page.mouse.wheel(0, 400);
    return false;
  });
  await window.shot("view");
  await output.click();
  await window.line(textOf(FILES[0]).split("\n")[0].trim()).waitFor();
  await page.locator(".codelens-decoration", { hasText: "page 1 of 1" }).waitFor();
  await window.shot("output");
  step("an evicted output opens as a read-only document");

  await window.menu(output, "Copy Handle");
  const copied = await until("the handle", () => page.evaluate(() => navigator.clipboard.readText()), Boolean);
  assert.equal(copied, "call_0");
  step("the handle of an output is copied");

  const file = page.locator(".pane-body .monaco-list-row[aria-level='3']", { hasText: RESTORED }).first();
  await until("the restored file to be in sight", async () => {
    if (await file.count()) return true;
    await output.hover();
    await page.mouse.wheel(0, -2000);
    return false;
  });
  await file.click();
  await page.locator(".tab.active", { hasText: path.basename(RESTORED) }).waitFor();
  await window.line(CHANGE).waitFor();
  step("a restored file opens as it is on disk");
  Object.assign(stage, { sessionId, full: second, compacted: third });
}

/** Plans a compaction and waits for the question whether to commit it. */
export async function plan(window, strategy) {
  await window.run("ctxd: Compact Context");
  await window.pick(strategy);
  await window.page.locator(".monaco-diff-editor").waitFor();
  await window.toast("Frees").waitFor();
}
