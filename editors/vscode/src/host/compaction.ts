/** Compacting with a look first: a plan is made and held, shown as a diff, then committed or discarded. */

import * as vscode from "vscode";
import { faultOf, sentenceOf } from "../client/link.js";
import type { Supervisor } from "../client/supervisor.js";
import { compare, refusalOf } from "../model/plan.js";
import type { Sessions } from "../model/sessions.js";
import { exact } from "../model/words.js";
import type { ContextCompactParams, HistoryMessage, SessionInfo } from "../protocol/types.js";
import { PLAN_SCHEME, type Texts } from "./documents.js";

interface Plan {
  info: SessionInfo;
  planId: string;
  uri: vscode.Uri;
  release(): Promise<void>;
}

interface Strategy extends vscode.QuickPickItem {
  strategy: NonNullable<ContextCompactParams["strategy"]>;
}

const STRATEGIES: readonly Strategy[] = [
  { label: "Let ctxd decide", strategy: "auto", detail: "Shortens outputs first; summarises if that is not enough." },
  {
    label: "Summary by a model",
    strategy: "model",
    detail: "A language model words the summary; what binds is kept without it.",
  },
  { label: "Without a model", strategy: "deterministic", detail: "At once, nothing is sent anywhere." },
];

export class Compaction implements vscode.Disposable {
  private plan: Plan | undefined;
  private readonly closing: vscode.Disposable;

  constructor(
    private readonly daemon: Supervisor,
    private readonly sessions: Sessions,
    private readonly texts: Texts,
  ) {
    this.closing = vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
      if (closed.some((tab) => showsPlan(tab, this.plan))) void this.discard();
    });
  }

  async begin(info: SessionInfo): Promise<void> {
    await this.discard();
    const picked = await vscode.window.showQuickPick(STRATEGIES, {
      title: "Compact the context",
      placeHolder: "Nothing changes before you have seen the plan",
    });
    if (!picked) return;
    const release = await this.sessions.acquire(info);
    let held = false;
    try {
      held = await this.make(info, picked.strategy, release);
    } finally {
      if (!held) await release();
    }
  }

  async commit(): Promise<void> {
    const plan = this.take();
    if (!plan) return;
    const { sessionId } = plan.info;
    try {
      const report = await this.daemon.request("context/commit", { sessionId, planId: plan.planId });
      const refusal = refusalOf(report);
      if (refusal) return void vscode.window.showWarningMessage(refusal);
      this.sessions.keep(sessionId, report);
      void this.tell(plan.info, report.before.tokens, report.after.tokens);
    } catch (error) {
      if (faultOf(error)?.kind !== "revisionConflict") throw error;
      void vscode.window.showWarningMessage(
        "The session went on since the plan was made, so nothing was changed. Plan again.",
      );
    } finally {
      await this.finish(plan);
    }
  }

  async discard(): Promise<void> {
    const plan = this.take();
    if (plan) await this.finish(plan);
  }

  async undo(info: SessionInfo): Promise<void> {
    const done = await this.sessions.writing(info, () =>
      this.daemon.request("context/undo", { sessionId: info.sessionId }),
    );
    this.sessions.take(info.sessionId, done.projection);
    void vscode.window.showInformationMessage(
      `The view before the compaction is back: ${exact(done.projection.tokens)} tokens.`,
    );
  }

  dispose(): void {
    this.closing.dispose();
  }

  /** Whether a plan is now held, and with it the session. */
  private async make(
    info: SessionInfo,
    strategy: Strategy["strategy"],
    release: () => Promise<void>,
  ): Promise<boolean> {
    const { sessionId } = info;
    const report = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Notification, title: "Planning the compaction", cancellable: true },
      async (_, token) => {
        try {
          return await this.daemon.request("context/compact", { sessionId, dryRun: true, strategy }, token);
        } catch (error) {
          if (token.isCancellationRequested) return undefined;
          throw error;
        }
      },
    );
    if (!report) return false;
    const refusal = refusalOf(report);
    if (refusal || !report.planId) {
      void vscode.window.showInformationMessage(refusal ?? "The daemon made no plan.");
      return false;
    }
    const comparison = compare(report, await this.viewOf(sessionId));
    const uri = await this.texts.showPlan(sessionId, report.planId, comparison);
    this.plan = { info, planId: report.planId, uri, release };
    void vscode.commands.executeCommand("setContext", "ctxd.planShown", true);
    void this.ask(comparison.verdict, report.planId);
    return true;
  }

  private async ask(verdict: string, planId: string): Promise<void> {
    const answer = await vscode.window.showInformationMessage(verdict, "Commit", "Discard");
    if (this.plan?.planId !== planId) return;
    if (answer === "Commit") await vscode.commands.executeCommand("ctxd.commitPlan");
    if (answer === "Discard") await this.discard();
  }

  private async tell(info: SessionInfo, before: number, after: number): Promise<void> {
    const answer = await vscode.window.showInformationMessage(
      `Compacted: ${exact(before)} → ${exact(after)} tokens.`,
      "Undo",
    );
    if (answer !== "Undo") return;
    try {
      await this.undo(info);
    } catch (error) {
      void vscode.window.showErrorMessage(sentenceOf(error));
    }
  }

  private async viewOf(sessionId: string): Promise<HistoryMessage[]> {
    const messages: HistoryMessage[] = [];
    let after: string | undefined;
    do {
      const page = await this.daemon.request("session/history", {
        sessionId,
        view: "model",
        ...(after ? { after } : {}),
      });
      messages.push(...page.messages);
      after = page.next;
    } while (after);
    return messages;
  }

  private take(): Plan | undefined {
    const plan = this.plan;
    this.plan = undefined;
    void vscode.commands.executeCommand("setContext", "ctxd.planShown", false);
    return plan;
  }

  private async finish(plan: Plan): Promise<void> {
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter((tab) => showsPlan(tab, plan));
    await vscode.window.tabGroups.close(tabs);
    this.texts.drop(plan.uri);
    await plan.release();
  }
}

function showsPlan(tab: vscode.Tab, plan: Plan | undefined): boolean {
  const { input } = tab;
  return (
    input instanceof vscode.TabInputTextDiff &&
    input.modified.scheme === PLAN_SCHEME &&
    input.modified.toString() === plan?.uri.toString()
  );
}
