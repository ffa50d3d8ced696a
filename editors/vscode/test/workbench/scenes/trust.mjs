// A workspace that is not trusted yet: nothing is started in it, and it says so.

import assert from "node:assert/strict";
import { daemonsBelow } from "../agents.mjs";
import { until } from "../window.mjs";

export async function trust({ bench, window, step }) {
  const { gauge } = window;
  const isAsking = window.welcome("The daemon starts once you trust this workspace");
  await gauge.first().waitFor();
  assert.match(await gauge.first().getAttribute("aria-label"), /not trusted/);
  await gauge.first().click();
  await isAsking.waitFor();
  await window.shot("untrusted");
  assert.deepEqual(daemonsBelow(bench.server.pid), []);
  assert.doesNotMatch(bench.log(), /starting/);
  step("an untrusted workspace says that nothing is started, and nothing is");

  await trustIt(window);
  await isAsking.waitFor({ state: "detached" });
  await window.shows("a running daemon", /^ctxd$/);
  assert.equal(daemonsBelow(bench.server.pid).length, 1);
  await window.welcome("No agent session in this workspace yet").waitFor();
  await window.shot("empty");
  step("once it is trusted the daemon starts, and the gauge and the view say that there is no session yet");
}

/** Trusts the folders of the window, from the view, and closes the page on which that is done. */
export async function trustIt(window) {
  await window.page.locator(".welcome-view-content .monaco-button", { hasText: "Manage Workspace Trust" }).click();
  const editor = window.page.locator(".workspace-trust-editor");
  await editor.locator(".monaco-button", { hasText: /^Trust/ }).first().click();
  await editor.getByText("You trust").first().waitFor();
  await until("the page of trust to close", async () => {
    await window.page.keyboard.press("Control+W");
    return (await editor.count()) === 0;
  });
}
