/** The real daemon by vscode-jsonrpc, as the extension's own client would have it, in folders of the test. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterEach } from "node:test";
import { pathToFileURL } from "node:url";
import { createMessageConnection, ResponseError, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node";
import type { Handlers, Link } from "../../src/client/link.js";
import { type Ground, type State, Supervisor } from "../../src/client/supervisor.js";
import { NoSummary } from "../../src/model/sampling.js";

/** The command under test. */
export const COMMAND = process.env["CTXD"] ?? path.resolve(__dirname, "../../../../.venv/bin/ctxd");

/** Processes and folders that a test made; gone when it is done, also when it failed. */
const started = new Set<ChildProcess>();
const folders: string[] = [];
afterEach(() => {
  for (const child of started) child.kill("SIGKILL");
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  started.clear();
});

/** A workspace with a state folder beside it. */
export class Place {
  readonly folder = mkdtempSync(path.join(tmpdir(), "ctxd-vscode-"));
  readonly workspace = path.join(this.folder, "workspace");
  readonly state = path.join(this.folder, "state");

  constructor() {
    folders.push(this.folder);
    mkdirSync(this.workspace);
  }

  get uri(): string {
    return pathToFileURL(this.workspace).href;
  }
}

export interface Started extends Link {
  child: ChildProcess;
}

const QUIET: Handlers = {
  sample: () => Promise.reject(new NoSummary("nobody", -32601)),
  viewChanged: () => {},
  sessionChanged: () => {},
};

/** Starts a command as a daemon and initializes it. */
export async function connect(
  place: Place,
  given: { command?: string; args?: string[]; options?: object; handlers?: Partial<Handlers>; client?: string } = {},
): Promise<Started> {
  const handlers = { ...QUIET, ...given.handlers };
  const child = spawn(given.command ?? COMMAND, given.args ?? ["serve"], { stdio: ["pipe", "pipe", "inherit"] });
  started.add(child);
  const closed = once(child, "exit").then(([code, signal]) =>
    signal ? `signal ${String(signal)}` : `exit code ${String(code)}`,
  );
  await once(child, "spawn");
  child.stdin.on("error", () => {});
  const rpc = createMessageConnection(new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin));
  rpc.onError(() => {});
  rpc.onRequest("sampling/createMessage", async (params, token) => {
    try {
      return await handlers.sample(params, token);
    } catch (error) {
      if (error instanceof NoSummary) throw new ResponseError(error.code, error.message);
      throw error;
    }
  });
  rpc.onNotification("context/didChange", (params) => handlers.viewChanged(params));
  rpc.onNotification("session/didChange", (params) => handlers.sessionChanged(params));
  rpc.listen();
  const ended = closed.then((reason) => Promise.reject(new Error(`the daemon ended with ${reason}`)));
  ended.catch(() => {});
  const initialize = rpc.sendRequest<Record<string, any>>("initialize", {
    processId: process.pid,
    clientInfo: { name: given.client ?? "unit test" },
    capabilities: { experimental: { ctxd: { sampling: given.handlers?.sample !== undefined } } },
    workspaceFolders: [{ uri: place.uri, name: "workspace" }],
    initializationOptions: { storage: { root: place.state }, ...given.options },
  });
  initialize.catch(() => {});
  const result = await Promise.race([initialize, ended]);
  await rpc.sendNotification("initialized", {});
  const ours = result["capabilities"]?.experimental?.ctxd;
  return {
    child,
    about: {
      version: result["serverInfo"]?.version ?? "unknown",
      protocolVersion: ours?.protocolVersion,
      methods: ours?.methods ?? [],
    },
    closed,
    request: (method, params, token) =>
      token ? rpc.sendRequest(method, params, token as never) : rpc.sendRequest(method, params),
    notify: (method, params) => void rpc.sendNotification(method, params),
    end: async () => {
      try {
        await Promise.race([rpc.sendRequest("shutdown"), closed]);
        await rpc.sendNotification("exit");
      } catch {
        // It was gone already.
      }
      await closed;
      rpc.dispose();
    },
  };
}

/** A supervisor over real daemons whose pauses pass at once; `now` moves with every pause. */
export class Stage {
  readonly links: Started[] = [];
  readonly states: State[] = [];
  readonly supervisor: Supervisor;
  pauses: number[] = [];

  constructor(ground: Partial<Ground>, place = new Place(), given: Parameters<typeof connect>[1] = {}) {
    let now = 0;
    this.supervisor = new Supervisor({
      obstacle: () => undefined,
      locate: async () => ({ command: COMMAND }),
      now: () => now,
      after: (milliseconds, call) => {
        now += milliseconds;
        this.pauses.push(milliseconds);
        const immediate = setImmediate(call);
        return () => clearImmediate(immediate);
      },
      connect: async (command) => {
        const link = await connect(place, { ...given, command });
        this.links.push(link);
        return link;
      },
      ...ground,
    });
    this.supervisor.onState((state) => this.states.push(state));
  }

  /** Resolves with the next state of a kind, or the present one. */
  async reach<K extends State["kind"]>(kind: K): Promise<Extract<State, { kind: K }>> {
    const { state } = this.supervisor;
    if (state.kind === kind) return state as Extract<State, { kind: K }>;
    return new Promise((resolve) => {
      const stop = this.supervisor.onState((next) => {
        if (next.kind !== kind) return;
        stop();
        resolve(next as Extract<State, { kind: K }>);
      });
    });
  }
}
