/**
 * Keeps one daemon running: starts it, starts it again with growing pauses when it ends, opens the sessions
 * again that were open, and stops trying when it ends over and over. Knows neither `vscode` nor processes.
 */

import type { NotificationsToDaemon, RequestsToDaemon } from "../protocol/methods.js";
import type { SessionInfo, SessionOpenParams } from "../protocol/types.js";
import { type Cancellation, faultOf, type Link, type Params, type Result, sentenceOf } from "./link.js";
import type { Located } from "./locate.js";

export const PROTOCOL_VERSION = 1;

/** Pauses before the first, second, … start after an unexpected end, milliseconds. */
export const PAUSES = [250, 1000, 2000, 4000, 8000];

/** Ends within this time count together, milliseconds. */
export const LOOP_MS = 120_000;

/** Methods without which nothing here works; a daemon that lacks one is too old. */
const NEEDED: readonly (keyof RequestsToDaemon)[] = [
  "session/list",
  "session/open",
  "context/project",
  "context/compact",
];

export type State =
  | { kind: "stopped" }
  | { kind: "noFolder" }
  | { kind: "untrusted" }
  | { kind: "missing"; tried: readonly string[] }
  | { kind: "starting" }
  | { kind: "running"; version: string; command: string }
  | { kind: "tooOld"; version: string; command: string }
  | { kind: "tooNew"; version: string; command: string }
  | { kind: "misconfigured"; message: string }
  | { kind: "waiting"; reason: string; attempt: number; pause: number }
  | { kind: "crashLoop"; reason: string; ends: number };

/** What the supervisor stands on. */
export interface Ground {
  /** Why nothing may be started now, if so. */
  obstacle(): "untrusted" | "noFolder" | undefined;
  locate(): Promise<Located>;
  connect(command: string): Promise<Link>;
  now(): number;
  /** Calls once after some milliseconds; what is returned calls it off. */
  after(milliseconds: number, call: () => void): () => void;
}

/** A request was made while no daemon runs. */
export class NotRunning extends Error {
  constructor() {
    super("the ctxd daemon is not running");
  }
}

export class Supervisor {
  private current: State = { kind: "stopped" };
  private link: Link | undefined;
  private run = 0;
  private ends: number[] = [];
  private callOff: (() => void) | undefined;
  private readonly listeners = new Set<(state: State) => void>();
  private readonly openings = new Map<string, SessionOpenParams>();

  constructor(private readonly ground: Ground) {}

  get state(): State {
    return this.current;
  }

  /** Whether the running daemon serves a method. */
  has(method: string): boolean {
    return this.current.kind === "running" && this.link !== undefined && this.link.about.methods.includes(method);
  }

  /** What a session was opened with here, while it is open. */
  openedAs(sessionId: string): SessionOpenParams | undefined {
    return this.openings.get(sessionId);
  }

  /** Calls with every new state; what is returned ends that. */
  onState(listener: (state: State) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Starts the daemon if nothing is in the way; does nothing while it runs or starts. */
  async start(): Promise<void> {
    if (this.current.kind === "starting" || this.current.kind === "running") return;
    await this.launch();
  }

  /** Ends the daemon, forgets earlier ends, and starts anew. */
  async restart(): Promise<void> {
    this.ends = [];
    await this.leave();
    await this.launch();
  }

  /** Ends the daemon in good order. */
  async stop(): Promise<void> {
    await this.leave();
    this.become({ kind: "stopped" });
  }

  async request<M extends keyof RequestsToDaemon>(
    method: M,
    params: Params<M>,
    cancellation?: Cancellation,
  ): Promise<Result<M>> {
    return (await this.send(method, params, cancellation)) as Result<M>;
  }

  /** A method that this build of the extension has no types for. */
  async send(method: string, params: object, cancellation?: Cancellation): Promise<unknown> {
    if (!this.link) throw new NotRunning();
    const result = await this.link.request(method, params, cancellation);
    this.remember(method, params, result);
    return result;
  }

  notify(method: keyof NotificationsToDaemon | "workspace/didChangeConfiguration", params: object): void {
    this.link?.notify(method, params);
  }

  private async launch(): Promise<void> {
    this.callOff?.();
    this.callOff = undefined;
    const run = ++this.run;
    const obstacle = this.ground.obstacle();
    if (obstacle) return this.become({ kind: obstacle });
    this.become({ kind: "starting" });
    const found = await this.ground.locate();
    if (run !== this.run) return;
    if ("tried" in found) return this.become({ kind: "missing", tried: found.tried });
    let link: Link;
    try {
      link = await this.ground.connect(found.command);
    } catch (error) {
      if (run === this.run) this.takeFailure(error);
      return;
    }
    if (run !== this.run) return void link.end();
    const { version, protocolVersion, methods } = link.about;
    const misfit = protocolVersion !== undefined && protocolVersion > PROTOCOL_VERSION ? "tooNew" : "tooOld";
    if (protocolVersion !== PROTOCOL_VERSION || NEEDED.some((method) => !methods.includes(method))) {
      void link.end();
      return this.become({ kind: misfit, version, command: found.command });
    }
    this.link = link;
    void link.closed.then((reason) => run === this.run && this.takeEnd(reason));
    await this.reopen(link);
    if (run === this.run && this.link === link) this.become({ kind: "running", version, command: found.command });
  }

  /** Opens again what was open before; what cannot be opened any more is forgotten. */
  private async reopen(link: Link): Promise<void> {
    for (const [sessionId, params] of [...this.openings]) {
      try {
        await link.request("session/open", { ...params, sessionId, mode: "resume" });
      } catch (error) {
        if (faultOf(error)) this.openings.delete(sessionId);
      }
    }
  }

  private remember(method: string, params: object, result: unknown): void {
    if (method === "session/open" || method === "session/fork") {
      const info = result as SessionInfo;
      const given = method === "session/open" ? (params as SessionOpenParams) : { workspace: info.workspace };
      this.openings.set(info.sessionId, given);
    } else if (method === "session/close" || method === "session/delete") {
      this.openings.delete((params as { sessionId: string }).sessionId);
    }
  }

  private takeFailure(error: unknown): void {
    if (faultOf(error)?.kind === "invalidParams") {
      const paths = faultOf(error)?.errors?.map((e) => `${e.path}: ${e.message}`) ?? [];
      return this.become({ kind: "misconfigured", message: paths.join("; ") || sentenceOf(error) });
    }
    this.takeEnd(sentenceOf(error));
  }

  private takeEnd(reason: string): void {
    this.link = undefined;
    const now = this.ground.now();
    this.ends = [...this.ends.filter((at) => now - at < LOOP_MS), now];
    const pause = PAUSES[this.ends.length - 1];
    if (pause === undefined) return this.become({ kind: "crashLoop", reason, ends: this.ends.length });
    this.become({ kind: "waiting", reason, attempt: this.ends.length, pause });
    this.callOff = this.ground.after(pause, () => void this.launch());
  }

  private async leave(): Promise<void> {
    this.callOff?.();
    this.callOff = undefined;
    this.run++;
    const link = this.link;
    this.link = undefined;
    await link?.end();
  }

  private become(state: State): void {
    this.current = state;
    for (const listener of [...this.listeners]) listener(state);
  }
}
