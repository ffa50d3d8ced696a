/** Read-only documents: fetched outputs page by page, the two sides of a planned compaction, memory. */

import * as vscode from "vscode";
import { sentenceOf } from "../client/link.js";
import type { Supervisor } from "../client/supervisor.js";
import { addressParts, type Address, caption, fetchParams, parseAddress, render, SCHEME } from "../model/output.js";
import type { Comparison } from "../model/plan.js";
import type { RecallFetchResult } from "../protocol/types.js";

export const PLAN_SCHEME = "ctxd-plan";
const MEMORY_SCHEME = "ctxd-memory";

export function outputUri(address: Address): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, ...addressParts(address) });
}

/** Outputs. Each page is a document of its own; what leads to the next stands above its first line. */
export class Outputs implements vscode.TextDocumentContentProvider, vscode.CodeLensProvider {
  private readonly fetched = new Map<string, RecallFetchResult>();

  constructor(private readonly daemon: Supervisor) {}

  register(): vscode.Disposable {
    return vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.languages.registerCodeLensProvider({ scheme: SCHEME }, this),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.fetched.delete(uri.toString())),
    );
  }

  async open(address: Address): Promise<void> {
    const document = await vscode.workspace.openTextDocument(outputUri(address));
    await vscode.window.showTextDocument(document, { preview: true });
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    try {
      const found = await this.daemon.request("recall/fetch", fetchParams(parseAddress(uri.path, uri.query)));
      this.fetched.set(uri.toString(), found);
      return render(found);
    } catch (error) {
      return `This output cannot be shown: ${sentenceOf(error)}`;
    }
  }

  provideCodeLenses({ uri }: vscode.TextDocument): vscode.CodeLens[] {
    const found = this.fetched.get(uri.toString());
    if (!found) return [];
    const address = parseAddress(uri.path, uri.query);
    const top = new vscode.Range(0, 0, 0, 0);
    const turn = (title: string, page: number): vscode.CodeLens =>
      new vscode.CodeLens(top, { title, command: "ctxd.openOutput", arguments: [{ ...address, page }] });
    return [
      new vscode.CodeLens(top, { title: caption(found), command: "" }),
      ...(found.page > 0 ? [turn("$(arrow-left) Previous Page", found.page - 1)] : []),
      ...(found.page + 1 < found.pages ? [turn("Next Page $(arrow-right)", found.page + 1)] : []),
      new vscode.CodeLens(top, { title: "Copy Handle", command: "ctxd.copyHandle", arguments: [address.handle] }),
    ];
  }
}

/** Texts that are given, by path: the sides of a plan, pages of memory. */
export class Texts implements vscode.TextDocumentContentProvider {
  readonly onDidChange: vscode.Event<vscode.Uri>;
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly texts = new Map<string, string>();

  constructor() {
    this.onDidChange = this.changed.event;
  }

  register(): vscode.Disposable {
    return vscode.Disposable.from(
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(PLAN_SCHEME, this),
      vscode.workspace.registerTextDocumentContentProvider(MEMORY_SCHEME, this),
    );
  }

  async showPlan(sessionId: string, planId: string, comparison: Comparison): Promise<vscode.Uri> {
    const before = this.put(PLAN_SCHEME, `/${sessionId}/${planId}/now.ctxd-plan`, comparison.before);
    const after = this.put(PLAN_SCHEME, `/${sessionId}/${planId}/after.ctxd-plan`, comparison.after);
    await vscode.commands.executeCommand("vscode.diff", before, after, comparison.title, { preview: true });
    return after;
  }

  async showMemory(name: string, text: string): Promise<void> {
    const uri = this.put(MEMORY_SCHEME, `/${name}.md`, text);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true });
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "This is no longer kept.";
  }

  drop(uri: vscode.Uri): void {
    this.texts.delete(uri.toString());
  }

  private put(scheme: string, path: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme, path });
    this.texts.set(uri.toString(), text);
    this.changed.fire(uri);
    return uri;
  }
}
