// Programs around the workbench: an agent that writes a session, and daemons that are not as they should be.

import { spawn } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const rpc = createRequire(import.meta.url)("vscode-jsonrpc/node");

/** Another program with a daemon of its own, which writes a session. */
export async function startAgent(ctxd, folder, state) {
  const child = spawn(ctxd, ["serve"], { stdio: ["pipe", "pipe", "inherit"] });
  const link = rpc.createMessageConnection(
    new rpc.StreamMessageReader(child.stdout),
    new rpc.StreamMessageWriter(child.stdin),
  );
  link.listen();
  await link.sendRequest("initialize", {
    processId: process.pid,
    clientInfo: { name: "agent" },
    capabilities: {},
    workspaceFolders: [{ uri: pathToFileURL(folder).href, name: "project" }],
    initializationOptions: { storage: { root: state } },
  });
  await link.sendNotification("initialized", {});
  return {
    request: (method, params) => link.sendRequest(method, params),
    end: async () => {
      await link.sendRequest("shutdown");
      await link.sendNotification("exit");
      link.dispose();
    },
  };
}

/** Process ids of daemons below a process. */
export function daemonsBelow(root) {
  const parents = new Map();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      parents.set(pid, { parent: stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1], command });
    } catch {
      // It ended meanwhile.
    }
  }
  const isBelow = (pid) => {
    for (let at = pid; at && at !== "0"; at = parents.get(at)?.parent) if (at === String(root)) return true;
    return false;
  };
  return [...parents]
    .filter(
      ([pid, { command }]) => command.includes("serve") && command.some((part) => /ctxd/.test(part)) && isBelow(pid),
    )
    .map(([pid]) => Number(pid));
}

/** Answers `initialize` as a daemon of an earlier protocol did. */
const OLD_DAEMON = `#!${process.execPath}
let text = "";
process.stdin.on("data", (chunk) => {
  text += chunk;
  const id = /"id":(\\d+)/.exec(text)?.[1];
  if (!id) return;
  text = "";
  const ours = { protocolVersion: 0, methods: [] };
  const result = { capabilities: { experimental: { ctxd: ours } }, serverInfo: { name: "ctxd", version: "0.0.9" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: Number(id), result });
  process.stdout.write("Content-Length: " + Buffer.byteLength(body) + "\\r\\n\\r\\n" + body);
});
process.stdin.on("end", () => process.exit(0));
`;

/** The `ctxd` command that the workbench is told of, and what may stand there. */
export class Command {
  constructor(path, ctxd) {
    this.path = path;
    this.ctxd = ctxd;
    this.mend();
  }

  /** The real one. */
  mend() {
    this.remove();
    symlinkSync(this.ctxd, this.path);
  }

  remove() {
    rmSync(this.path, { force: true });
  }

  /** One that speaks an older protocol. */
  age() {
    this.write(OLD_DAEMON);
  }

  /** One that ends as soon as it is started. */
  crash() {
    this.write("#!/bin/sh\nexit 3\n");
  }

  write(text) {
    this.remove();
    writeFileSync(this.path, text);
    chmodSync(this.path, 0o755);
  }
}
