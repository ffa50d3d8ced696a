/** VS Code's language models for summaries, and the tools that its agents can call. */

import * as vscode from "vscode";
import { sentenceOf } from "../client/link.js";
import type { Supervisor } from "../client/supervisor.js";
import type { LanguageModel } from "../model/sampling.js";
import type { Sessions } from "../model/sessions.js";
import { type MemoryInput, recall, type RecallInput, remember } from "../model/tools.js";

const JUSTIFICATION = "ctxd summarises the older part of an agent session, so that it fits the context window.";

/** The models there are now. */
export async function languageModels(): Promise<LanguageModel[]> {
  const chats = await vscode.lm.selectChatModels();
  return chats.map((chat) => ({
    name: chat.name,
    family: chat.family,
    async *send(messages, systemPrompt, cancellation) {
      const source = new vscode.CancellationTokenSource();
      const following = cancellation.onCancellationRequested(() => source.cancel());
      try {
        const prompt = [
          ...(systemPrompt ? [vscode.LanguageModelChatMessage.User(systemPrompt)] : []),
          ...messages.map(({ role, content }) =>
            role === "user"
              ? vscode.LanguageModelChatMessage.User(content.text)
              : vscode.LanguageModelChatMessage.Assistant(content.text),
          ),
        ];
        const answer = await chat.sendRequest(prompt, { justification: JUSTIFICATION }, source.token);
        yield* answer.text;
      } finally {
        following.dispose();
        source.dispose();
      }
    },
  }));
}

/** Registers the tools; an error is told to the model, in words. */
export function registerTools(daemon: Supervisor, sessions: Sessions): vscode.Disposable {
  const answer = async (told: Promise<string>): Promise<vscode.LanguageModelToolResult> => {
    const text = await told.catch(sentenceOf);
    return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
  };
  return vscode.Disposable.from(
    vscode.lm.registerTool<RecallInput>("ctxd_recall", {
      invoke: ({ input }) => answer(recall(daemon, input, sessions.active?.info.sessionId)),
      prepareInvocation: ({ input }) => ({
        invocationMessage: input.handle ? `Reading ${input.handle} again` : "Searching earlier tool outputs",
      }),
    }),
    vscode.lm.registerTool<MemoryInput>("ctxd_memory", {
      invoke: ({ input }) => answer(readMemory(daemon, input)),
      prepareInvocation: () => ({ invocationMessage: "Reading the workspace's memory" }),
    }),
  );
}

async function readMemory(daemon: Supervisor, input: MemoryInput): Promise<string> {
  const folder = vscode.workspace.workspaceFolders?.[0];
  if (!folder || !daemon.has("memory/index")) return "This daemon keeps no memory.";
  return remember((method, params) => daemon.send(method, params), folder.uri.toString(), input);
}
