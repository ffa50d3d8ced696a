/**
 * The sessions of the open folders, watched without writing: each is opened read-only, so that whoever works
 * in it keeps it. To change one, it is written for as long as the change takes, then watched again.
 */

import { faultOf, type Params, type Result, sentenceOf } from "../client/link.js";
import type { RequestsToDaemon } from "../protocol/methods.js";
import type {
  CompactionReport,
  Health,
  Holder,
  Projection,
  SessionInfo,
  SessionOpenParams,
} from "../protocol/types.js";

/** So many sessions of a folder are watched, the most recently updated first. */
export const WATCHED = 8;

export interface Watched {
  info: SessionInfo;
  projection?: Projection;
  health?: Health["status"];
  /** The last compaction made from here. */
  compaction?: CompactionReport;
  /** Why it cannot be read. */
  trouble?: string;
}

/** The daemon as sessions need it. */
export interface Daemon {
  request<M extends keyof RequestsToDaemon>(method: M, params: Params<M>): Promise<Result<M>>;
  openedAs(sessionId: string): SessionOpenParams | undefined;
}

/** The session is written by another process. */
export class HeldElsewhere extends Error {
  constructor(readonly holder: Holder | undefined) {
    const who = holder
      ? `${holder.client ?? "another process"} (process ${holder.pid} on ${holder.host})`
      : "another process";
    super(`This session is written by ${who}. Fork it to work on a copy, or close it there.`);
  }
}

export class Sessions {
  private readonly known = new Map<string, Watched>();
  private order: string[] = [];
  private chosen: string | undefined;
  private refreshing: Promise<void> | undefined;
  private readonly listeners = new Set<() => void>();

  constructor(
    private readonly daemon: Daemon,
    private readonly folders: () => readonly string[],
  ) {}

  /** Every session of the open folders, the most recently updated first. */
  get all(): Watched[] {
    return this.order.flatMap((id) => this.known.get(id) ?? []);
  }

  get(sessionId: string): Watched | undefined {
    return this.known.get(sessionId);
  }

  /** The session of the gauge: the chosen one, else the most recently updated. */
  get active(): Watched | undefined {
    return (this.chosen !== undefined ? this.known.get(this.chosen) : undefined) ?? this.all[0];
  }

  choose(sessionId: string | undefined): void {
    this.chosen = sessionId;
    this.tell();
  }

  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Forgets everything, as when the daemon is gone. */
  clear(): void {
    this.known.clear();
    this.order = [];
    this.tell();
  }

  /** Lists anew and projects the active session, with `deep` every watched one; overlapping calls share a run. */
  refresh(deep = true): Promise<void> {
    this.refreshing ??= this.readAll(deep).finally(() => (this.refreshing = undefined));
    return this.refreshing;
  }

  /** Takes a projection that the daemon told by itself. */
  take(sessionId: string, projection: Projection): void {
    const watched = this.known.get(sessionId);
    if (!watched || (watched.projection && watched.projection.revision > projection.revision)) return;
    watched.projection = projection;
    this.tell();
  }

  /** Reads one session again now. */
  async read(sessionId: string): Promise<void> {
    const watched = this.known.get(sessionId);
    if (!watched) return;
    await this.project(watched);
    this.tell();
  }

  /** Keeps the report of a compaction made from here. */
  keep(sessionId: string, report: CompactionReport): void {
    const watched = this.known.get(sessionId);
    if (watched) watched.compaction = report;
  }

  /**
   * Becomes the session's writer; what is returned gives it back. A session that a host of this daemon
   * writes stays that host's. Throws HeldElsewhere.
   */
  async acquire(info: SessionInfo): Promise<() => Promise<void>> {
    const before = this.daemon.openedAs(info.sessionId);
    if (before && before.readOnly !== true) {
      const standing = await this.daemon.request("session/open", {
        ...before,
        sessionId: info.sessionId,
        mode: "resume",
      });
      if (standing.access === "write") return async () => {};
    }
    const opened = await this.daemon.request("session/open", {
      workspace: info.workspace,
      sessionId: info.sessionId,
      mode: "resume",
    });
    if (opened.access !== "write") {
      await this.watch(info);
      throw new HeldElsewhere(opened.holder);
    }
    return async () => {
      await this.daemon.request("session/close", { sessionId: info.sessionId });
      await this.watch(info);
      await this.read(info.sessionId);
    };
  }

  /** Does something as the session's writer. */
  async writing<T>(info: SessionInfo, change: () => Promise<T>): Promise<T> {
    const release = await this.acquire(info);
    try {
      return await change();
    } finally {
      await release();
    }
  }

  private async readAll(deep: boolean): Promise<void> {
    const folders = this.folders();
    const lists = await Promise.all(folders.map((workspace) => this.daemon.request("session/list", { workspace })));
    const listed = lists.flatMap(({ sessions }) => sessions.map((info, at) => ({ info, watch: at < WATCHED })));
    listed.sort((a, b) => b.info.updatedAt - a.info.updatedAt);
    this.order = listed.map(({ info }) => info.sessionId);
    for (const id of [...this.known.keys()]) if (!this.order.includes(id)) this.known.delete(id);
    for (const { info } of listed) {
      const watched = this.known.get(info.sessionId) ?? { info };
      watched.info = { ...info, holder: watched.info.holder, durable: watched.info.durable };
      this.known.set(info.sessionId, watched);
    }
    for (const { info, watch } of listed) {
      const watched = this.known.get(info.sessionId);
      if (watched && (watched === this.active || (watch && (deep || !watched.projection)))) await this.project(watched);
    }
    this.tell();
  }

  private async project(watched: Watched): Promise<void> {
    const { sessionId } = watched.info;
    try {
      if (!this.daemon.openedAs(sessionId)) await this.watch(watched.info);
      watched.projection = await this.daemon.request("context/project", { sessionId });
      const health = await this.daemon.request("session/health", { sessionId });
      watched.health = health.status;
      watched.info = { ...watched.info, durable: health.durable, access: health.access, holder: health.holder };
      watched.trouble = undefined;
    } catch (error) {
      if (!faultOf(error)) throw error;
      watched.projection = undefined;
      watched.trouble = sentenceOf(error);
    }
  }

  private watch(info: SessionInfo): Promise<SessionInfo> {
    const { workspace, sessionId } = info;
    return this.daemon.request("session/open", { workspace, sessionId, mode: "resume", readOnly: true });
  }

  private tell(): void {
    for (const listener of [...this.listeners]) listener();
  }
}
