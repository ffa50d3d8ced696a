/** The gauge in the status bar. */

import * as vscode from "vscode";
import type { Gauge } from "../model/gauge.js";

const COLORS: Record<Gauge["severity"], string | undefined> = {
  none: undefined,
  warning: "statusBarItem.warningBackground",
  error: "statusBarItem.errorBackground",
};

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("ctxd.gauge", vscode.StatusBarAlignment.Right, 90);

  constructor() {
    this.item.name = "ctxd: agent context";
    this.item.command = { command: "ctxd.context.focus", title: "Show the agent context" };
  }

  show(gauge: Gauge | undefined): void {
    if (!gauge) return this.item.hide();
    const color = COLORS[gauge.severity];
    this.item.text = gauge.text;
    this.item.tooltip = new vscode.MarkdownString(gauge.tooltip, true);
    this.item.accessibilityInformation = { label: gauge.spoken, role: "button" };
    this.item.backgroundColor = color ? new vscode.ThemeColor(color) : undefined;
    this.item.show();
  }

  dispose(): void {
    this.item.dispose();
  }
}
