import assert from "node:assert/strict";
import * as path from "node:path";
import { test } from "node:test";
import { replay, ReplayFailed } from "../../src/client/replaying.js";
import { roleOf, textOf } from "../../src/model/native.js";
import { gather } from "../../src/model/options.js";
import { describe as inWords, layOut, summarize } from "../../src/model/timeline.js";
import { ago, nickname, percent, short, size } from "../../src/model/words.js";
import { COMMAND } from "../support/daemon.js";

const SAMPLE = path.resolve(__dirname, "../../../../ctxd/importers/samples/session.jsonl");

test("a replay becomes a chart inside its plot, with a mark for every compaction and a sentence for every request", async () => {
  const report = await replay({
    command: COMMAND,
    file: SAMPLE,
    windows: [60_000],
    signal: AbortSignal.timeout(50_000),
  });
  const run = report.files[0]?.managed[0];
  assert.ok(run);
  const plot = { left: 40, top: 10, width: 500, height: 200 };
  const chart = layOut(run, plot, report.files[0]?.recorded ?? []);
  assert.equal(chart.points.length, 34);
  for (const { x, y } of chart.points) assert.ok(x >= 40 && x <= 540 && y >= 10 && y <= 210);
  assert.equal(chart.marks.filter((mark) => mark.kind === "compaction").length, run.compactions.length);
  assert.deepEqual(
    chart.thresholds.map(({ name }) => name),
    ["Window", "Compaction", "Handoff"],
  );
  assert.deepEqual(
    [...chart.thresholds].sort((a, b) => a.y - b.y),
    chart.thresholds,
  );
  assert.equal(chart.ticks[0]?.label, "0");
  assert.equal(
    chart.recorded.match(/[ML]/g)?.length,
    report.files[0]?.recorded.filter(({ reported }) => reported <= 60_000).length,
  );
  const at = run.timeline.findIndex((moment) => moment.compacted);
  assert.match(
    inWords(run, at),
    /^Request \d+ of 34: [\d,]+ tokens, \d+% of the window; foreseen .*; compacted before it, [\d,]+ to [\d,]+ tokens\. Line \d+\.$/,
  );
  assert.match(summarize(run), /^34 requests, .*come back byte for byte; no fault\.$/);
});

test("a file that is no transcript fails with the command's own words", async () => {
  const request = {
    command: COMMAND,
    file: path.resolve(__dirname, "../../package.json"),
    windows: [60_000],
    signal: AbortSignal.timeout(50_000),
  };
  await assert.rejects(
    replay(request),
    (error) => error instanceof ReplayFailed && /served: sessions of Claude Code/.test(error.message),
  );
});

test("a chart of one request, or none, has no broken path", () => {
  const run = {
    window: 1000,
    requests: 0,
    largest: 0,
    elisions: 0,
    compactions: [],
    outputs: { outputs: 0, evicted: 0, recovered: 0, lost: [] },
    violations: [],
    overflows: [],
    thresholds: null,
    timeline: [],
  };
  const chart = layOut(run, { left: 0, top: 0, width: 100, height: 100 }, []);
  assert.deepEqual([chart.line, chart.area, chart.interval, chart.points], ["", "", "", []]);
  assert.equal(inWords(run, 0), "");
});

test("only options that somebody set are sent, nested as the wire has them", () => {
  const set: Record<string, unknown> = {
    "ctxd.budget.compactionRatio": 0.9,
    "ctxd.summarizer.use": "none",
    "ctxd.path": "/x",
  };
  assert.deepEqual(
    gather((name) => set[name]),
    { budget: { compactionRatio: 0.9 }, summarizer: { use: "none" } },
  );
});

for (const [dialect, message, expected] of [
  [
    "anthropic",
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "a" },
        { type: "tool_use", name: "Read", input: { p: 1 } },
      ],
    },
    '(thinking) hm\na\n→ Read {"p":1}',
  ],
  [
    "anthropic result",
    { role: "user", content: [{ type: "tool_result", content: [{ type: "text", text: "out" }] }] },
    "→ result\nout",
  ],
  [
    "openai-chat",
    { role: "assistant", content: null, tool_calls: [{ function: { name: "ls", arguments: "{}" } }] },
    "→ ls {}",
  ],
  ["openai-responses", { type: "function_call", name: "ls", arguments: "{}" }, "→ ls {}"],
  ["openai-responses output", { type: "function_call_output", output: "out" }, "out"],
  [
    "gemini",
    { role: "model", parts: [{ text: "t", thought: true }, { functionCall: { name: "ls", args: { a: 1 } } }] },
    '(thinking) t\n→ ls {"a":1}',
  ],
  [
    "gemini result",
    { role: "user", parts: [{ functionResponse: { name: "ls", response: { output: "x" } } }] },
    '→ result\n{"output":"x"}',
  ],
  ["an image", { role: "user", content: [{ type: "image", source: {} }] }, "(image)"],
] as const) {
  test(`a message of ${dialect} is readable`, () => {
    assert.equal(textOf(message as never), expected);
    const isResult = /result|output/.test(dialect);
    assert.equal(roleOf(message as never) === "tool", isResult);
  });
}

test("numbers and times read as people write them", () => {
  assert.deepEqual([0, 999, 1000, 84_512, 200_000, 999_400, 1_200_000].map(short), [
    "0",
    "999",
    "1k",
    "84.5k",
    "200k",
    "999k",
    "1.2M",
  ]);
  assert.deepEqual([12, 2048, 5_000_000].map(size), ["12 B", "2.0 KB", "4.8 MB"]);
  assert.deepEqual([percent(1, 3), percent(1, 1000), percent(0, 9)], ["33%", "<1%", "0%"]);
  assert.deepEqual(
    [ago(0, 59_000), ago(0, 240_000), ago(0, 7_200_000), ago(0, 1e9)],
    ["just now", "4 min ago", "2 h ago", "1970-01-01"],
  );
  assert.deepEqual([nickname("s_b8b39337d6e74516bab7"), nickname("my-run")], ["b8b39337", "my-run"]);
});
