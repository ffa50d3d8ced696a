import assert from "node:assert/strict";
import { test } from "node:test";
import type { State } from "../../src/client/supervisor.js";
import { gaugeOf } from "../../src/model/gauge.js";
import { refusalOf } from "../../src/model/plan.js";
import type { Watched } from "../../src/model/sessions.js";
import { childrenOf, faceOf, heldBy, type Node } from "../../src/model/tree.js";
import type { CompactionReport, ContextPinsResult, Projection } from "../../src/protocol/types.js";

const RUNNING: State = { kind: "running", version: "0.1.0", command: "/bin/ctxd" };

/** A session as the daemon tells it, with what a test changes. */
function watched(
  info: Partial<Watched["info"]> = {},
  projection: Partial<Projection> = {},
  rest: Partial<Watched> = {},
): Watched {
  return {
    info: {
      sessionId: "s_1234567890abcdef1234",
      workspace: "file:///w",
      dialect: "anthropic",
      window: { value: 200_000, source: "host" },
      revision: 1,
      epoch: 0,
      generation: 0,
      access: "readOnly",
      durable: true,
      createdAt: 0,
      updatedAt: 0,
      ...info,
    },
    projection: {
      tokens: 150_000,
      low: 149_000,
      high: 151_500,
      source: "provider_plus_estimate",
      phase: "handoff_band",
      window: 200_000,
      reserve: 16_000,
      availableForInput: 184_000,
      handoffThreshold: 128_800,
      compactionThreshold: 147_200,
      floor: 9000,
      reachable: true,
      bytes: { value: 1 },
      fingerprint: "",
      revision: 1,
      generation: 0,
      ...projection,
    },
    ...rest,
  };
}

test("a session that is well is shown without a warning", () => {
  const gauge = gaugeOf(RUNNING, watched(), "");
  assert.deepEqual([gauge.text, gauge.severity], ["$(color-mode) 150k/200k handoff", "none"]);
  assert.match(gauge.spoken, /150,000 of 200,000 tokens, in the handoff band/);
});

test("a session that is not durable warns on the gauge and in the view", () => {
  const gauge = gaugeOf(RUNNING, watched({ durable: false }), "");
  assert.deepEqual([gauge.severity, gauge.text.endsWith("$(warning)")], ["warning", true]);
  assert.match(gauge.tooltip, /disk refuses new events/);
  const face = faceOf({ kind: "session", watched: watched({ durable: false }), active: false }, 0);
  assert.match(face.description, /not durable/);
  assert.equal(face.color, "list.warningForeground");
});

test("a session that another window holds shows a lock and who it is, in both places", () => {
  const holder = { pid: 7, host: "desk", start: "", client: "Visual Studio Code 1.139" };
  const gauge = gaugeOf(RUNNING, watched({ holder }), "");
  assert.deepEqual([gauge.severity, gauge.text.endsWith("$(lock)")], ["warning", true]);
  assert.match(gauge.tooltip, /written by Visual Studio Code 1\.139 \(process 7 on desk\)/);
  const face = faceOf({ kind: "session", watched: watched({ holder }), active: true }, 0);
  assert.equal(face.icon, "lock");
  assert.match(face.spoken, /^\d+%.*, written elsewhere · /);
});

test("the session of the gauge is named where there are others, before what a narrow view cuts off", () => {
  const described = (several: boolean): string =>
    faceOf({ kind: "session", watched: watched(), active: true, several }, 0).description;
  assert.equal(described(true), "in the gauge · anthropic 12345678");
  assert.equal(described(false), "anthropic 12345678");
});

test("restored files stand under their category, and pins in one place", () => {
  const category = (name: string): object => ({ name, tokens: 10, bytes: 40 });
  const found = { tokens: 30, categories: ["restoredFiles", "pin", "user"].map(category), items: [] };
  const compaction = { restoredFiles: [{ path: "a.py", bytes: 3, changed: true }] } as unknown as CompactionReport;
  const pins = { pins: [{ pinId: "p", tokens: 8, text: "Never push." }], tokens: 8, budget: 100 };
  const seen = watched({}, {}, { compaction });
  const nodes = childrenOf(seen, found as unknown as Projection, [], pins as unknown as ContextPinsResult);
  assert.deepEqual(
    nodes.map((node) => faceOf(node, 0).label),
    ["Restored files", "User", "Pins"],
  );
  const files = heldBy(nodes[0] as Node) ?? [];
  assert.deepEqual(
    files.map((node) => [faceOf(node, 0).label, faceOf(node, 0).description]),
    [["a.py", "changed since it was read"]],
  );
});

test("a damaged log, one that cannot be read, and a floor above the threshold are each said", () => {
  assert.match(gaugeOf(RUNNING, watched({}, {}, { health: "damaged" }), "").tooltip, /cannot be read/);
  const broken = { ...watched({}, {}, { trouble: "damaged: segment 3" }), projection: undefined };
  assert.match(gaugeOf(RUNNING, broken, "").text, /unreadable/);
  assert.match(faceOf({ kind: "session", watched: broken, active: false }, 0).description, /cannot be read/);
  assert.match(gaugeOf(RUNNING, watched({}, { reachable: false }), "").tooltip, /above the threshold/);
});

test("without a window the tokens stand alone", () => {
  const gauge = gaugeOf(
    RUNNING,
    watched({}, { window: null, phase: "unknown", handoffThreshold: null, compactionThreshold: null }),
    "",
  );
  assert.equal(gauge.text, "$(question) 150k unknown");
});

test("no folder, no session and the daemon's own states each have words", () => {
  assert.match(gaugeOf({ kind: "noFolder" }, undefined, "").tooltip, /Open a folder/);
  assert.match(gaugeOf(RUNNING, undefined, "").tooltip, /No agent session/);
  assert.match(gaugeOf({ kind: "starting" }, undefined, "").text, /sync~spin/);
  assert.match(gaugeOf({ kind: "stopped" }, undefined, "").tooltip, /stopped/);
  const waiting = gaugeOf({ kind: "waiting", reason: "signal SIGKILL", attempt: 2, pause: 1000 }, undefined, "");
  assert.match(waiting.tooltip, /signal SIGKILL.*1 s, attempt 2/);
  assert.equal(waiting.severity, "warning");
});

test("what cannot be compacted says why", () => {
  const report = (given: Partial<CompactionReport>): CompactionReport =>
    ({ floor: 9000, target: 5000, ...given }) as CompactionReport;
  assert.match(refusalOf(report({ outcome: "noop" })) ?? "", /nothing to compact/);
  assert.match(refusalOf(report({ outcome: "blocked" })) ?? "", /hook refused/);
  assert.match(refusalOf(report({ outcome: "cannotReach" })) ?? "", /9,000 tokens cannot be compacted, 5,000/);
  assert.match(refusalOf(report({ outcome: "failed", failureReason: "noSampler" })) ?? "", /noSampler/);
  assert.equal(refusalOf(report({ outcome: "planned" })), undefined);
});
