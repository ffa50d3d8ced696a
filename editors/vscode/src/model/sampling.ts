/** Answering `sampling/createMessage` with a language model of the editor. */

import type { Cancellation } from "../client/link.js";
import type { SamplingCreateMessageParams, SamplingCreateMessageResult } from "../protocol/types.js";

/** A language model, as VS Code offers it. */
export interface LanguageModel {
  name: string;
  family: string;
  send(
    messages: SamplingCreateMessageParams["messages"],
    systemPrompt: string,
    cancellation: Cancellation,
  ): AsyncIterable<string>;
}

export type Standing =
  | { kind: "idle" }
  | { kind: "off" }
  | { kind: "noModel" }
  | { kind: "declined"; model: string }
  | { kind: "answered"; model: string }
  | { kind: "failed"; model: string; reason: string };

/** An answer that is none, as JSON-RPC says it: the daemon tells these codes apart. */
export class NoSummary extends Error {
  constructor(
    message: string,
    readonly code: number,
  ) {
    super(message);
  }
}

const NOBODY = -32601;
const DECLINED = -1;
const CANCELLED = -32800;
const FAILED = -32603;

export class Sampler {
  private now: Standing;

  constructor(
    private readonly models: () => Promise<readonly LanguageModel[]>,
    private readonly settings: () => { enabled: boolean; family: string },
    private readonly changed: () => void = () => {},
  ) {
    this.now = settings().enabled ? { kind: "idle" } : { kind: "off" };
  }

  get standing(): Standing {
    return this.now;
  }

  /** Throws NoSummary, also when the person declines or the daemon cancels. */
  async answer(params: SamplingCreateMessageParams, cancellation: Cancellation): Promise<SamplingCreateMessageResult> {
    const { enabled, family } = this.settings();
    if (!enabled) throw this.refuse({ kind: "off" }, "sampling is off", NOBODY);
    const offered = await this.models();
    const model = family ? offered.find((one) => one.family === family) : offered[0];
    if (!model) throw this.refuse({ kind: "noModel" }, "no language model is available", NOBODY);
    let text = "";
    try {
      for await (const piece of model.send(params.messages, params.systemPrompt ?? "", cancellation)) {
        if (cancellation.isCancellationRequested) throw new NoSummary("cancelled", CANCELLED);
        text += piece;
      }
    } catch (error) {
      throw this.failure(model.name, error, cancellation);
    }
    this.become({ kind: "answered", model: model.name });
    return { content: { type: "text", text }, model: model.name, stopReason: "endTurn" };
  }

  private failure(model: string, error: unknown, cancellation: Cancellation): NoSummary {
    if (error instanceof NoSummary) return error;
    if (cancellation.isCancellationRequested) return new NoSummary("cancelled", CANCELLED);
    const code = (error as { code?: unknown } | null)?.code;
    if (code === "NoPermissions") return this.refuse({ kind: "declined", model }, "declined", DECLINED);
    const reason = error instanceof Error ? error.message : String(error);
    return this.refuse({ kind: "failed", model, reason }, reason, FAILED);
  }

  private refuse(standing: Standing, message: string, code: number): NoSummary {
    this.become(standing);
    return new NoSummary(message, code);
  }

  private become(standing: Standing): void {
    this.now = standing;
    this.changed();
  }
}

/** What a person reads about it. */
export function sentence(standing: Standing): string {
  switch (standing.kind) {
    case "idle":
      return "";
    case "off":
      return "Summaries: without a model, by setting.";
    case "noModel":
      return "Summaries: no language model is available, so they are made without one.";
    case "declined":
      return `Summaries: ${standing.model} may not be used, so they are made without a model.`;
    case "answered":
      return `Summaries: written by ${standing.model}.`;
    case "failed":
      return `Summaries: ${standing.model} failed, so they are made without a model.`;
  }
}
