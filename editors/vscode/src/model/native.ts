/** Text of a native message of any dialect, for reading. Shows what it knows and names what it does not. */

import type { Native } from "../protocol/types.js";

/** Who speaks in a message: what only carries results is a tool's, whatever the provider calls it. */
export function roleOf(message: Native): string {
  const parts = message["parts"] ?? message["content"];
  const isResult = (part: unknown): boolean => {
    const given = part as Record<string, unknown> | null;
    return given?.["type"] === "tool_result" || given?.["functionResponse"] !== undefined;
  };
  if (message["type"] === "function_call_output") return "tool";
  if (Array.isArray(parts) && parts.length && parts.every(isResult)) return "tool";
  return String(message["role"] ?? message["type"] ?? "item");
}

/** What a person would read of a message. */
export function textOf(message: Native): string {
  const parts = message["parts"];
  const body = Array.isArray(parts) ? parts.map(block) : content(message["content"] ?? message["output"]);
  const calls = Array.isArray(message["tool_calls"]) ? message["tool_calls"].map(call) : [];
  const item = message["type"] === "function_call" ? [call(message)] : [];
  return [...body, ...calls, ...item].filter(Boolean).join("\n");
}

function content(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value.map(block) : [];
}

function block(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return "";
  const part = value as Record<string, unknown>;
  if (typeof part["text"] === "string") return part["thought"] === true ? `(thinking) ${part["text"]}` : part["text"];
  if (typeof part["thinking"] === "string") return `(thinking) ${part["thinking"]}`;
  if (part["type"] === "tool_use" || part["functionCall"]) return call(part["functionCall"] ?? part);
  if (part["type"] === "tool_result") return ["→ result", ...content(part["content"])].join("\n");
  if (part["functionResponse"]) return `→ result\n${JSON.stringify((part["functionResponse"] as Native)["response"])}`;
  return `(${String(part["type"] ?? Object.keys(part)[0] ?? "part")})`;
}

function call(value: unknown): string {
  const made = value as Record<string, unknown>;
  const inner = (made["function"] ?? made) as Record<string, unknown>;
  const given = inner["input"] ?? inner["arguments"] ?? inner["args"] ?? "";
  return `→ ${String(inner["name"] ?? "tool")} ${typeof given === "string" ? given : JSON.stringify(given)}`;
}
