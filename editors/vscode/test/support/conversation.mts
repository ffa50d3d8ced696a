/** A conversation in the `anthropic` dialect: what a user asks, then reads of files, then an answer. */
export function conversation(turns: number, bytes = 6000): object[] {
  return Array.from({ length: turns }, (_, turn) => [
    { role: "user", content: `Question ${turn}: never touch file ${turn}.` },
    {
      role: "assistant",
      content: [{ type: "tool_use", id: `call_${turn}`, name: "Read", input: { file_path: `src/file${turn}.py` } }],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: `call_${turn}`, content: `line of file ${turn}\n`.repeat(bytes / 16) },
      ],
    },
    { role: "assistant", content: [{ type: "text", text: `File ${turn} is fine.` }] },
  ]).flat();
}

export const MODEL = { id: "claude-sonnet-4-5", contextWindow: 60_000 };
