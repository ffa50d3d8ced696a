// Replays golden transcripts against a daemon. Needs Node and nothing else.
//
//   node protocol/replay.mjs TRANSCRIPT... -- COMMAND ARGUMENT...
//
// A transcript is JSON lines: {"c2s": message}, {"s2c": pattern}, {"exit": code}. A pattern object names the
// members it cares about; arrays match whole. Matchers: "$any", "$string", "$int", "$bind:x" (any value, kept),
// "$ref:x" (that value again; in c2s it is put in). "$ref:workspace" (a file URI) and "$ref:state" (a path) are
// folders made for the run. Frames of window/logMessage, $/logTrace and $/progress are passed over.

import { spawn } from "node:child_process";
import { mkdtempSync, mkdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const PASSED_OVER = new Set(["window/logMessage", "$/logTrace", "$/progress"]);
const PATIENCE_MS = 60_000;

export function fill(value, bound) {
  if (typeof value === "string" && value.startsWith("$ref:")) return bound[value.slice(5)];
  if (Array.isArray(value)) return value.map((v) => fill(v, bound));
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, fill(v, bound)]));
  return value;
}

// The path of the first mismatch, or null.
export function mismatch(pattern, value, bound, path = "$") {
  if (pattern === "$any") return value === undefined ? path : null;
  if (pattern === "$string") return typeof value === "string" ? null : path;
  if (pattern === "$int") return Number.isInteger(value) ? null : path;
  if (typeof pattern === "string" && pattern.startsWith("$bind:")) {
    bound[pattern.slice(6)] = value;
    return value === undefined ? path : null;
  }
  pattern = typeof pattern === "string" ? fill(pattern, bound) : pattern;
  if (Array.isArray(pattern)) {
    if (!Array.isArray(value) || value.length !== pattern.length) return path;
    return first(pattern.map((p, i) => () => mismatch(p, value[i], bound, `${path}[${i}]`)));
  }
  if (pattern && typeof pattern === "object") {
    if (!value || typeof value !== "object" || Array.isArray(value)) return path;
    return first(Object.entries(pattern).map(([k, p]) => () => mismatch(p, value[k], bound, `${path}.${k}`)));
  }
  return Object.is(pattern, value) ? null : path;
}

function first(checks) {
  for (const check of checks) {
    const found = check();
    if (found) return found;
  }
  return null;
}

class Daemon {
  constructor(command) {
    this.process = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
    this.buffer = Buffer.alloc(0);
    this.frames = [];
    this.waiting = null;
    this.exited = new Promise((resolve) => this.process.on("exit", (code) => resolve(code)));
    this.process.stdin.on("error", () => {});
    this.process.stdout.on("data", (chunk) => this.take(chunk));
    this.process.stdout.on("end", () => this.deliver({ hungUp: true }));
  }

  take(chunk) {
    this.buffer = Buffer.concat([this.buffer, chunk]);
    for (;;) {
      const head = this.buffer.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/content-length: *(\d+)/i.exec(this.buffer.toString("latin1", 0, head))[1]);
      if (this.buffer.length < head + 4 + length) return;
      this.deliver(JSON.parse(this.buffer.toString("utf8", head + 4, head + 4 + length)));
      this.buffer = this.buffer.subarray(head + 4 + length);
    }
  }

  deliver(message) {
    if (PASSED_OVER.has(message.method)) return;
    if (this.waiting) this.waiting(message);
    else this.frames.push(message);
    this.waiting = null;
  }

  send(message) {
    const body = Buffer.from(JSON.stringify(message));
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }

  receive() {
    const frame = this.frames.length
      ? Promise.resolve(this.frames.shift())
      : new Promise((resolve) => (this.waiting = resolve));
    return patient(frame, "the daemon is silent");
  }
}

function patient(promise, complaint) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(complaint)), PATIENCE_MS)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function replay(transcript, command) {
  const steps = readFileSync(transcript, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const root = realpathSync(mkdtempSync(join(tmpdir(), "ctxd-replay-")));
  const workspace = join(root, "workspace");
  mkdirSync(workspace);
  const bound = { workspace: pathToFileURL(workspace).href, state: join(root, "state") };
  const daemon = new Daemon(command);
  try {
    for (const [index, step] of steps.entries()) {
      if ("c2s" in step) daemon.send(fill(step.c2s, bound));
      if ("s2c" in step) {
        const frame = await daemon.receive();
        const path = mismatch(step.s2c, frame, bound);
        if (path) throw new Error(`step ${index + 1}: mismatch at ${path} of ${JSON.stringify(frame)}`);
      }
      if ("exit" in step) {
        const code = await patient(daemon.exited, "the daemon does not end");
        if (code !== step.exit) throw new Error(`step ${index + 1}: exit code ${code}, not ${step.exit}`);
        if (daemon.frames.some((f) => !f.hungUp)) throw new Error(`unread: ${JSON.stringify(daemon.frames[0])}`);
      }
    }
    return steps.length;
  } finally {
    daemon.process.kill("SIGKILL");
    rmSync(root, { recursive: true, force: true });
  }
}

const split = process.argv.indexOf("--");
const [transcripts, command] = [process.argv.slice(2, split), process.argv.slice(split + 1)];
if (split < 3 || !command.length) {
  console.error("usage: node replay.mjs TRANSCRIPT... -- COMMAND ARGUMENT...");
  process.exit(2);
}
let failed = 0;
for (const transcript of transcripts) {
  try {
    console.log(`PASS ${transcript}: ${await replay(transcript, command)} steps`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${transcript}: ${error.message}`);
  }
}
process.exit(failed ? 1 : 0);
