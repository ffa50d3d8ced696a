// Another extension in the same extension host: it offers a language model, calls ctxd's client and tools, and
// measures how long the host is kept waiting. What it finds it writes into the folder of the workspace.

const { writeFileSync } = require("node:fs");
const path = require("node:path");
const { monitorEventLoopDelay } = require("node:perf_hooks");
const vscode = require("vscode");

const SUMMARY = "The test model answered.";
const INFORMATION = {
  id: "echo",
  name: "Echo",
  family: "echo",
  version: "1",
  maxInputTokens: 100000,
  maxOutputTokens: 8000,
  capabilities: {},
  // VS Code asks the person before another extension may use it, as it does for the models of Copilot.
  requiresAuthorization: true,
};
let asked = 0;
let isSlow = false;

exports.activate = (context) => {
  const folder = () => vscode.workspace.workspaceFolders[0].uri;
  const write = (name, found) => writeFileSync(path.join(folder().fsPath, name), JSON.stringify(found));
  const register = (name, run) =>
    context.subscriptions.push(
      vscode.commands.registerCommand(`consumer.${name}`, async () => {
        const found = await run().catch((error) => ({ error: String(error) }));
        write(`${name}.json`, found);
      }),
    );
  const client = async () => (await vscode.extensions.getExtension("ctxd.ctxd").activate()).getClient();
  const tool = async (name, input) => {
    const told = await vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined });
    return told.content.map((part) => part.value).join("");
  };
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();

  register("offer", async () => {
    const provider = vscode.lm.registerLanguageModelChatProvider("test", {
      provideLanguageModelChatInformation: async () => [INFORMATION],
      provideLanguageModelChatResponse: async (_model, _messages, _options, progress, token) => {
        asked++;
        if (isSlow) {
          write("waiting.json", { asked });
          await new Promise((resolve) => token.onCancellationRequested(resolve));
        }
        if (token.isCancellationRequested) return write("cancelled.json", { asked });
        progress.report(new vscode.LanguageModelTextPart(SUMMARY));
      },
      provideTokenCount: async () => 10,
    });
    context.subscriptions.push(provider);
    return { models: (await vscode.lm.selectChatModels({ vendor: "test" })).length };
  });
  register("slow", async () => {
    isSlow = true;
    return {};
  });
  const trace = (value) => async () => {
    await vscode.workspace.getConfiguration("ctxd").update("trace.server", value, vscode.ConfigurationTarget.Global);
    return {};
  };
  register("trace", trace("messages"));
  register("untrace", trace(undefined));
  register("remember", async () => {
    const topic = { workspace: folder().toString(), topic: "refunds", content: "- Refunds are off by one cent\n" };
    return (await client()).request("memory/write", topic);
  });
  register("use", async () => {
    const shared = await client();
    await shared.ready();
    const { sessions } = await shared.request("session/list", { workspace: folder().toString() });
    return {
      asked,
      sessions: sessions.length,
      tools: vscode.lm.tools.map(({ name }) => name).filter((name) => name.startsWith("ctxd_")),
      recall: await tool("ctxd_recall", { handle: "call_0" }),
      search: await tool("ctxd_recall", { query: "taxes" }),
      memory: await tool("ctxd_memory", { topic: "refunds" }),
    };
  });
  register("measure", async () => ({ p99: delay.percentile(99) / 1e6, longest: delay.max / 1e6 }));
};
