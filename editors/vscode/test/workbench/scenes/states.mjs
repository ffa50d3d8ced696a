// What can go wrong with the daemon: killed, locked by another window, missing, too old, ending over and over.

import assert from "node:assert/strict";
import { daemonsBelow } from "../agents.mjs";
import { tokens, until } from "../window.mjs";
import { plan } from "./context.mjs";

export async function states(stage) {
  const { bench, window, step, full } = stage;
  const { gauge, page } = window;
  const daemons = () => daemonsBelow(bench.server.pid);
  const isBack = (text) => tokens(text) === tokens(full);
  await window.run("View: Close All Editors");
  await window.run("View: Show Agent Context");
  await window.clear();

  const [daemon] = daemons();
  assert.ok(daemon);
  process.kill(daemon, "SIGKILL");
  const [next] = await until("another daemon", daemons, (pids) => pids.length === 1 && pids[0] !== daemon);
  await window.shows("the gauge again", isBack);
  step(`a killed daemon comes back with the session: process ${daemon} → ${next}`);

  const other = await bench.window();
  await other.shows("the gauge of the other window", isBack);
  await plan(window, "Without a model");
  await other.gauge.first().click();
  await other.row("written elsewhere").waitFor();
  await other.run("ctxd: Choose the Session of the Gauge");
  await other.pick("written elsewhere");
  await other.gauge.first().locator(".codicon-lock").waitFor();
  assert.match(await other.gauge.first().getAttribute("aria-label"), /Read-only here: written by .+ \(process \d+/);
  await other.shot("locked");
  await other.run("ctxd: Undo the Last Compaction");
  await other.toast(/This session is written by .+ Fork it to work on a copy/).waitFor();
  step("a session that another window writes is locked here, and says by whom");
  await window.toast("Frees").getByRole("button", { name: "Discard" }).click();
  await until("the lock to go", () => other.row("written elsewhere").count(), (count) => count === 0);
  assert.equal(daemons().length, 2);
  await other.close();
  await until("the other window's daemon to leave", daemons, (pids) => pids.length === 1);
  step("the lock goes with the plan, and the daemon with its window");

  await window.run("Consumer: Trace");
  await until("a traced message", () => /Sending request 'session\/list/.test(bench.log()));
  await window.run("Consumer: Stop Tracing");
  await bench.written("untrace.json");
  step("the trace setting writes the messages into the log");
  await window.run("ctxd: Show Log");
  await page.locator(".panel .view-line", { hasText: "[info]" }).first().waitFor();
  await window.run("View: Hide Panel");
  step("the log opens");

  const [before] = daemons();
  await window.run("ctxd: Restart the Daemon");
  await until("a new daemon", daemons, (pids) => pids.length === 1 && pids[0] !== before);
  await window.shows("the gauge after the restart", isBack);
  step("the daemon is restarted by command");

  bench.command.remove();
  await window.run("ctxd: Restart the Daemon");
  await window.shows("the missing daemon", /not found/);
  await window.toast("pip install ctxd-server").waitFor();
  await window.welcome("One command brings it").waitFor();
  await window.shot("missing");
  bench.command.mend();
  await again(window, "Look Again", isBack);
  step("a missing daemon is told with the command to run, and found once it is there");

  bench.command.age();
  await window.run("ctxd: Restart the Daemon");
  await window.shows("the old daemon", /too old/);
  await window.toast("pip install --upgrade ctxd-server").waitFor();
  await window.welcome("does not speak this extension's protocol").waitFor();
  await window.shot("too-old");
  bench.command.mend();
  await again(window, "Look Again", isBack);
  step("a daemon of another protocol is told with the command to run");

  bench.command.crash();
  await window.run("ctxd: Restart the Daemon");
  await window.shows("the daemon to be tried again", /ctxd ended/);
  await window.shows("the end of trying", /keeps ending/);
  await window.toast("keeps ending").waitFor();
  await window.welcome("The daemon keeps ending").waitFor();
  await window.shot("crash-loop");
  assert.equal(await page.locator(".notification-toast").count(), 1);
  assert.equal(await gauge.first().evaluate((item) => item.classList.contains("has-background-color")), true);
  bench.command.mend();
  await again(window, "Start Again", isBack);
  step("a daemon that ends over and over is left alone, says so, and is started when asked");
}

/** Presses a button of the view, and waits for the gauge. */
async function again(window, button, isBack) {
  await window.page.locator(".welcome-view-content .monaco-button", { hasText: button }).click();
  await window.shows("the gauge once more", isBack);
  await window.clear();
}
