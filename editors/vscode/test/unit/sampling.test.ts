import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cancellation } from "../../src/client/link.js";
import { type LanguageModel, NoSummary, Sampler, sentence } from "../../src/model/sampling.js";
import { remember } from "../../src/model/tools.js";
import type { CompactionReport, SamplingCreateMessageParams, SessionInfo } from "../../src/protocol/types.js";
import { conversation, MODEL } from "../support/conversation.mjs";
import { connect, Place } from "../support/daemon.js";

const NEVER: Cancellation = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose: () => {} }) };
const ASKED = {
  messages: [{ role: "user", content: { type: "text", text: "Summarise." } }],
  maxTokens: 100,
  temperature: 0,
} as unknown as SamplingCreateMessageParams;

/** A language model that gives these pieces, or fails. */
function model(name: string, ...pieces: (string | Error)[]): LanguageModel {
  return {
    name,
    family: name,
    async *send() {
      for (const piece of pieces) {
        if (piece instanceof Error) throw piece;
        yield piece;
      }
    },
  };
}

function sampler(models: LanguageModel[], settings = { enabled: true, family: "" }): Sampler {
  return new Sampler(
    async () => models,
    () => settings,
  );
}

async function codeOf(answer: Promise<unknown>): Promise<number | undefined> {
  return answer.then(
    () => undefined,
    (error: unknown) => (error instanceof NoSummary ? error.code : 0),
  );
}

test("the pieces of a model's answer are one text, of the family that was chosen", async () => {
  const chosen = sampler([model("a", "no"), model("b", "one ", "two")], { enabled: true, family: "b" });
  assert.deepEqual((await chosen.answer(ASKED, NEVER)).content, { type: "text", text: "one two" });
  assert.equal(sentence(chosen.standing), "Summaries: written by b.");
});

test("no model, a refusal and a failure are told apart to the daemon and said to the person", async () => {
  const none = sampler([]);
  assert.equal(await codeOf(none.answer(ASKED, NEVER)), -32601);
  assert.match(sentence(none.standing), /no language model is available/);
  const refusing = sampler([model("a", Object.assign(new Error("no"), { code: "NoPermissions" }))]);
  assert.equal(await codeOf(refusing.answer(ASKED, NEVER)), -1);
  assert.match(sentence(refusing.standing), /may not be used/);
  const failing = sampler([model("a", "begun", new Error("broke"))]);
  assert.equal(await codeOf(failing.answer(ASKED, NEVER)), -32603);
  assert.match(sentence(failing.standing), /failed/);
  const off = sampler([model("a", "x")], { enabled: false, family: "" });
  assert.equal(off.standing.kind, "off");
  assert.equal(await codeOf(off.answer(ASKED, NEVER)), -32601);
});

test("what the daemon cancels stops between two pieces", async () => {
  const cancelled = { ...NEVER, isCancellationRequested: true };
  assert.equal(await codeOf(sampler([model("a", "one", "two")]).answer(ASKED, cancelled)), -32800);
});

for (const [name, models, attempts] of [
  ["is asked by the daemon and its words are judged", [model("scripted", "This is no summary.")], 1],
  ["that is missing leaves the compaction to be made without one", [], 0],
] as const) {
  test(`a model ${name}`, async () => {
    const place = new Place();
    const answering = sampler([...models]);
    const link = await connect(place, { handlers: { sample: (params, token) => answering.answer(params, token) } });
    const { sessionId } = (await link.request("session/open", {
      workspace: place.uri,
      dialect: "anthropic",
      model: MODEL,
    })) as SessionInfo;
    await link.request("session/append", { sessionId, messages: conversation(20) });
    const report = (await link.request("context/compact", {
      sessionId,
      strategy: "model",
      dryRun: true,
    })) as CompactionReport;
    assert.equal(report.outcome, "planned");
    assert.equal(report.strategy, "deterministic");
    assert.equal(answering.standing.kind, attempts ? "answered" : "noModel");
    await link.end();
  });
}

test("memory is read by topic, by words, or as an index", async () => {
  const asked: string[] = [];
  let framed: object = {};
  const send = async (method: string): Promise<unknown> => {
    asked.push(method);
    if (method === "memory/search") return { hits: [{ name: "build", text: "use make" }], ...framed };
    return { text: `text of ${method}` };
  };
  assert.equal(await remember(send, "file:///w", { topic: "build" }), "text of memory/read");
  assert.equal(await remember(send, "file:///w", { query: "make" }), "build: use make");
  assert.equal(await remember(send, "file:///w", {}), "text of memory/index");
  framed = { text: "[Background] use make" };
  assert.equal(await remember(send, "file:///w", { query: "make" }), "[Background] use make");
  assert.deepEqual(asked, ["memory/read", "memory/search", "memory/index", "memory/search"]);
});
