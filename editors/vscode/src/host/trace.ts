/**
 * Where the language client traces to: the log, as long as `ctxd.trace.server` says so. By itself the client
 * traces only while the log's level is Trace, whatever the setting says.
 */

import * as vscode from "vscode";

export class TraceChannel implements vscode.LogOutputChannel {
  readonly name = "ctxd trace";
  readonly onDidChangeLogLevel: vscode.Event<vscode.LogLevel>;
  private readonly changed = new vscode.EventEmitter<vscode.LogLevel>();
  private readonly following: vscode.Disposable;

  constructor(private readonly log: vscode.LogOutputChannel) {
    this.onDidChangeLogLevel = this.changed.event;
    this.following = vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("ctxd.trace.server")) this.changed.fire(this.logLevel);
    });
  }

  get logLevel(): vscode.LogLevel {
    const wanted = vscode.workspace.getConfiguration("ctxd").get("trace.server", "off");
    return wanted === "off" ? vscode.LogLevel.Off : vscode.LogLevel.Trace;
  }

  trace(message: string, ...given: unknown[]): void {
    this.log.info(message, ...given);
  }

  debug(message: string, ...given: unknown[]): void {
    this.log.debug(message, ...given);
  }

  info(message: string, ...given: unknown[]): void {
    this.log.info(message, ...given);
  }

  warn(message: string, ...given: unknown[]): void {
    this.log.warn(message, ...given);
  }

  error(error: string | Error, ...given: unknown[]): void {
    this.log.error(error, ...given);
  }

  append(value: string): void {
    this.log.append(value);
  }

  appendLine(value: string): void {
    this.log.appendLine(value);
  }

  replace(value: string): void {
    this.log.replace(value);
  }

  clear(): void {
    this.log.clear();
  }

  show(): void {
    this.log.show(true);
  }

  hide(): void {
    this.log.hide();
  }

  /** Leaves the log open, which is the window's. */
  dispose(): void {
    this.following.dispose();
    this.changed.dispose();
  }
}
