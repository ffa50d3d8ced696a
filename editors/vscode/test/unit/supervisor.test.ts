import assert from "node:assert/strict";
import { test } from "node:test";
import { faultOf } from "../../src/client/link.js";
import { NotRunning, PAUSES } from "../../src/client/supervisor.js";
import { gaugeOf } from "../../src/model/gauge.js";
import { conversation, MODEL } from "../support/conversation.mjs";
import { connect, Place, Stage } from "../support/daemon.js";

/** A program that answers `initialize` with the given part of ours, and nothing else. */
function impostor(ours: object | undefined): { command: string; args: string[] } {
  const result = JSON.stringify({
    capabilities: ours ? { experimental: { ctxd: ours } } : {},
    serverInfo: { name: "ctxd", version: "9.9.9" },
  });
  const script = `
    let text = "";
    process.stdin.on("data", (chunk) => {
      text += chunk;
      const id = /"id":(\\d+)/.exec(text)?.[1];
      if (!id) return;
      const body = '{"jsonrpc":"2.0","id":' + id + ',"result":${result.replaceAll("'", "\\'")}}';
      process.stdout.write("Content-Length: " + Buffer.byteLength(body) + "\\r\\n\\r\\n" + body);
      text = "";
      if (/"exit"/.test(chunk)) process.exit(0);
    });`;
  return { command: process.execPath, args: ["-e", script] };
}

test("a killed daemon is started again and its sessions are open again as they were", async () => {
  const place = new Place();
  const stage = new Stage({}, place);
  await stage.supervisor.start();
  const { sessionId } = await stage.supervisor.request("session/open", {
    workspace: place.uri,
    dialect: "anthropic",
    model: MODEL,
  });
  await stage.supervisor.request("session/append", { sessionId, messages: conversation(1) as never });
  const before = await stage.supervisor.request("context/project", { sessionId });
  const waiting = stage.reach("waiting");
  stage.links[0]?.child.kill("SIGKILL");
  assert.equal((await waiting).reason, "signal SIGKILL");
  await assert.rejects(stage.supervisor.request("context/project", { sessionId }), NotRunning);
  await stage.reach("running");
  const found = await stage.supervisor.request("context/project", { sessionId });
  assert.equal(found.fingerprint, before.fingerprint);
  const health = await stage.supervisor.request("session/health", { sessionId });
  assert.equal(health.access, "write");
  assert.deepEqual(stage.pauses, [PAUSES[0]]);
  await stage.supervisor.stop();
});

test("a daemon that ends over and over is left alone until somebody asks, with growing pauses before that", async () => {
  const stage = new Stage({ locate: async () => ({ command: "/bin/false" }) });
  await stage.supervisor.start();
  const state = await stage.reach("crashLoop");
  assert.equal(state.ends, PAUSES.length + 1);
  assert.deepEqual(stage.pauses, PAUSES);
  const gauge = gaugeOf(state, undefined, "");
  assert.equal(gauge.severity, "error");
  assert.match(gauge.text, /keeps ending/);
  stage.pauses = [];
  await stage.supervisor.restart();
  await stage.reach("crashLoop");
  assert.deepEqual(stage.pauses, PAUSES);
});

test("a missing daemon is told with the one command to run, and nothing is started", async () => {
  const stage = new Stage({ locate: async () => ({ tried: ["/w/.venv/bin/ctxd", "/usr/bin/ctxd"] }) });
  await stage.supervisor.start();
  const gauge = gaugeOf(stage.supervisor.state, undefined, "");
  assert.match(gauge.tooltip, /`pip install ctxd-server`[\s\S]*\/usr\/bin\/ctxd/);
  assert.deepEqual([stage.links.length, gauge.severity], [0, "error"]);
});

for (const [name, ours, kind] of [
  ["speaks an older protocol", { protocolVersion: 0, methods: [] }, "tooOld"],
  ["is another program of that name", undefined, "tooOld"],
  ["lacks a method that is needed", { protocolVersion: 1, methods: ["session/list"] }, "tooOld"],
  ["speaks a newer protocol", { protocolVersion: 2, methods: [] }, "tooNew"],
] as const) {
  test(`a daemon that ${name} is ${kind}`, async () => {
    const place = new Place();
    const stage = new Stage({ connect: () => connect(place, impostor(ours)) });
    await stage.supervisor.start();
    assert.equal(stage.supervisor.state.kind, kind);
    assert.match(
      gaugeOf(stage.supervisor.state, undefined, "").tooltip,
      kind === "tooOld" ? /--upgrade/ : /Update the extension/,
    );
  });
}

test("an untrusted workspace starts nothing until it is trusted", async () => {
  let trusted = false;
  const stage = new Stage({ obstacle: () => (trusted ? undefined : "untrusted") });
  await stage.supervisor.start();
  assert.equal(stage.states.at(-1)?.kind, "untrusted");
  assert.match(gaugeOf(stage.supervisor.state, undefined, "").tooltip, /not trusted/);
  assert.equal(stage.links.length, 0);
  trusted = true;
  await stage.supervisor.restart();
  assert.equal(stage.states.at(-1)?.kind, "running");
  await stage.supervisor.stop();
  assert.equal(stage.states.at(-1)?.kind, "stopped");
});

test("a setting that the daemon refuses is named, and is no crash", async () => {
  const stage = new Stage({}, new Place(), { options: { budget: { compactionRatio: 7 } } });
  await stage.supervisor.start();
  const { state } = stage.supervisor;
  assert.equal(state.kind, "misconfigured");
  assert.match(gaugeOf(state, undefined, "").tooltip, /budget\.compactionRatio/);
  assert.deepEqual(stage.pauses, []);
});

test("methods are known by the list of initialize, and an error keeps its kind", async () => {
  const place = new Place();
  const stage = new Stage({}, place);
  await stage.supervisor.start();
  assert.equal(stage.supervisor.has("context/compact"), true);
  assert.equal(stage.supervisor.has("no/such"), false);
  await assert.rejects(
    stage.supervisor.request("context/project", { sessionId: "s_none" }),
    (error) => faultOf(error)?.kind === "sessionNotFound",
  );
  await stage.supervisor.stop();
});
