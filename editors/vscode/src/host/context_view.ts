/** The Context view: nodes of `model/tree` as VS Code draws them, read when somebody looks. */

import * as vscode from "vscode";
import type { Supervisor } from "../client/supervisor.js";
import { sentence, type Standing } from "../model/sampling.js";
import type { Sessions, Watched } from "../model/sessions.js";
import { childrenOf, faceOf, handleOf, heldBy, keyOf, type Node } from "../model/tree.js";
import type { RecallEntry } from "../protocol/types.js";

/** Entries of a page of `recall/list`. */
const PAGE = 1000;

export class ContextView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly onDidChangeTreeData: vscode.Event<Node | undefined>;
  private readonly changed = new vscode.EventEmitter<Node | undefined>();
  private readonly view: vscode.TreeView<Node>;
  private drawn = "";

  constructor(
    private readonly daemon: Supervisor,
    private readonly sessions: Sessions,
  ) {
    this.onDidChangeTreeData = this.changed.event;
    this.view = vscode.window.createTreeView("ctxd.context", { treeDataProvider: this, showCollapseAll: true });
    this.view.onDidChangeVisibility(() => this.update());
  }

  get visible(): boolean {
    return this.view.visible;
  }

  /** Draws anew if anything that is drawn has changed. */
  update(force = false): void {
    const { active } = this.sessions;
    const signature = JSON.stringify(
      this.sessions.all.map((w) => [
        w.info.sessionId,
        w.projection?.revision,
        w.projection?.tokens,
        w.info.holder?.pid,
        w.info.durable,
        w.trouble,
        w === active,
      ]),
    );
    if (!force && signature === this.drawn) return;
    this.drawn = signature;
    this.changed.fire(undefined);
  }

  /** Says above the tree what a person should know of summaries. */
  say(standing: Standing): void {
    const worth = standing.kind === "noModel" || standing.kind === "declined" || standing.kind === "failed";
    this.view.message = worth ? sentence(standing) : undefined;
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const face = faceOf(node, Date.now());
    const collapsed =
      node.kind === "session" && node.active
        ? vscode.TreeItemCollapsibleState.Expanded
        : vscode.TreeItemCollapsibleState.Collapsed;
    const item = new vscode.TreeItem(face.label, face.expands ? collapsed : vscode.TreeItemCollapsibleState.None);
    item.id = keyOf(node);
    item.description = face.description;
    item.tooltip = face.tooltip;
    item.iconPath = new vscode.ThemeIcon(face.icon, face.color ? new vscode.ThemeColor(face.color) : undefined);
    item.contextValue = face.context;
    item.accessibilityInformation = { label: face.spoken };
    if (handleOf(node)) item.command = { command: "ctxd.openOutput", title: "Open", arguments: [node] };
    if (node.kind === "file") item.command = { command: "ctxd.revealFile", title: "Reveal", arguments: [node] };
    return item;
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (this.daemon.state.kind !== "running") return [];
    if (!node) return this.roots();
    if (node.kind === "folder") return this.sessionsOf(node.uri);
    if (node.kind === "session") return this.contentsOf(node.watched);
    return heldBy(node) ?? [];
  }

  dispose(): void {
    this.view.dispose();
    this.changed.dispose();
  }

  private roots(): Node[] {
    const folders = vscode.workspace.workspaceFolders ?? [];
    if (folders.length < 2) return this.sessionsOf(undefined);
    return this.sessions.all.length
      ? folders.map((folder) => ({ kind: "folder", uri: folder.uri.toString(), name: folder.name }))
      : [];
  }

  private sessionsOf(uri: string | undefined): Node[] {
    const { active, all } = this.sessions;
    const wanted = uri === undefined ? undefined : vscode.Uri.parse(uri).fsPath;
    return all
      .filter(({ info }) => wanted === undefined || vscode.Uri.parse(info.workspace).fsPath === wanted)
      .map((watched) => ({ kind: "session", watched, active: watched === active, several: all.length > 1 }));
  }

  private async contentsOf(watched: Watched): Promise<Node[]> {
    const { sessionId } = watched.info;
    if (!this.daemon.openedAs(sessionId)) await this.sessions.read(sessionId);
    if (watched.trouble) return [];
    const [found, entries, pins] = await Promise.all([
      this.daemon.request("context/project", { sessionId, detail: "items" }),
      this.outputsOf(sessionId),
      this.daemon.has("context/pins")
        ? this.daemon.request("context/pins", { sessionId })
        : { pins: [], tokens: 0, budget: 0 },
    ]);
    return childrenOf(watched, found, entries, pins);
  }

  private async outputsOf(sessionId: string): Promise<RecallEntry[]> {
    const entries: RecallEntry[] = [];
    if (!this.daemon.has("recall/list")) return entries;
    let after: string | undefined;
    do {
      const page = await this.daemon.request("recall/list", { sessionId, limit: PAGE, ...(after ? { after } : {}) });
      entries.push(...page.entries);
      after = page.next;
    } while (after);
    return entries;
  }
}
