/** A `Link` made by VS Code's language client: the daemon's process, its log, trace, cancellation and folders. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { LogOutputChannel } from "vscode";
import {
  type CancellationToken,
  type ClientCapabilities,
  CloseAction,
  ErrorAction,
  LanguageClient,
  type LanguageClientOptions,
  ResponseError,
} from "vscode-languageclient/node";
import type { About, Cancellation, Handlers, Link } from "../client/link.js";
import type { Nested } from "../model/options.js";
import { NoSummary } from "../model/sampling.js";
import type {
  ContextDidChangeParams,
  ContextEventParams,
  SamplingCreateMessageParams,
  SessionDidChangeParams,
} from "../protocol/types.js";
import { TraceChannel } from "./trace.js";

/** Milliseconds a daemon may take to leave. */
const LEAVING_MS = 3000;

export interface Opening {
  command: string;
  options: Nested;
  sampling: boolean;
  log: LogOutputChannel;
  handlers: Handlers;
}

/** Writes its errors into the log and pops up none: what a person has to know, the supervisor's state says. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** Starts the daemon and waits for `initialize`. Rejects when it does not start, or refuses the options. */
export async function connect(opening: Opening): Promise<Link> {
  const { command, log, handlers } = opening;
  let over: (reason: string) => void = () => {};
  const closed = new Promise<string>((resolve) => (over = resolve));
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(command, ["serve"], { stdio: ["pipe", "pipe", "pipe"] });
    child.once("exit", (code, signal) => over(signal ? `signal ${signal}` : `exit code ${code ?? "unknown"}`));
    await once(child, "spawn");
    return child;
  };
  const trace = new TraceChannel(log);
  void closed.then(() => trace.dispose());
  const options: LanguageClientOptions = {
    documentSelector: [],
    outputChannel: log,
    traceOutputChannel: trace,
    initializationOptions: opening.options,
    initializationFailedHandler: () => false,
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
    },
  };
  const client = new QuietClient("ctxd", "ctxd", start, options);
  client.registerFeature({
    fillClientCapabilities(capabilities: ClientCapabilities): void {
      capabilities.experimental = { ...capabilities.experimental, ctxd: { sampling: opening.sampling } };
    },
    initialize: () => {},
    getState: () => ({ kind: "static" }),
    clear: () => {},
  });
  client.onRequest("sampling/createMessage", async (params: SamplingCreateMessageParams, token: Cancellation) => {
    try {
      return await handlers.sample(params, token);
    } catch (error) {
      if (error instanceof NoSummary) throw new ResponseError(error.code, error.message);
      throw error;
    }
  });
  client.onNotification("context/didChange", (params: ContextDidChangeParams) => handlers.viewChanged(params));
  client.onNotification("session/didChange", (params: SessionDidChangeParams) => handlers.sessionChanged(params));
  client.onNotification("context/event", (params: ContextEventParams) => handlers.sessionChanged(params));
  const ended = closed.then((reason) => Promise.reject(new Error(`the daemon ended with ${reason}`)));
  await Promise.race([client.start(), ended]);
  ended.catch(() => {});
  return {
    about: aboutOf(client),
    closed,
    request: (method, params, token) =>
      token ? client.sendRequest(method, params, token as CancellationToken) : client.sendRequest(method, params),
    notify: (method, params) => void client.sendNotification(method, params),
    end: async () => {
      await client.stop(LEAVING_MS).catch((error: unknown) => log.debug(`leaving: ${String(error)}`));
      await client.dispose().catch(() => {});
    },
  };
}

function aboutOf(client: LanguageClient): About {
  const result = client.initializeResult;
  const ours = (result?.capabilities.experimental as { ctxd?: Record<string, unknown> } | undefined)?.ctxd;
  const version = ours?.["protocolVersion"];
  const methods = ours?.["methods"];
  return {
    version: result?.serverInfo?.version ?? "unknown",
    protocolVersion: typeof version === "number" ? version : undefined,
    methods: Array.isArray(methods) ? methods.map(String) : [],
  };
}
