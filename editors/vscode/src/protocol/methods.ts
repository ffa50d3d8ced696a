// Written by `make protocol` from the daemon's own types. Do not edit.

import type {
  CompactionReport,
  ContextCommitParams,
  ContextCompactParams,
  ContextContainsParams,
  ContextContainsResult,
  ContextDidChangeParams,
  ContextEventParams,
  ContextPinParams,
  ContextPinResult,
  ContextPinsParams,
  ContextPinsResult,
  ContextPrepareParams,
  ContextPrepareResult,
  ContextProjectParams,
  ContextReportParams,
  ContextReportResult,
  ContextUndoParams,
  ContextUndoResult,
  ContextUnpinParams,
  ContextValidateParams,
  ContextValidateResult,
  ContractDeclareParams,
  ContractRecordParams,
  ContractRecordResult,
  ContractStatusParams,
  ContractStatusResult,
  Empty,
  GuardSanitizeParams,
  GuardSanitizeResult,
  Health,
  HookPreCompactParams,
  HookPreCompactResult,
  MemoryDeleteParams,
  MemoryIndexParams,
  MemoryIndexResult,
  MemoryListParams,
  MemoryListResult,
  MemoryReadParams,
  MemoryReadResult,
  MemorySearchParams,
  MemorySearchResult,
  MemoryWriteParams,
  MemoryWriteResult,
  Projection,
  PromptBuildParams,
  PromptBuildResult,
  RecallFetchParams,
  RecallFetchResult,
  RecallListParams,
  RecallListResult,
  RecallSearchParams,
  RecallSearchResult,
  RewindReport,
  SamplingCreateMessageParams,
  SamplingCreateMessageResult,
  SessionAppendParams,
  SessionAppendResult,
  SessionCloseParams,
  SessionDeleteParams,
  SessionDidChangeParams,
  SessionExportParams,
  SessionExportResult,
  SessionForkParams,
  SessionHealthParams,
  SessionHistoryParams,
  SessionHistoryResult,
  SessionInfo,
  SessionListParams,
  SessionListResult,
  SessionOpenParams,
  SessionRewindParams,
  SessionSearchParams,
  SessionSearchResult,
  SessionUpdateParams,
  StatusParams,
  StatusResult,
  SteerPendingParams,
  SteerPendingResult,
  SteerPushParams,
  SteerPushResult,
  TokensCountParams,
  TokensCountResult,
  ToolsCallParams,
  ToolsCallResult,
  ToolsListParams,
  ToolsListResult,
  WorkspaceDidChangeFilesParams,
  WorkspaceReadFileParams,
  WorkspaceReadFileResult,
  WorkspaceRecentFilesParams,
  WorkspaceRecentFilesResult,
  WorkspaceTouchParams,
} from "./types.js";

/** Requests a host may send. */
export interface RequestsToDaemon {
  /** Open a session, or create it; become its writer unless another process is. */
  "session/open": { params: SessionOpenParams; result: SessionInfo };
  /** Change model, system prompt or tools. */
  "session/update": { params: SessionUpdateParams; result: SessionInfo };
  /** Append native messages; answered when they are on disk, all or none. */
  "session/append": { params: SessionAppendParams; result: SessionAppendResult };
  /** Read the history for people, or the model view. */
  "session/history": { params: SessionHistoryParams; result: SessionHistoryResult };
  /** List sessions, the most recently updated first. */
  "session/list": { params: SessionListParams; result: SessionListResult };
  /** Search what was said, in one session or in all that are open in a workspace. */
  "session/search": { params: SessionSearchParams; result: SessionSearchResult };
  /** Begin a new session with the past of another, up to a message. */
  "session/fork": { params: SessionForkParams; result: SessionInfo };
  /** Go on from before something the user said; what followed stays in the log. */
  "session/rewind": { params: SessionRewindParams; result: RewindReport };
  /** Export the transcript for people or for other programs. */
  "session/export": { params: SessionExportParams; result: SessionExportResult };
  /** How a session's log is: what did not verify, who holds it. */
  "session/health": { params: SessionHealthParams; result: Health };
  /** Delete a session for good. */
  "session/delete": { params: SessionDeleteParams; result: Empty };
  /** Close a session and let go of its lease. */
  "session/close": { params: SessionCloseParams; result: Empty };
  /** Make the next request: elide and compact as needed, and say what was done. */
  "context/prepare": { params: ContextPrepareParams; result: ContextPrepareResult };
  /** Say how a prepared request went; append its answer, anchor on its usage, recover from overflow. */
  "context/report": { params: ContextReportParams; result: ContextReportResult };
  /** Predict the size of the next request. */
  "context/project": { params: ContextProjectParams; result: Projection };
  /** Compact the model view now, or plan it. */
  "context/compact": { params: ContextCompactParams; result: CompactionReport };
  /** Apply a plan made before, while the session still stands where it was made. */
  "context/commit": { params: ContextCommitParams; result: CompactionReport };
  /** Bring back the model view before a checkpoint; messages since then stay. */
  "context/undo": { params: ContextUndoParams; result: ContextUndoResult };
  /** Check a message list against the rules of its provider, and repair it. */
  "context/validate": { params: ContextValidateParams; result: ContextValidateResult };
  /** Keep a text or a message, word for word, in every model view. */
  "context/pin": { params: ContextPinParams; result: ContextPinResult };
  /** Let a pin go. */
  "context/unpin": { params: ContextUnpinParams; result: Empty };
  /** List the pins and what they cost. */
  "context/pins": { params: ContextPinsParams; result: ContextPinsResult };
  /** Whether the model view shows an output, a message or a file's newest read whole. */
  "context/contains": { params: ContextContainsParams; result: ContextContainsResult };
  /** Count the tokens of a text or of messages. */
  "tokens/count": { params: TokensCountParams; result: TokensCountResult };
  /** Fetch a tool output or a message back, byte for byte, page by page. */
  "recall/fetch": { params: RecallFetchParams; result: RecallFetchResult };
  /** List what can be fetched. */
  "recall/list": { params: RecallListParams; result: RecallListResult };
  /** Search all tool outputs ever stored, by words of what they printed and what they were about. */
  "recall/search": { params: RecallSearchParams; result: RecallSearchResult };
  /** Declarations of the tools a model may call through the daemon, native to a dialect. */
  "tools/list": { params: ToolsListParams; result: ToolsListResult };
  /** Call one of them for a session. What the model gets wrong is an answer with `isError`. */
  "tools/call": { params: ToolsCallParams; result: ToolsCallResult };
  /** The index of a workspace's memory, within bounds; what is left out is named. */
  "memory/index": { params: MemoryIndexParams; result: MemoryIndexResult };
  /** List the topics. */
  "memory/list": { params: MemoryListParams; result: MemoryListResult };
  /** Read a topic whole, with the provenance of what ctxd wrote in it. */
  "memory/read": { params: MemoryReadParams; result: MemoryReadResult };
  /** Add entries to a topic, or replace it. */
  "memory/write": { params: MemoryWriteParams; result: MemoryWriteResult };
  /** Delete a topic; its last version stays in the ledger. */
  "memory/delete": { params: MemoryDeleteParams; result: Empty };
  /** Search topics and episodes by words, English and Chinese. */
  "memory/search": { params: MemorySearchParams; result: MemorySearchResult };
  /** Put a system prompt together: given texts, the workspace's instruction files, extras, memory apart. */
  "prompt/build": { params: PromptBuildParams; result: PromptBuildResult };
  /** The files the session touched last that a compaction would show, and why others may not be shown. */
  "workspace/recentFiles": { params: WorkspaceRecentFilesParams; result: WorkspaceRecentFilesResult };
  /** Read lines of a file of the workspace, as many as a tool result may hold. */
  "workspace/readFile": { params: WorkspaceReadFileParams; result: WorkspaceReadFileResult };
  /** Say something into the turn that runs; the next prepared request takes it in. */
  "steer/push": { params: SteerPushParams; result: SteerPushResult };
  /** List what waits for the next prepared request. */
  "steer/pending": { params: SteerPendingParams; result: SteerPendingResult };
  /** Say what must be preserved through every compaction, and what is to be delivered. */
  "contract/declare": { params: ContractDeclareParams; result: Empty };
  /** Say how a validator's run ended; the outcome holds while the files it was about do not change. */
  "contract/record": { params: ContractRecordParams; result: ContractRecordResult };
  /** Whether what was declared is there: files, and a pass of every required validator. */
  "contract/status": { params: ContractStatusParams; result: ContractStatusResult };
  /** Cut secrets out of a text, shorten bulk, mark what reads like orders. No security boundary. */
  "guard/sanitize": { params: GuardSanitizeParams; result: GuardSanitizeResult };
  /** How the daemon is. */
  "ctxd/status": { params: StatusParams; result: StatusResult };
}

/** Notifications a host may send. */
export interface NotificationsToDaemon {
  /** A file was read or changed, apart from any message. */
  "workspace/touch": { params: WorkspaceTouchParams };
}

/** Requests the daemon may send. */
export interface RequestsToHost {
  /** Ask the host's model for a summary; only of hosts that say they can. */
  "sampling/createMessage": { params: SamplingCreateMessageParams; result: SamplingCreateMessageResult };
  /** Ask the host whether a compaction may happen; only of hosts that have this hook. */
  "hook/preCompact": { params: HookPreCompactParams; result: HookPreCompactResult };
}

/** Notifications the daemon may send. */
export interface NotificationsToHost {
  /** A compaction began or ended, with its numbers. */
  "context/event": { params: ContextEventParams };
  /** The model view changed other than by an append of the host. */
  "context/didChange": { params: ContextDidChangeParams };
  /** What the daemon may do with a session, or its health, is another now. */
  "session/didChange": { params: SessionDidChangeParams };
  /** Files that some session touched were changed, moved or deleted. */
  "workspace/didChangeFiles": { params: WorkspaceDidChangeFilesParams };
}
