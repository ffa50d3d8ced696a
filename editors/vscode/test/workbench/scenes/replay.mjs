// A transcript as a timeline: by mouse, by keys, for a screen reader, in every theme, wide and narrow.

import assert from "node:assert/strict";
import { until } from "../window.mjs";

export async function replay({ window, step }) {
  const { page } = window;
  const inner = window.webview();
  await window.clear();
  await window.run("View: Close All Editors");
  await window.run("View: Show Explorer");
  await window.menu(page.locator(".explorer-folders-view .monaco-list-row", { hasText: "session.jsonl" }), "Replay Transcript");
  const chart = inner.locator(".figure svg").first();
  const readout = inner.locator(".readout").first();
  await chart.waitFor();
  await chart.focus();
  await page.keyboard.press("PageDown");
  assert.match(await readout.innerText(), /^Request \d+ of 34: .*compacted before it/);
  const at = Number(/\d+/.exec(await readout.innerText())?.[0]);
  await page.keyboard.press("ArrowLeft");
  assert.match(await readout.innerText(), new RegExp(`^Request ${at - 1} of 34`));
  await page.keyboard.press("End");
  assert.match(await readout.innerText(), /^Request 34 of 34/);
  await page.keyboard.press("PageUp");
  assert.match(await chart.getAttribute("aria-label"), /size of each request\. Arrow keys move/);
  assert.equal(await readout.getAttribute("aria-live"), "polite");
  await window.shot("timeline-dark");
  step("the timeline is drawn, walked by keys, and each request is read out");

  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  const rows = inner.locator("tbody").first().locator("tr");
  await rows.first().waitFor();
  assert.equal(await rows.count(), 34);
  assert.equal(await inner.locator("th[scope=row]").count(), 68);
  await page.keyboard.press("Enter");
  step("the same numbers are a table, opened by key");

  const blocked = await inner.locator("body").evaluate(async () => {
    const outside = await fetch("data:text/plain,x").then(
      () => false,
      () => true,
    );
    const script = document.createElement("script");
    script.textContent = "window.injected = true";
    document.body.append(script);
    const style = document.createElement("style");
    style.textContent = "body { outline: 3px solid red }";
    document.body.append(style);
    const found = { outside, script: window.injected !== true, style: getComputedStyle(document.body).outlineStyle };
    script.remove();
    style.remove();
    return found;
  });
  assert.deepEqual(blocked, { outside: true, script: true, style: "none" });
  step("the page may load nothing and run nothing but its own");

  for (const [theme, kind, name] of [
    ["Light Modern", "vscode-light", "timeline-light"],
    ["Dark High Contrast", "vscode-high-contrast", "timeline-contrast"],
    ["Dark Modern", "vscode-dark", "timeline-narrow"],
  ]) {
    await window.theme(theme);
    await until(`the theme ${theme}`, () => inner.locator(`body.${kind}`).count());
    await window.clear();
    if (name === "timeline-narrow") await page.setViewportSize({ width: 620, height: 800 });
    await until("the chart to fit", () => chart.evaluate((svg) => svg.clientWidth === svg.parentElement?.clientWidth));
    assert.ok(await inner.locator("main").evaluate((main) => main.scrollWidth <= main.clientWidth));
    await window.shot(name);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  step("light, high contrast and narrow keep it, without a scroll bar below");
}
