/** The Context view as a tree of plain nodes: folders, sessions, categories, items, evicted outputs, pins, files. */

import type {
  ContextPinsResult,
  Item,
  Pin,
  Projection,
  RecallEntry,
  RestoredFile,
  SessionInfo,
} from "../protocol/types.js";
import { PHASES, warningsOf } from "./gauge.js";
import type { Watched } from "./sessions.js";
import { ago, clip, exact, nickname, percent, plural, short, size } from "./words.js";

export type Node =
  | { kind: "folder"; uri: string; name: string }
  /** `several`: there are others to tell it from. */
  | { kind: "session"; watched: Watched; active: boolean; several?: boolean }
  | {
      kind: "category";
      session: SessionInfo;
      name: string;
      tokens: number;
      bytes: number;
      share: number;
      items: Item[];
      /** Of the category of restored files, where they are known. */
      files: RestoredFile[];
    }
  | { kind: "item"; session: SessionInfo; item: Item }
  | { kind: "outputs"; session: SessionInfo; entries: RecallEntry[] }
  | { kind: "output"; session: SessionInfo; entry: RecallEntry }
  | { kind: "pins"; session: SessionInfo; pins: Pin[]; tokens: number; budget: number }
  | { kind: "pin"; session: SessionInfo; pin: Pin }
  | { kind: "file"; session: SessionInfo; file: RestoredFile };

/** How a node is drawn. */
export interface Face {
  label: string;
  description: string;
  tooltip: string;
  icon: string;
  /** Colour of the icon, as a theme names it. */
  color?: string;
  context: string;
  expands: boolean;
  spoken: string;
}

const CATEGORIES: Record<string, { label: string; icon: string }> = {
  system: { label: "System prompt", icon: "settings-gear" },
  tools: { label: "Tool declarations", icon: "tools" },
  user: { label: "User", icon: "account" },
  assistant: { label: "Assistant", icon: "hubot" },
  toolResults: { label: "Tool outputs", icon: "terminal" },
  summary: { label: "Summary of what left", icon: "note" },
  activeTask: { label: "The request being worked on", icon: "target" },
  restoredFiles: { label: "Restored files", icon: "files" },
  handoff: { label: "Handoff", icon: "arrow-swap" },
  pin: { label: "Pinned", icon: "pinned" },
  media: { label: "Images and other media", icon: "file-media" },
  unseen: { label: "Counted by the provider, not seen here", icon: "question" },
};

/** What a session holds, largest first, then what left it. */
export function childrenOf(
  watched: Watched,
  found: Projection,
  outputs: readonly RecallEntry[],
  pins: ContextPinsResult,
): Node[] {
  const session = watched.info;
  const items = found.items ?? [];
  const categories = (found.categories ?? [])
    .filter(({ name, tokens }) => tokens > 0 && !(name === "pin" && pins.pins.length))
    .sort((a, b) => b.tokens - a.tokens)
    .map(({ name, tokens, bytes }): Node => {
      const held = items.filter((item) => item.category === name);
      return {
        kind: "category",
        session,
        name,
        tokens,
        bytes,
        share: found.tokens ? tokens / found.tokens : 0,
        items: held,
        files: name === "restoredFiles" ? (watched.compaction?.restoredFiles ?? []) : [],
      };
    });
  const nodes: Node[] = categories;
  const evicted = outputs.filter((entry) => !entry.inContext);
  if (pins.pins.length)
    nodes.push({ kind: "pins", session, pins: pins.pins, tokens: pins.tokens, budget: pins.budget });
  if (evicted.length) nodes.push({ kind: "outputs", session, entries: evicted.reverse() });
  return nodes;
}

/** Children that need no daemon; undefined for those that do. */
export function heldBy(node: Node): Node[] | undefined {
  switch (node.kind) {
    case "category":
      if (node.files.length) return node.files.map((file) => ({ kind: "file", session: node.session, file }));
      return [...node.items]
        .sort((a, b) => b.tokens - a.tokens)
        .map((item) => ({ kind: "item", session: node.session, item }));
    case "outputs":
      return node.entries.map((entry) => ({ kind: "output", session: node.session, entry }));
    case "pins":
      return node.pins.map((pin) => ({ kind: "pin", session: node.session, pin }));
    case "folder":
    case "session":
      return undefined;
    default:
      return [];
  }
}

/** An id that stays when the tree is drawn anew, so that what is expanded stays so. */
export function keyOf(node: Node): string {
  switch (node.kind) {
    case "folder":
      return node.uri;
    case "session":
      return node.watched.info.sessionId;
    case "category":
      return `${node.session.sessionId}/${node.name}`;
    case "item":
      return `${node.session.sessionId}/item/${node.item.messageId}`;
    case "output":
      return `${node.session.sessionId}/output/${node.entry.toolCallId}/${node.entry.digest}/${node.entry.turn}`;
    case "pin":
      return `${node.session.sessionId}/pin/${node.pin.pinId}`;
    case "file":
      return `${node.session.sessionId}/file/${node.file.path}`;
    default:
      return `${node.session.sessionId}/${node.kind}`;
  }
}

/** The handle with which a node's bytes can be fetched. */
export function handleOf(node: Node): string | undefined {
  if (node.kind === "output") return node.entry.digest;
  if (node.kind === "item") return node.item.handle ?? node.item.messageId;
  return undefined;
}

export function faceOf(node: Node, now: number): Face {
  const face = draw(node, now);
  return { ...face, spoken: [face.label, face.description].filter(Boolean).join(", ") };
}

function draw(node: Node, now: number): Omit<Face, "spoken"> {
  switch (node.kind) {
    case "folder":
      return {
        label: node.name,
        description: "",
        tooltip: node.uri,
        icon: "folder",
        context: "folder",
        expands: true,
      };
    case "session":
      return drawSession(node.watched, node.active, node.several === true, now);
    case "category": {
      const { label, icon } = CATEGORIES[node.name] ?? { label: node.name, icon: "symbol-misc" };
      return {
        label,
        description: `${short(node.tokens)} · ${percent(node.share, 1)}`,
        tooltip: `${exact(node.tokens)} tokens, ${size(node.bytes)}${node.items.length ? `, ${plural(node.items.length, "message")}` : ""}`,
        icon,
        context: "category",
        expands: node.items.length > 0 || node.files.length > 0,
      };
    }
    case "item":
      return drawItem(node.item);
    case "outputs":
      return {
        label: "Left the context",
        description: plural(node.entries.length, "output"),
        tooltip: "Tool outputs that the model no longer sees whole. Each can be read again, byte for byte.",
        icon: "archive",
        context: "outputs",
        expands: true,
      };
    case "output":
      return {
        label: clip(`${node.entry.toolName || "tool output"} ${node.entry.target ?? ""}`, 80),
        description: size(node.entry.bytes),
        tooltip: `Turn ${node.entry.turn + 1}, ${size(node.entry.bytes)}\nTool call ${node.entry.toolCallId}\n${node.entry.digest}`,
        icon: "output",
        context: "output handle",
        expands: false,
      };
    case "pins":
      return {
        label: "Pins",
        description: `${short(node.tokens)} of ${short(node.budget)} tokens`,
        tooltip: "Kept word for word in every view. They have a budget of their own.",
        icon: "pinned",
        context: "pins",
        expands: true,
      };
    case "pin":
      return {
        label: node.pin.label ?? clip(node.pin.text ?? `message ${node.pin.messageId ?? ""}`, 60),
        description: `${short(node.pin.tokens)} tokens`,
        tooltip: clip(node.pin.text ?? node.pin.messageId ?? "", 400),
        icon: "pin",
        context: "pin",
        expands: false,
      };
    case "file":
      return {
        label: node.file.path,
        description: node.file.changed ? "changed since it was read" : "",
        tooltip: `${size(node.file.bytes)}${node.file.lines ? `, first ${plural(node.file.lines, "line")} shown` : ""}`,
        icon: "file",
        context: "file",
        expands: false,
      };
  }
}

function drawSession(watched: Watched, active: boolean, several: boolean, now: number): Omit<Face, "spoken"> {
  const { info, projection } = watched;
  const warnings = warningsOf(watched);
  const model = info.model?.id ?? info.dialect;
  const name = `${model} ${nickname(info.sessionId)}`;
  const lines = [`${info.sessionId}, updated ${ago(info.updatedAt, now)}`, ...warnings];
  const base = {
    label: name,
    tooltip: lines.join("\n"),
    context: active ? "session active" : "session",
    expands: true,
  };
  if (watched.trouble) {
    return {
      ...base,
      description: "cannot be read",
      tooltip: `${base.tooltip}\n${watched.trouble}`,
      icon: "warning",
      color: "list.warningForeground",
    };
  }
  if (!projection) return { ...base, description: ago(info.updatedAt, now), icon: "dashboard" };
  const phase = PHASES[projection.phase];
  const fill =
    projection.window === null
      ? short(projection.tokens)
      : `${percent(projection.tokens, projection.window)} · ${short(projection.tokens)} of ${short(projection.window)}`;
  const colors: Record<Projection["phase"], string | undefined> = {
    below_handoff: undefined,
    handoff_band: "charts.yellow",
    compaction_due: "charts.red",
    unknown: undefined,
  };
  const notes = [
    info.holder ? "written elsewhere" : "",
    info.durable ? "" : "not durable",
    active && several ? "in the gauge" : "",
  ];
  return {
    ...base,
    label: fill,
    description: [...notes.filter(Boolean), name].join(" · "),
    tooltip: `${base.tooltip}\n${exact(projection.tokens)} tokens, ${phase.meaning}`,
    icon: info.holder ? "lock" : phase.icon.replace(/^\$\(|\)$/g, ""),
    color: info.durable ? colors[projection.phase] : "list.warningForeground",
  };
}

const FIDELITIES: Record<Item["fidelity"], string> = {
  full: "",
  truncate: "shortened",
  compact: "shortened",
  summary: "summary",
  dropped: "left out",
};

function drawItem(item: Item): Omit<Face, "spoken"> {
  const label = item.label ? clip(item.label, 80) : item.messageId;
  const fidelity = FIDELITIES[item.fidelity];
  return {
    label,
    description: [short(item.tokens), fidelity].filter(Boolean).join(" · "),
    tooltip: `${exact(item.tokens)} tokens, ${size(item.bytes)}${fidelity ? `, ${fidelity}` : ""}\nMessage ${item.messageId}${item.handle ? `\nTool call ${item.handle}` : ""}`,
    icon: item.fidelity === "full" ? "circle-small-filled" : "fold",
    context: "item handle",
    expands: false,
  };
}
