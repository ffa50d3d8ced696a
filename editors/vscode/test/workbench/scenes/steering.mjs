// What a person does with a session: pin, let go, take back, copy, export, look into memory.

import assert from "node:assert/strict";
import { tokens, until } from "../window.mjs";

export async function steering(stage) {
  const { bench, window, step, compacted, full } = stage;
  const { page } = window;
  await window.clear();

  await window.open("shop/money.py");
  await window.line("money.add(Line(0,").click();
  await page.keyboard.press("Home");
  await page.keyboard.press("Shift+End");
  await window.run("ctxd: Pin the Selection");
  await window.toast(/Pinned: \d+ tokens; [\d,]+ are left for pins/).waitFor();
  await window.clear();
  await window.run("View: Show Agent Context");
  await window.row("Pins").click();
  const pin = window.row("shop/money.py:1");
  await pin.waitFor();
  await window.shot("pins");
  step("the selection is pinned and stands in the view with its place");

  await pin.hover();
  await pin.locator(".action-label[aria-label*='Unpin']").click();
  await until("the pin to go", () => window.row("Pins").count(), (count) => count === 0);
  step("a pin is let go from the view");

  await window.run("ctxd: Undo the Last Compaction");
  await window.shows("the view before", (text) => tokens(text) === tokens(full));
  await window.toast("The view before the compaction is back").waitFor();
  step(`undo brings the view back: ${compacted} → ${tokens(full)}k`);
  await window.clear();

  await window.run("ctxd: Fork the Session");
  await window.toast("Forked. The gauge shows the new session.").waitFor();
  const sessions = page.locator(".pane-body .monaco-list-row[aria-level='1']");
  await until("two sessions in the view", () => sessions.count(), (count) => count === 2);
  assert.equal(tokens(await window.reading()), tokens(full));
  await window.shot("fork");
  step("a fork has the same past, and is the one of the gauge");
  await window.clear();

  await window.run("ctxd: Choose the Session of the Gauge");
  await window.entry("in the gauge").waitFor();
  await window.page.locator(".quick-input-list .monaco-list-row").filter({ hasNotText: "in the gauge" }).first().click();
  await until("the other session in the gauge", async () =>
    (await sessions.nth(1).innerText()).includes("in the gauge"),
  );
  step("the session of the gauge is chosen");

  await window.run("ctxd: Export the Session");
  await window.pick("Markdown");
  await window.line("Refunds of split orders come out wrong by a cent").waitFor();
  await window.shot("export");
  // Unsaved, it would be asked about when it is closed.
  await window.run("View: Revert and Close Editor");
  step("a session is exported as Markdown");

  await window.run("ctxd: Open Output");
  await window.entry("Read").waitFor();
  await window.input.fill("ledger");
  await window.pick("shop/ledger.py");
  await window.line("ledger.add(Line(0,").waitFor();
  step("any output opens from the palette");

  await window.run("Consumer: Write Memory");
  assert.deepEqual((await bench.written("remember.json")).error, undefined);
  await window.run("ctxd: Show Memory");
  await window.entry("refunds").click();
  await window.line("Refunds are off by one cent").waitFor();
  step("memory of the workspace opens from the palette");
}
