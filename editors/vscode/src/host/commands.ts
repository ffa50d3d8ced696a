/** What the palette and the menus do, beside compaction and replay. */

import * as vscode from "vscode";
import type { Supervisor } from "../client/supervisor.js";
import type { Address } from "../model/output.js";
import type { Sessions, Watched } from "../model/sessions.js";
import { textIn } from "../model/tools.js";
import { faceOf, handleOf, type Node } from "../model/tree.js";
import { clip, exact } from "../model/words.js";
import type { Pin, SessionExportParams, SessionInfo } from "../protocol/types.js";
import type { Outputs, Texts } from "./documents.js";

const FORMATS: { label: string; format: SessionExportParams["format"]; language: string; detail: string }[] = [
  { label: "Markdown", format: "markdown", language: "markdown", detail: "For people to read" },
  { label: "JSON lines", format: "jsonl", language: "jsonl", detail: "For programs: every message with its facts" },
  { label: "Native messages", format: "native", language: "json", detail: "As the provider takes them" },
];

export class Commands {
  constructor(
    private readonly daemon: Supervisor,
    private readonly sessions: Sessions,
    private readonly outputs: Outputs,
    private readonly texts: Texts,
  ) {}

  /** The session of a node, else the one of the gauge. Throws where there is none. */
  sessionOf(node: Node | undefined): SessionInfo {
    const found =
      node?.kind === "session"
        ? node.watched.info
        : node && "session" in node
          ? node.session
          : this.sessions.active?.info;
    if (!found) throw new Error("There is no agent session in this workspace yet.");
    return found;
  }

  async chooseSession(node: Node | undefined): Promise<void> {
    if (node?.kind === "session") return this.sessions.choose(node.watched.info.sessionId);
    const active = this.sessions.active;
    const items = this.sessions.all.map((watched: Watched) => {
      const face = faceOf({ kind: "session", watched, active: watched === active, several: true }, Date.now());
      return { label: `$(${face.icon}) ${face.label}`, description: face.description, id: watched.info.sessionId };
    });
    const picked = await vscode.window.showQuickPick(items, { title: "Which session does the gauge show?" });
    if (picked) this.sessions.choose(picked.id);
  }

  async pinSelection(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const text = editor?.document.getText(editor.selection).trim();
    if (!editor || !text) throw new Error("Select the text to pin first.");
    const info = this.sessionOf(undefined);
    const label = `${vscode.workspace.asRelativePath(editor.document.uri)}:${editor.selection.start.line + 1}`;
    const pin = await this.sessions.writing(info, () =>
      this.daemon.request("context/pin", { sessionId: info.sessionId, text, label }),
    );
    void vscode.window.showInformationMessage(
      `Pinned: ${exact(pin.tokens)} tokens; ${exact(pin.budgetLeft)} are left for pins.`,
    );
  }

  async unpin(node: Node | undefined): Promise<void> {
    const info = this.sessionOf(node);
    const pinId = node?.kind === "pin" ? node.pin.pinId : await this.choosePin(info);
    if (!pinId) return;
    await this.sessions.writing(info, () => this.daemon.request("context/unpin", { sessionId: info.sessionId, pinId }));
  }

  async fork(node: Node | undefined): Promise<void> {
    const info = this.sessionOf(node);
    const made = await this.daemon.request("session/fork", { sessionId: info.sessionId });
    await this.daemon.request("session/close", { sessionId: made.sessionId });
    this.sessions.choose(made.sessionId);
    await this.sessions.refresh();
    void vscode.window.showInformationMessage("Forked. The gauge shows the new session.");
  }

  async export(node: Node | undefined): Promise<void> {
    const { sessionId } = this.sessionOf(node);
    const picked = await vscode.window.showQuickPick(FORMATS, { title: "Export the session as" });
    if (!picked) return;
    const made = await this.daemon.request("session/export", { sessionId, format: picked.format });
    const document = made.path
      ? await vscode.workspace.openTextDocument(vscode.Uri.file(made.path))
      : await vscode.workspace.openTextDocument({ content: made.content ?? "", language: picked.language });
    await vscode.window.showTextDocument(document);
  }

  async openOutput(given: Node | Address | undefined): Promise<void> {
    if (given && "handle" in given) return this.outputs.open(given);
    const info = this.sessionOf(given);
    const handle = given ? handleOf(given) : await this.askHandle(info);
    if (!handle) return;
    const title =
      given?.kind === "output"
        ? `${given.entry.toolName || "output"} ${given.entry.target ?? given.entry.turn + 1}`
        : given?.kind === "item"
          ? (given.item.label ?? handle)
          : handle;
    await this.outputs.open({ sessionId: info.sessionId, handle, page: 0, title });
  }

  async copyHandle(given: Node | string | undefined): Promise<void> {
    const handle =
      typeof given === "string" ? given : given?.kind === "output" ? given.entry.toolCallId : given && handleOf(given);
    if (handle) await vscode.env.clipboard.writeText(handle);
  }

  async revealFile(node: Node | undefined): Promise<void> {
    if (node?.kind !== "file") return;
    const uri = vscode.Uri.joinPath(vscode.Uri.parse(node.session.workspace), node.file.path);
    await vscode.window.showTextDocument(uri, { preview: true });
  }

  async showMemory(): Promise<void> {
    const folder = await this.chooseFolder();
    if (!folder) return;
    const workspace = folder.uri.toString();
    const { topics } = (await this.daemon.send("memory/list", { workspace })) as {
      topics: { name: string; bytes: number }[];
    };
    const index = { label: "$(list-unordered) Index", description: "what agents see of it at first", topic: "" };
    const items = [
      index,
      ...topics.map(({ name, bytes }) => ({ label: name, description: `${exact(bytes)} bytes`, topic: name })),
    ];
    const picked = await vscode.window.showQuickPick(items, { title: "Memory of this workspace" });
    if (!picked) return;
    const answer = picked.topic
      ? await this.daemon.send("memory/read", { workspace, topic: picked.topic })
      : await this.daemon.send("memory/index", { workspace });
    await this.texts.showMemory(picked.topic || "memory", textIn(answer) || "Nothing is noted yet.");
  }

  private async chooseFolder(): Promise<vscode.WorkspaceFolder | undefined> {
    const folders = vscode.workspace.workspaceFolders ?? [];
    return folders.length > 1 ? vscode.window.showWorkspaceFolderPick() : folders[0];
  }

  private async choosePin(info: SessionInfo): Promise<string | undefined> {
    const { pins } = await this.daemon.request("context/pins", { sessionId: info.sessionId });
    if (!pins.length) throw new Error("Nothing is pinned in this session.");
    const items = pins.map((pin: Pin) => ({
      label: pin.label ?? clip(pin.text ?? pin.messageId ?? "", 60),
      description: `${exact(pin.tokens)} tokens`,
      id: pin.pinId,
    }));
    return (await vscode.window.showQuickPick(items, { title: "Let go of which pin?" }))?.id;
  }

  private async askHandle(info: SessionInfo): Promise<string | undefined> {
    const { entries } = await this.daemon.request("recall/list", { sessionId: info.sessionId, limit: 1000 });
    const items = entries.reverse().map((entry) => ({
      label: `$(${entry.inContext ? "eye" : "archive"}) ${entry.toolName || "output"} ${entry.target ?? ""}`,
      description: `${exact(entry.bytes)} bytes, turn ${entry.turn + 1}${entry.inContext ? "" : ", left the context"}`,
      detail: entry.toolCallId,
      handle: entry.digest,
    }));
    return (
      await vscode.window.showQuickPick(items, {
        title: "Open which output?",
        matchOnDescription: true,
        matchOnDetail: true,
      })
    )?.handle;
  }
}
