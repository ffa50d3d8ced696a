import assert from "node:assert/strict";
import { test } from "node:test";
import { gaugeOf } from "../../src/model/gauge.js";
import { HeldElsewhere, Sessions } from "../../src/model/sessions.js";
import { childrenOf, faceOf, handleOf, heldBy } from "../../src/model/tree.js";
import { compare, refusalOf } from "../../src/model/plan.js";
import { addressParts, caption, fetchParams, parseAddress, render } from "../../src/model/output.js";
import { recall } from "../../src/model/tools.js";
import type { Projection, SessionInfo } from "../../src/protocol/types.js";
import { connect, Place, type Started, Stage } from "../support/daemon.js";
import { conversation, MODEL } from "../support/conversation.mjs";

/** A window on a place where another process, an agent's, writes a session. */
async function scene(
  turns: number,
): Promise<{ place: Place; agent: Started; stage: Stage; sessions: Sessions; sessionId: string }> {
  const place = new Place();
  const agent = await connect(place, { client: "agent" });
  const { sessionId } = (await agent.request("session/open", {
    workspace: place.uri,
    dialect: "anthropic",
    model: MODEL,
  })) as SessionInfo;
  await agent.request("session/append", { sessionId, messages: conversation(turns) });
  const stage = new Stage({}, place);
  await stage.supervisor.start();
  const sessions = new Sessions(stage.supervisor, () => [place.uri]);
  await sessions.refresh();
  return { place, agent, stage, sessions, sessionId };
}

test("the gauge moves with a session that another process writes, and says who", async () => {
  const { agent, stage, sessions, sessionId } = await scene(2);
  const first = sessions.active?.projection?.tokens ?? 0;
  assert.ok(first > 0);
  await agent.request("session/append", { sessionId, messages: [{ role: "user", content: "more ".repeat(3000) }] });
  await sessions.refresh(false);
  const { active } = sessions;
  assert.ok((active?.projection?.tokens ?? 0) > first + 2000);
  const gauge = gaugeOf(stage.supervisor.state, active, "");
  assert.match(gauge.text, /^\$\(circle-large-outline\) [\d.]+k\/60k below \$\(lock\)$/);
  assert.match(gauge.tooltip, /written by agent \(process \d+/);
  assert.match(gauge.tooltip, /Between [\d,]+ and [\d,]+/);
  assert.equal(gauge.severity, "warning");
  await agent.end();
  await sessions.refresh();
  assert.equal(gaugeOf(stage.supervisor.state, sessions.active, "").severity, "none");
  await stage.supervisor.stop();
});

test("a session that another process writes is refused with its holder, and watching goes on", async () => {
  const { agent, stage, sessions, sessionId } = await scene(2);
  const info = sessions.active?.info;
  assert.ok(info);
  await assert.rejects(
    sessions.acquire(info),
    (error) => error instanceof HeldElsewhere && /written by agent/.test(error.message),
  );
  await agent.request("session/append", { sessionId, messages: [{ role: "user", content: "still mine" }] });
  await sessions.refresh();
  assert.equal(sessions.active?.trouble, undefined);
  await Promise.all([agent.end(), stage.supervisor.stop()]);
});

test("a look takes the session from nobody: an agent that comes later can write it", async () => {
  const { place, agent, stage, sessions, sessionId } = await scene(2);
  await agent.end();
  await sessions.refresh();
  const info = sessions.active?.info;
  assert.ok(info);
  await sessions.writing(info, () =>
    stage.supervisor.request("context/pin", { sessionId, text: "Never push to main." }),
  );
  const later = await connect(place, { client: "later" });
  const opened = (await later.request("session/open", {
    workspace: place.uri,
    sessionId,
    mode: "resume",
  })) as SessionInfo;
  assert.equal(opened.access, "write");
  await Promise.all([later.end(), stage.supervisor.stop()]);
});

test("a session that a host of this window writes stays that host's", async () => {
  const place = new Place();
  const stage = new Stage({}, place);
  await stage.supervisor.start();
  const sessions = new Sessions(stage.supervisor, () => [place.uri]);
  const { sessionId } = await stage.supervisor.request("session/open", {
    workspace: place.uri,
    dialect: "anthropic",
    model: MODEL,
  });
  await stage.supervisor.request("session/append", { sessionId, messages: conversation(2) as never });
  await sessions.refresh();
  const info = sessions.get(sessionId)?.info;
  assert.ok(info);
  await sessions.writing(info, () => stage.supervisor.request("context/pin", { sessionId, text: "Mine." }));
  await stage.supervisor.request("session/append", { sessionId, messages: [{ role: "user", content: "on" }] });
  assert.equal((await stage.supervisor.request("session/health", { sessionId })).access, "write");
  await stage.supervisor.stop();
});

test("sessions of several folders are listed together, each with its folder", async () => {
  const [one, two] = [new Place(), new Place()];
  const stage = new Stage({}, one);
  await stage.supervisor.start();
  const ids: string[] = [];
  for (const { uri } of [one, two]) {
    const opened = await stage.supervisor.request("session/open", { workspace: uri, dialect: "openai-chat" });
    ids.push(opened.sessionId);
  }
  const sessions = new Sessions(stage.supervisor, () => [one.uri, two.uri]);
  await sessions.refresh();
  assert.deepEqual(sessions.all.map(({ info }) => info.sessionId).sort(), ids.sort());
  assert.deepEqual(sessions.all.map(({ info }) => info.workspace).sort(), [one.uri, two.uri].sort());
  const gauge = gaugeOf(stage.supervisor.state, sessions.active, "");
  assert.match(gauge.text, /unknown$/);
  sessions.choose(ids[0]);
  assert.equal(sessions.active?.info.sessionId, ids[0]);
  await stage.supervisor.stop();
});

test("a compaction is planned, compared, committed and undone, and what left can be read page by page", async () => {
  const { agent, stage, sessions, sessionId } = await scene(24);
  await agent.end();
  await sessions.refresh();
  const daemon = stage.supervisor;
  const info = sessions.active?.info;
  assert.ok(info);
  const release = await sessions.acquire(info);
  const before = await daemon.request("context/project", { sessionId });
  const plan = await daemon.request("context/compact", { sessionId, dryRun: true, strategy: "deterministic" });
  assert.equal(refusalOf(plan), undefined);
  const view = await daemon.request("session/history", { sessionId, view: "model" });
  const shown = compare(plan, view.messages);
  assert.match(shown.after, /The user's words: \d+ of \d+ stand word for word/);
  assert.match(shown.after, /^── 3 tool: replaced by the summary, handle m_[0-9a-f.]+$/m);
  assert.match(shown.after, /\n\n── 96 assistant\nFile 23 is fine\./);
  assert.match(shown.verdict, /^Frees [\d,]+ tokens \(\d+%\)\. Messages: \d+ kept, \d+ replaced by the summary\./);
  assert.ok(shown.before.includes("→ Read") && shown.before.includes("more line"));
  assert.equal((await daemon.request("context/project", { sessionId })).fingerprint, before.fingerprint);
  assert.ok(plan.planId);
  const report = await daemon.request("context/commit", { sessionId, planId: plan.planId });
  assert.equal(report.outcome, "applied");
  sessions.keep(sessionId, report);
  await release();
  await sessions.refresh();
  const watched = sessions.active;
  assert.ok(watched?.projection && watched.projection.tokens < before.tokens);

  const found: Projection = await daemon.request("context/project", { sessionId, detail: "items" });
  const { entries } = await daemon.request("recall/list", { sessionId });
  const pins = await daemon.request("context/pins", { sessionId });
  const nodes = childrenOf(watched, found, entries, pins);
  const outputs = nodes.find((node) => node.kind === "outputs");
  assert.ok(outputs);
  assert.match(faceOf(outputs, 0).description, /^\d+ outputs$/);
  const results = nodes.find((node) => node.kind === "category" && node.name === "toolResults");
  assert.ok(results);
  const [item] = heldBy(results) ?? [];
  assert.ok(item);
  assert.match(faceOf(item, 0).label, /^Read src\/file\d+\.py$/);
  const output = heldBy(outputs)?.at(-1);
  assert.ok(output);
  const handle = handleOf(output);
  assert.ok(handle);
  const address = { sessionId, handle, page: 0, title: "Read src/file0.py" };
  const parts = addressParts(address);
  assert.equal(parts.path, "/Read-src-file0.py.page-1.txt");
  const back = parseAddress(parts.path, parts.query);
  assert.deepEqual({ ...back, title: "" }, { ...address, title: "" });
  const fetched = await daemon.request("recall/fetch", fetchParams(back));
  assert.equal(render(fetched), "line of file 0\n".repeat(6000 / 16));
  assert.match(caption(fetched), /^Read · page 1 of 1 · [\d,]+ bytes$/);
  assert.match(
    await recall(daemon, { handle: "call_0" }, sessionId),
    /^line of file 0\n[\s\S]*\[Read, 5,625 bytes\.\]$/,
  );
  assert.match(await recall(daemon, { query: "file 3" }, sessionId), /handle call_3/);

  const undone = await sessions.writing(info, () => daemon.request("context/undo", { sessionId }));
  assert.equal(undone.projection.tokens, before.tokens);
  await stage.supervisor.stop();
});

test("a large output is read in pages that together are every byte of it", async () => {
  const place = new Place();
  const stage = new Stage({}, place);
  await stage.supervisor.start();
  const daemon = stage.supervisor;
  const opening = { workspace: place.uri, dialect: "anthropic", model: MODEL };
  const { sessionId } = await daemon.request("session/open", opening);
  const [asked, calling] = conversation(1) as never[];
  const content = Array.from({ length: 9000 }, (_, line) => `line ${line} of a long output\n`).join("");
  const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "call_0", content }] };
  await daemon.request("session/append", { sessionId, messages: [asked, calling, result] as never });
  let text = "";
  let pages = 1;
  for (let page = 0; page < pages; page++) {
    const { path, query } = addressParts({ sessionId, handle: "call_0", page, title: "Read" });
    assert.equal(path, `/Read.page-${page + 1}.txt`);
    const found = await daemon.request("recall/fetch", fetchParams(parseAddress(path, query)));
    assert.equal(found.page, page);
    text += render(found);
    pages = found.pages;
  }
  assert.ok(pages > 2);
  assert.equal(text, content);
  assert.match(await recall(daemon, { handle: "call_0", page: 0 }, sessionId), /Page 1 of \d+; ask for page 1 \(0-based\)/);
  await stage.supervisor.stop();
});

test("bytes that are no text are shown as hex", () => {
  const found = { encoding: "base64", content: Buffer.from("\u0000AB").toString("base64") } as never;
  assert.equal(render(found), "00000000  00 41 42                                         .AB");
});
