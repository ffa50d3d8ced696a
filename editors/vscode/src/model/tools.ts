/** What the language-model tools answer: recall from a session, memory of a workspace. */

import type { Daemon } from "./sessions.js";
import { fetchParams } from "./output.js";
import { plural } from "./words.js";

export interface RecallInput {
  handle?: string;
  query?: string;
  page?: number;
  sessionId?: string;
}

export interface MemoryInput {
  topic?: string;
  query?: string;
}

/** The text for the model. `active` is the session of the gauge. */
export async function recall(daemon: Daemon, input: RecallInput, active: string | undefined): Promise<string> {
  const sessionId = input.sessionId ?? active;
  if (!sessionId) return "There is no agent session in this workspace.";
  if (input.handle) {
    const found = await daemon.request(
      "recall/fetch",
      fetchParams({ sessionId, handle: input.handle, page: input.page ?? 0, title: "" }),
    );
    const more = found.next
      ? ` Page ${found.page + 1} of ${found.pages}; ask for page ${found.page + 1} (0-based) to read on.`
      : "";
    const content =
      found.encoding === "utf-8" ? found.content : `(${plural(found.totalBytes, "byte")} that are no text)`;
    return `${content}\n\n[${found.toolName || "output"}, ${plural(found.totalBytes, "byte")}.${more}]`;
  }
  if (!input.query) return "Give handle to read an output, or query to search all of them.";
  const { hits } = await daemon.request("recall/search", { sessionId, query: input.query, limit: 8 });
  if (!hits.length) return "Nothing that was printed matches.";
  return hits.map((hit) => `handle ${hit.toolCallId}, page ${hit.page}: ${hit.snippet}`).join("\n\n");
}

/** The text for the model. `send` calls a method that older daemons do not have. */
export async function remember(
  send: (method: string, params: object) => Promise<unknown>,
  workspace: string,
  input: MemoryInput,
): Promise<string> {
  if (input.topic) return textIn(await send("memory/read", { workspace, topic: input.topic }));
  if (!input.query) return textIn(await send("memory/index", { workspace })) || "Nothing is noted yet.";
  const found = (await send("memory/search", { workspace, query: input.query })) as {
    hits: { name: string; text: string }[];
  };
  if (!found.hits.length) return "Nothing that is noted matches.";
  // A daemon may give the hits as one text, framed so that no note passes for an instruction.
  return textIn(found) || found.hits.map((hit) => `${hit.name}: ${hit.text}`).join("\n\n");
}

export function textIn(answer: unknown): string {
  const text = (answer as { text?: unknown } | null)?.text;
  return typeof text === "string" ? text : "";
}
