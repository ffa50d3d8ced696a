/**
 * What the extension needs of a connection to one started daemon. Nothing here knows `vscode`: in the editor
 * a language client stands behind it, in the tests vscode-jsonrpc.
 */

import type { RequestsToDaemon } from "../protocol/methods.js";
import type {
  ContextDidChangeParams,
  ContextEventParams,
  ErrorData,
  SamplingCreateMessageParams,
  SamplingCreateMessageResult,
  SessionDidChangeParams,
} from "../protocol/types.js";

/** `initialize` as far as ctxd's own part goes. */
export interface About {
  version: string;
  protocolVersion: number | undefined;
  methods: readonly string[];
}

/** Cancels a request; VS Code's token and vscode-jsonrpc's fit. */
export interface Cancellation {
  readonly isCancellationRequested: boolean;
  onCancellationRequested(listener: () => void): { dispose(): void };
}

/** A connection after `initialize`. `closed` resolves with the reason once the daemon is gone. */
export interface Link {
  readonly about: About;
  readonly closed: Promise<string>;
  request(method: string, params: object, cancellation?: Cancellation): Promise<unknown>;
  notify(method: string, params: object): void;
  /** Ends the daemon in good order; never rejects. */
  end(): Promise<void>;
}

/** Answers the daemon's own requests and takes its notifications. */
export interface Handlers {
  /** `sampling/createMessage`. */
  sample(params: SamplingCreateMessageParams, cancellation: Cancellation): Promise<SamplingCreateMessageResult>;
  /** `context/didChange`. */
  viewChanged(params: ContextDidChangeParams): void;
  /** `session/didChange`, or a compaction began or ended. */
  sessionChanged(params: SessionDidChangeParams | ContextEventParams): void;
}

export type Params<M extends keyof RequestsToDaemon> = RequestsToDaemon[M]["params"];
export type Result<M extends keyof RequestsToDaemon> = RequestsToDaemon[M]["result"];

/** `data` of an error the daemon answered with; undefined for any other error. */
export function faultOf(error: unknown): ErrorData | undefined {
  const data = (error as { data?: unknown } | null)?.data;
  return typeof data === "object" && data !== null && "kind" in data ? (data as ErrorData) : undefined;
}

/** An error as one sentence for a person, with its hint. */
export function sentenceOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const hint = faultOf(error)?.hint;
  return hint ? `${message} (${hint})` : message;
}
