// Summaries by VS Code's language models: none there, refused, allowed, cancelled; and the tools for its agents.

import assert from "node:assert/strict";
import { textOf, FILES } from "../story.mjs";
import { until } from "../window.mjs";

export async function models(stage) {
  const { bench, window, step } = stage;
  const { page } = window;
  const told = (text) => page.locator(".tree-explorer-viewlet-tree-view .message, .pane-body .message", { hasText: text });
  await window.run("View: Show Agent Context");
  await window.clear();

  await summarise(window);
  await told("no language model is available").first().waitFor();
  await window.shot("no-model");
  await discard(window);
  step("without a language model the plan is made all the same, and the view says so");

  await window.run("Consumer: Offer a Model");
  assert.deepEqual(await bench.written("offer.json"), { models: 1 });
  const dialog = page.locator(".monaco-dialog-box", { hasText: "language model" });
  await summarise(window, () => answer(dialog, "Cancel"));
  await told("may not be used").first().waitFor();
  await discard(window);
  step("a model that the person does not allow is not asked, and the view says so");

  await summarise(window, () => answer(dialog, "Allow"));
  await until("the word of caution to go", () => told("Summaries:").count(), (count) => count === 0);
  await discard(window);
  step("a model that is allowed is asked for the summary");

  await window.run("Consumer: Answer No More");
  await bench.written("slow.json");
  await window.run("ctxd: Compact Context");
  await window.pick("Summary by a model");
  const planning = window.toast("Planning the compaction");
  await planning.waitFor();
  await bench.written("waiting.json");
  await planning.getByRole("button", { name: "Cancel" }).click();
  assert.ok((await bench.written("cancelled.json")).asked >= 2);
  await planning.waitFor({ state: "detached" });
  assert.equal(await page.locator(".monaco-diff-editor").count(), 0);
  assert.equal(await page.locator(".notification-toast").count(), 0);
  step("cancelling reaches the model, and changes nothing");

  await window.run("Consumer: Use ctxd");
  const used = await bench.written("use.json");
  assert.equal(used.error, undefined);
  assert.equal(used.sessions, 2);
  assert.deepEqual(used.tools.sort(), ["ctxd_memory", "ctxd_recall"]);
  assert.ok(used.recall.startsWith(textOf(FILES[0])));
  assert.match(used.search, /handle call_4/);
  assert.match(used.memory, /off by one cent/);
  step("both tools are there for agents and answer, and getClient() serves another extension");
}

/** Asks for a plan with a summary by a model, and waits for it; `meanwhile` is done over and over. */
async function summarise(window, meanwhile = async () => {}) {
  await window.run("ctxd: Compact Context");
  await window.pick("Summary by a model");
  await until("the plan", async () => {
    await meanwhile();
    return window.toast("Frees").count();
  });
}

async function answer(dialog, name) {
  if (await dialog.count()) await dialog.getByRole("button", { name }).click();
}

async function discard(window) {
  await window.toast("Frees").getByRole("button", { name: "Discard" }).click();
  await window.page.locator(".monaco-diff-editor").waitFor({ state: "detached" });
}
