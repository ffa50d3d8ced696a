// Written by `make protocol` from the daemon's own types. Do not edit.

/** Files to deliver. */
export interface Artifact {
  name: string;
  /** Path pattern; `*`, `?`, and `**` across folders. */
  pattern: string;
}

/** Counts of artifacts declared by contract. */
export interface ArtifactAudit {
  total: number;
  referenced: number;
  reinjected: number;
}

/** What a compaction kept, counted. */
export interface Audit {
  constraints: ConstraintAudit;
  exactRecords: RecordAudit;
  artifacts: ArtifactAudit;
  invariants: InvariantAudit;
  toolOutputs: ToolOutputAudit;
  filesMentioned: FileAudit;
}

/** Thresholds as fractions of window minus reserve. `reserve`: output tokens, 0 for the rule. */
export interface BudgetOptions {
  handoffRatio?: number;
  compactionRatio?: number;
  reserve?: number;
}

/** Size of the request as JSON. */
export interface ByteSize {
  /** Bytes. */
  value: number;
  /** Largest request the provider takes, bytes. */
  limit?: number;
}

/** What rewriting the cached prefix costs, in tokens of plain input. */
export interface CacheCost {
  writeTokens: number;
  /** Saved by each later call. */
  savedTokens: number;
  /** Calls after which it has paid off. */
  breakEvenCalls: number;
  /** What writing it costs, US dollars, where the catalog knows the price. */
  writeUsd?: number;
  /** What each later call saves, US dollars. */
  savedUsd?: number;
}

/** Price of writing and reading a cached prefix, relative to plain input. */
export interface CacheOptions {
  writePremium?: number;
  readFactor?: number;
  expectedCalls?: number;
}

/** What the request does to a provider's prompt cache, against the session's previous `prepare`. */
export interface CacheReport {
  /** Leading messages that are byte-equal to last time. */
  stablePrefixMessages: number;
  /** Index of the first message that is not. */
  invalidatedAt?: number;
  /** Why the prefix changed. */
  reason?: string;
  cost?: CacheCost;
}

/** A share of the request. */
export interface Category {
  /** What it is: `system`, `tools`, `user`, `assistant`, `toolResults` … */
  name: string;
  tokens: number;
  bytes: number;
}

/** The provider's own clearing of tool results (Anthropic only; behaviour.md, section 4). Off by default. `keep`: newest tool uses it leaves alone. `trigger` and `clearAtLeast`: input tokens, 0 leaves them to the provider. `excludeTools`: names of tools it must not clear. */
export interface ClearingOptions {
  enabled?: boolean;
  keep?: number;
  trigger?: number;
  clearAtLeast?: number;
  excludeTools?: string[];
}

/** `auto` false never compacts on its own. `keepMessages`: newest messages always kept whole. `pinTokens`: what pins may cost together, at most; also at most a tenth of the input budget. `hookTimeoutMs`: how long a host may take to allow or block one. */
export interface CompactionOptions {
  auto?: boolean;
  keepMessages?: number;
  pinTokens?: number;
  hookTimeoutMs?: number;
}

/** What a compaction did, would do, or could not do. */
export interface CompactionReport {
  outcome: "applied" | "planned" | "inputRequired" | "noop" | "blocked" | "failed" | "cannotReach";
  strategy?: "model" | "deterministic" | "elision";
  trigger: "manual" | "auto";
  reason: "threshold" | "contextLimit" | "turnLimit" | "manual" | "modelChange";
  checkpointId?: string;
  /** For `context/commit`. */
  planId?: string;
  before: Size;
  after: Size;
  /** Tokens that were aimed at. */
  target: number;
  /** What cannot be compacted, tokens. */
  floor: number;
  units: UnitReport[];
  /** The task state carried on. */
  ledger?: SessionSummary;
  audit: Audit;
  restoredFiles: RestoredFile[];
  /** Recently touched files that are not put back, the newest of them. */
  rejectedFiles?: RejectedFile[];
  /** What was remembered after an applied checkpoint; it cannot make one fail. */
  memory?: RememberedReport;
  /** Pinned messages and texts kept whole. */
  pins: number;
  /** Samples taken from a model. */
  attempts: number;
  /** Times the summariser's input had to shrink. */
  inputReductions: number;
  /** Usage the summariser reported, native. */
  usage?: Record<string, JsonValue>;
  failureReason?: string;
  cache: CacheReport;
  /** With `inputRequired`: what the host should ask its model. */
  sampling?: SamplingCreateMessageParams;
}

/** Counts of constraint quotes. */
export interface ConstraintAudit {
  total: number;
  /** Still word for word in the view. */
  verbatim: number;
  /** Put back by the daemon. */
  reinjected: number;
}

/** Parameters of `context/commit`. */
export interface ContextCommitParams {
  /** Id of the session. */
  sessionId: string;
  /** From a dry run, or from a report that asks for input. */
  planId: string;
  /** The model's text, where the plan asked for one. */
  summary?: string;
}

/** Parameters of `context/compact`. */
export interface ContextCompactParams {
  /** Id of the session. */
  sessionId: string;
  trigger?: "manual" | "auto";
  /** `model` always asks for a summary, `deterministic` never; `auto` may stop at elision. */
  strategy?: "auto" | "model" | "deterministic";
  /** What the summary is to look after. */
  instructions?: string;
  /** Message id; what is newer stays as it is. */
  upTo?: string;
  /** Size to aim at, tokens. */
  targetTokens?: number;
  /** Answer the plan, change nothing. */
  dryRun?: boolean;
  /** How the host gives a summary: asked by the daemon, or with `context/commit`. */
  delivery?: "request" | "inline";
  /** Token for `$/progress`. */
  workDoneToken?: string | number;
}

/** Parameters of `context/contains`: a handle or a path. */
export interface ContextContainsParams {
  /** Id of the session. */
  sessionId: string;
  /** Tool call id, digest or message id. */
  handle?: string;
  /** A file, as tools name it. */
  path?: string;
}

/** Whether the model view shows it whole. */
export interface ContextContainsResult {
  inContext: boolean;
  /** Id of the message that shows it. */
  since?: string;
  /** Why not: an elision's reason, `compacted`, `changed` (written since), `neverRead`, `partial` (`since` shows a part of it). */
  reason?: string;
}

/** `context/didChange`: the model view changed other than by an append of the host. */
export interface ContextDidChangeParams {
  /** Id of the session. */
  sessionId: string;
  revision: number;
  generation: number;
  projection: Projection;
  /** What changed it. */
  cause: string;
}

/** `context/event`: a compaction began or ended. */
export interface ContextEventParams {
  schema: "ctxd.event.v1";
  kind: "phase";
  /** Id of the session. */
  sessionId: string;
  phase: "compaction";
  stage: "start" | "complete";
  /** Messages of the view, calibrated tokens. */
  tokens: number;
  /** Messages of the view. */
  messages: number;
}

/** Parameters of `context/pin`: a text or a message. */
export interface ContextPinParams {
  /** Id of the session. */
  sessionId: string;
  /** Words to keep in every view. */
  text?: string;
  /** A message to keep whole. */
  messageId?: string;
  /** For people. */
  label?: string;
}

/** The pin that was made. */
export interface ContextPinResult {
  pinId: string;
  /** What it costs in every view. */
  tokens: number;
  /** What further pins may cost. */
  budgetLeft: number;
}

/** Parameters of `context/pins`. */
export interface ContextPinsParams {
  /** Id of the session. */
  sessionId: string;
}

/** The pins of a session, oldest first. */
export interface ContextPinsResult {
  pins: Pin[];
  /** What they cost together. */
  tokens: number;
  /** What they may cost together. */
  budget: number;
}

/** Parameters of `context/prepare`. */
export interface ContextPrepareParams {
  /** Id of the session. */
  sessionId: string;
  /** `turnStart` may elide deeply, `iteration` keeps old history, `retry` must shrink. */
  phase: "turnStart" | "iteration" | "retry";
  /** Native messages that this request adds and nobody appends. */
  pending?: Native[];
}

/** The request to send. */
export interface ContextPrepareResult {
  /** Ties the report to this call. */
  requestId: string;
  revision: number;
  generation: number;
  /** The model view, pending included. */
  messages: Native[];
  system?: NativeValue;
  tools?: Native[];
  fingerprint: string;
  projection: Projection;
  report: PromptReport;
  /** Extra field for the provider's own clearing. */
  contextManagement?: Record<string, JsonValue>;
  cache: CacheReport;
  steering: SteerNote[];
  /** What of the messages did not cross from the dialect it came in; absent where all did. */
  losses?: Loss[];
}

/** Parameters of `context/project`. */
export interface ContextProjectParams {
  /** Id of the session. */
  sessionId: string;
  /** Native messages that the next request would add, not appended yet. */
  pending?: Native[];
  /** How much to itemise. */
  detail?: "summary" | "categories" | "items";
}

/** Parameters of `context/report`. */
export interface ContextReportParams {
  /** Id of the session. */
  sessionId: string;
  /** From `context/prepare`. */
  requestId: string;
  outcome: "ok" | "error" | "aborted";
  /** The answer, native, to be appended. */
  messages?: Native[];
  /** One per message, null for none. */
  meta?: (MessageMeta | null)[];
  /** Usage as the provider reported it, native. */
  usage?: Record<string, JsonValue>;
  error?: ProviderError;
  /** Whether anything of the answer had arrived. */
  outputStarted?: boolean;
}

/** The session after the answer. */
export interface ContextReportResult {
  revision: number;
  /** Ids of the appended messages. */
  messageIds: string[];
  projection: Projection;
  /** Secrets that were cut out of tool outputs; absent for none. */
  redacted?: Redacted[];
  /** Present after an error. */
  recovery?: Recovery;
  /** How many items of steering wait, absent for none: even after a final answer the turn has one more round, which takes them in. */
  pendingSteering?: number;
}

/** Parameters of `context/undo`. */
export interface ContextUndoParams {
  /** Id of the session. */
  sessionId: string;
  /** The newest that stands, when absent. */
  checkpointId?: string;
}

/** The session with the earlier view. */
export interface ContextUndoResult {
  revision: number;
  generation: number;
  projection: Projection;
}

/** Parameters of `context/unpin`. */
export interface ContextUnpinParams {
  /** Id of the session. */
  sessionId: string;
  pinId: string;
}

/** Parameters of `context/validate`. */
export interface ContextValidateParams {
  /** Message format. */
  dialect: string;
  messages: Native[];
  /** Also answer a list that can be sent. */
  repair?: boolean;
}

/** What is broken, and the repaired list if asked for. */
export interface ContextValidateResult {
  ok: boolean;
  violations: Violation[];
  repaired?: Native[];
  edits?: Edit[];
}

/** Parameters of `contract/declare`; replaces the contract before it. */
export interface ContractDeclareParams {
  /** Id of the session. */
  sessionId: string;
  /** What is to be delivered. */
  artifacts: Artifact[];
  /** Sentences to keep word for word once they were said. */
  invariants: string[];
  validators?: Validator[];
}

/** Something that is missing, or a warning. */
export interface ContractLack {
  kind: "contract" | "workspace" | "artifact" | "validator";
  /** `undeclared`; of an artifact `noFile` or an error kind; of a validator `notRun`, `fail`, `timeout`, `error`, or `stale`: it passed, and files it was about have changed. */
  reason: string;
  /** The artifact's name or the validator's id. */
  name?: string;
  /** An artifact's pattern. */
  pattern?: string;
  /** A validator's phase. */
  phase?: string;
  /** The reason the host gave with the outcome. */
  detail?: string;
}

/** Parameters of `contract/record`: how a run of a declared validator ended. */
export interface ContractRecordParams {
  /** Id of the session. */
  sessionId: string;
  validatorId: string;
  status: "pass" | "fail" | "timeout" | "error";
  /** The host's words, for people. */
  reason?: string;
  /** A file of the workspace with the evidence. */
  evidencePath?: string;
  /** The call whose output is the evidence; it is not elided. */
  toolCallId?: string;
  /** How long the run took, milliseconds. */
  durationMs?: number;
}

/** The outcome is on disk, bound to the workspace's files as they are. */
export interface ContractRecordResult {
  revision: number;
}

/** Parameters of `contract/status`. */
export interface ContractStatusParams {
  /** Id of the session. */
  sessionId: string;
}

/** Whether all that is required is there. */
export interface ContractStatusResult {
  /** Whether nothing is missing. */
  ready: boolean;
  missing: ContractLack[];
  /** What is optional and not there. */
  warnings: ContractLack[];
}

/** A decision of the session. */
export interface Decision {
  /** 0 is the first user turn. */
  atTurn: number;
  summary: string;
  rationale?: string;
  /** True once it no longer holds. */
  stale?: boolean;
}

/** One change that repairs a message list. */
export interface Edit {
  rule: string;
  /** Position in the `messages` given. */
  index: number;
  action: string;
  detail: string;
}

/** Elision. `startAt` 0 elides whatever the age and size rules name. */
export interface ElisionOptions {
  enabled?: boolean;
  startAt?: number;
  target?: number;
  staleTurns?: number;
  oversizedBytes?: number;
  keepTurns?: number;
  minMessages?: number;
  cacheExpiredMs?: number;
  cacheKeepTurns?: number;
  cacheMinMessages?: number;
  recentFiles?: number;
}

/** The answer `{}` of a method that has nothing to say. */
export interface Empty {
}

/** The `data` of an error. Hosts switch on `kind`; the other members are facts of some kinds. */
export interface ErrorData {
  kind:
    | "parseError"
    | "invalidRequest"
    | "unknownMethod"
    | "notInitialized"
    | "cancelled"
    | "internal"
    | "invalidParams"
    | "sessionNotFound"
    | "sessionLocked"
    | "readOnly"
    | "revisionConflict"
    | "invalidMessages"
    | "unknownDialect"
    | "blocked"
    | "busy"
    | "cannotReach"
    | "checkpointFailed"
    | "storageFull"
    | "storageFailed"
    | "damaged"
    | "notFound"
    | "ambiguous"
    | "corrupt"
    | "expired"
    | "outsideWorkspace"
    | "symlinkRefused"
    | "notRegularFile"
    | "tooLarge"
    | "sensitive"
    | "noSampler"
    | "timeout";
  /** What to do about it. */
  hint?: string;
  /** `invalidParams`. */
  errors?: FieldError[];
  /** `invalidMessages`. */
  violations?: Violation[];
  /** `sessionLocked`. */
  holder?: Holder;
  /** `revisionConflict`: what the caller sent. */
  expected?: number | string;
  /** `revisionConflict`: the session's revision, or the topic's digest. */
  actual?: number | string;
  /** `revisionConflict` of files: those the session did not edit, at most 50. */
  paths?: string[];
  /** `cannotReach`, tokens. */
  floor?: number;
  /** `cannotReach`, tokens. */
  target?: number;
  /** `ambiguous`. */
  candidates?: RecallCandidate[];
  /** `sensitive`: the rule that matched, never the secret. */
  rule?: string;
  /** `tooLarge`: size given. */
  bytes?: number;
  /** `tooLarge`: size allowed, bytes. */
  limit?: number;
  /** `tooLarge`: size given, of a pin. */
  tokens?: number;
  /** `tooLarge`: tokens that pins may have together. */
  budget?: number;
  /** `unknownDialect`: those there are. */
  dialects?: string[];
  /** `invalidRequest`: the id of a request that still runs. */
  id?: number | string;
  /** `sessionNotFound`: the id given. */
  sessionId?: string;
  /** `notFound`: the request nobody prepared last. */
  requestId?: string;
  /** `notFound`: the plan that is not kept. */
  planId?: string;
  /** `notFound`: the pin there is not. */
  pinId?: string;
  /** `notFound`: the parameter that names nothing. */
  field?: string;
  /** `notFound`: the topics there are. */
  topics?: string[];
  /** `corrupt`, `notFound`: `sha256:<hex>` of the bytes. */
  digest?: string;
  /** `corrupt`: number of the log's segment. */
  segment?: number;
  /** `corrupt`: where in the segment, bytes. */
  offset?: number;
  /** `storageFull`, `storageFailed`: the system's error number. */
  errno?: number;
  /** `checkpointFailed`: the error kind behind it. */
  cause?: string;
  /** `internal`: names the entry in the daemon's log. */
  errorId?: string;
}

/** A line that is to be carried on word for word. */
export interface ExactRecord {
  /** One of the seven headings of a summary. */
  heading: string;
  payload: string;
}

/** One field that is wrong. */
export interface FieldError {
  /** Dotted: `messages.3.content.0.text`; empty for the parameters as a whole. */
  path: string;
  /** What is wrong with it; never its value. */
  message: string;
}

/** Counts of file paths mentioned. */
export interface FileAudit {
  before: number;
  after: number;
  recoverable: number;
}

/** What stands between secrets in tool outputs and the disk. */
export interface Guard {
  /** `off`: by option, outputs are stored with the secrets in them. `idle`: loaded when the first call is made. `unavailable`: the scanner could not be loaded, outputs are kept unscanned. */
  secrets: "off" | "idle" | "loading" | "ready" | "unavailable";
  /** Messages nobody could scan yet. */
  unscanned: number;
}

/** Something found in a text; never the text itself. */
export interface GuardFinding {
  /** `secret.<rule>`, `data-uri`, `long-hex`, or a class of text that reads like orders to a model: `system-override`, `role-confusion`, `tool-call-injection`, `secret-extraction`, `instruction-injection`. */
  kind: string;
  severity: "low" | "medium" | "high";
  span: Passage;
  /** `refused`: cut out, and a memory with it would not be written. `noted`: left as it is. */
  action: "redacted" | "refused" | "shortened" | "marked" | "noted";
}

/** `secrets` false stores what tools say as it is, secrets included; every session says so. `sanitize`: show what tools say with data URIs and long hexadecimal shortened and with what reads like orders to a model marked as untrusted; recall gives it as it came. `timeoutMs`: how long one message's outputs may be scanned before they are kept aside unscanned. */
export interface GuardOptions {
  secrets?: boolean;
  sanitize?: boolean;
  timeoutMs?: number;
}

/** Parameters of `guard/sanitize`. */
export interface GuardSanitizeParams {
  /** Text from outside. */
  text: string;
  /** What it is to become: a memory with a secret in it is refused. */
  kind?: "toolOutput" | "memory";
}

/** The text as it may be shown to a model. */
export interface GuardSanitizeResult {
  text: string;
  /** In order of their places. */
  findings: GuardFinding[];
}

/** The hidden message of the band between the thresholds. */
export interface HandoffOptions {
  enabled?: boolean;
}

/** The state of a session's log. */
export interface Health {
  status: "clean" | "torn" | "damaged";
  /** Bytes that did not verify; they are kept. */
  spans: RecoveredSpan[];
  bytes: number;
  segments: number;
  durable: boolean;
  access: "write" | "readOnly";
  holder?: Holder;
  /** Records this version could not read; they are kept and skipped. */
  unreadable: number;
}

/** One message of a history. */
export interface HistoryMessage {
  messageId: string;
  message: Native;
  /** True for a message people do not see. */
  hidden?: boolean;
  /** How much of it the next request shows; absent for all. */
  fidelity?: "full" | "truncate" | "compact" | "summary" | "dropped";
  /** In the model view: the tool call id, else the message id, that recalls what is missing. */
  handle?: string;
}

/** The process that writes a session. */
export interface Holder {
  /** Its process id. */
  pid: number;
  /** Name of its machine. */
  host: string;
  /** When that process began, as its system tells it. */
  start: string;
  /** The host program it serves, where known. */
  client?: string;
}

/** Parameters of `hook/preCompact`: may this compaction happen? */
export interface HookPreCompactParams {
  /** Id of the session. */
  sessionId: string;
  trigger: "manual" | "auto";
  reason: string;
  messagesBefore: number;
  tokensBefore: number;
}

/** The host's word. A block ends the compaction; nothing changes then. */
export interface HookPreCompactResult {
  decision: "allow" | "block";
  reason?: string;
  /** What the summary is to look after. */
  instructions?: string;
}

/** Counts of invariants declared by contract. */
export interface InvariantAudit {
  total: number;
  held: number;
  reinjected: number;
}

/** One message's share of the request. */
export interface Item {
  messageId: string;
  tokens: number;
  bytes: number;
  /** How much of the original the view shows. */
  fidelity: "full" | "truncate" | "compact" | "summary" | "dropped";
  /** Which message unit it belongs to, from 0: a unit is kept or let go as a whole. */
  unit?: number;
  /** The tool call id, else the message id, that recalls what is missing. */
  handle?: string;
  /** What it is where ctxd made it: `summary`, `activeTask`, `pin` … */
  inserted?: string;
  /** The category it counts for. */
  category?: string;
  /** The tool calls that it makes or answers, by name and target. */
  label?: string;
}

export type JsonValue = unknown;

/** Lines of a file, and how many of their bytes to skip. */
export interface LineRange {
  startLine: number;
  endLine: number;
  offset?: number;
}

/** Something of a message that another provider does not take, and that is left out for it. */
export interface Loss {
  messageId: string;
  /** `role`: a system message said as the user's. `name`: a tool name that was changed. `rule`: a law of the provider leaves it out. */
  what: "reasoning" | "signature" | "item" | "cacheMark" | "media" | "citations" | "role" | "name" | "rule";
  /** What it was, without its content. */
  detail: string;
}

/** Parameters of `memory/delete`. */
export interface MemoryDeleteParams {
  /** File URI of the workspace's folder. */
  workspace: string;
  /** Name of a topic; `MEMORY` is the index. */
  topic: string;
}

/** A line that ctxd wrote, and where it comes from. Lines without one are a person's. */
export interface MemoryEntry {
  /** 1-based. */
  line: number;
  /** Milliseconds since 1970. */
  writtenAt: number;
  /** Whose words it is. */
  author: "user" | "model" | "host";
  sessionId?: string;
  /** Where it was said. */
  messageId?: string;
  /** True once a newer entry took its place. */
  superseded?: boolean;
}

/** What may still be written before a bound is reached. */
export interface MemoryHeadroom {
  lines: number;
  bytes: number;
  tokens: number;
}

/** An answer. */
export interface MemoryHit {
  kind: "topic" | "episode";
  /** The topic, or the checkpoint of the episode. */
  name: string;
  text: string;
  /** Share of what was asked that it covers, 0 to 1. */
  score: number;
  sessionId?: string;
}

/** Parameters of `memory/index`. */
export interface MemoryIndexParams {
  /** File URI of the workspace's folder. */
  workspace: string;
}

/** The index within its bounds. What it leaves out it names, in the text too. */
export interface MemoryIndexResult {
  text: string;
  /** Lines of `text`. */
  lines: number;
  /** Lines of the index file that are left out. */
  omittedLines: number;
  /** Bytes of `text`. */
  bytes: number;
  /** Tokens of `text`, by o200k. */
  tokens?: number;
  /** Exactly which lines those are. */
  omitted?: MemoryOmission[];
  /** Topics that are not listed. */
  omittedTopics?: string[];
}

/** Parameters of `memory/list`. */
export interface MemoryListParams {
  /** File URI of the workspace's folder. */
  workspace: string;
}

/** All topics, the most recently changed first. */
export interface MemoryListResult {
  topics: MemoryTopic[];
}

/** Lines of the index file that are left out. */
export interface MemoryOmission {
  /** First line, 1-based. */
  first: number;
  /** Last line. */
  last: number;
  bytes: number;
  /** Day of the oldest entry among them. */
  since?: string;
  /** Day of the newest entry among them. */
  until?: string;
}

/** Project memory. `enabled` false shows, finds and writes nothing. `location`: the state folder, or `.ctxd/memory` in the workspace. `consolidate`: what the user asked to remember is written down after a compaction. `episodes`: each compaction is kept to be found later. The index is shown within `indexLines`, `indexBytes` and `indexTokens`; a topic is at most `topicLines` and `topicBytes`, and `topicTokens` is where its headroom ends. `vectors`: search by meaning too, with `ctxd-server[vectors]`. */
export interface MemoryOptions {
  enabled?: boolean;
  location?: "state" | "workspace";
  consolidate?: boolean;
  episodes?: boolean;
  indexLines?: number;
  indexBytes?: number;
  indexTokens?: number;
  topicLines?: number;
  topicBytes?: number;
  topicTokens?: number;
  vectors?: boolean;
}

/** Parameters of `memory/read`. */
export interface MemoryReadParams {
  /** File URI of the workspace's folder. */
  workspace: string;
  /** Name of a topic; `MEMORY` is the index. */
  topic: string;
}

/** A topic as it is now. */
export interface MemoryReadResult {
  text: string;
  /** `sha256:<hex>` of the topic's bytes. */
  digest: string;
  /** The newest 1,000 that ctxd wrote. */
  entries?: MemoryEntry[];
}

/** Parameters of `memory/search`. */
export interface MemorySearchParams {
  /** File URI of the workspace's folder. */
  workspace: string;
  query: string;
  limit?: number;
}

/** Answers, best first, newest first among equals; none where nothing known is asked for. */
export interface MemorySearchResult {
  hits: MemoryHit[];
  /** The hits as a model may be shown them: quoted, as untrusted background. */
  text?: string;
}

/** A topic in a listing. */
export interface MemoryTopic {
  name: string;
  bytes: number;
  /** Milliseconds since 1970. */
  modifiedAt: number;
}

/** Parameters of `memory/write`. */
export interface MemoryWriteParams {
  /** File URI of the workspace's folder. */
  workspace: string;
  /** Name of a topic; `MEMORY` is the index. */
  topic: string;
  content: string;
  mode?: "append" | "overwrite";
  /** Write only if the topic still has it; empty: only if there is none. */
  ifDigest?: string;
}

/** The topic as it was written. */
export interface MemoryWriteResult {
  /** `sha256:<hex>` of the topic's bytes. */
  digest: string;
  headroom: MemoryHeadroom;
  /** Entries that were there already. */
  duplicates?: number;
  /** Older entries whose place these took. */
  superseded?: number;
}

/** What a host knows about a message beside its native form. */
export interface MessageMeta {
  /** The host's own id; the daemon's message id when given. */
  id?: string;
  /** What its tool calls did, where the host knows. */
  kind?: "read" | "write";
  /** Whether its tool results are errors, where the dialect cannot say. */
  isError?: boolean;
  /** Files its tool calls touched. */
  files?: TouchedFile[];
  /** Keep it whole in every model view. */
  pin?: boolean;
  /** In the model view only; people never see it. */
  hidden?: boolean;
  /** Usage the provider reported with this response, native. */
  usage?: Record<string, JsonValue>;
}

/** The model a session talks to. */
export interface Model {
  /** The provider's name of the model. */
  id: string;
  /** Who serves it, where the id alone does not say. */
  provider?: string;
  /** Context window, tokens; 0 or absent is unknown. */
  contextWindow?: number;
  /** Explicit output cap, tokens; 0 or absent is unknown. */
  maxOutputTokens?: number;
}

/** `windows`: model id to context window in tokens, for models the catalog does not know. */
export interface ModelOptions {
  windows?: Record<string, number>;
}

/** A file the session changed. */
export interface Mutation {
  path: string;
  /** How: `edited`, `written`. */
  role: string;
}

/** One message, item, content or tool of the session's dialect, passed through untouched. */
export type Native = Record<string, unknown>;

/** A native value of the session's dialect that need not be an object, passed through untouched. */
export type NativeValue = unknown;

/** All settings, every one with its default. */
export interface Options {
  storage?: StorageOptions;
  model?: ModelOptions;
  budget?: BudgetOptions;
  elision?: ElisionOptions;
  clearing?: ClearingOptions;
  compaction?: CompactionOptions;
  handoff?: HandoffOptions;
  summarizer?: SummarizerOptions;
  recall?: RecallOptions;
  cache?: CacheOptions;
  guard?: GuardOptions;
  workspace?: WorkspaceOptions;
  memory?: MemoryOptions;
  wire?: WireOptions;
}

/** Where something stands in the text as it was given: bytes of its UTF-8. */
export interface Passage {
  start: number;
  end: number;
}

/** One pin. */
export interface Pin {
  pinId: string;
  /** The pinned words. */
  text?: string;
  /** The pinned message. */
  messageId?: string;
  label?: string;
  tokens: number;
}

/** The agent's plan as its todo or plan tool last set it: steps, or prose that was agreed on. */
export interface PlanSnapshot {
  /** The message with that call. */
  messageId: string;
  steps: PlanStep[];
  text?: string;
}

/** A step of the agent's plan. */
export interface PlanStep {
  text: string;
  status: "pending" | "inProgress" | "completed" | "cancelled";
}

/** The predicted size of the next request. */
export interface Projection {
  /** Predicted prompt, tokens. */
  tokens: number;
  /** Lower end of the interval learned from this session's own errors, tokens. */
  low: number;
  /** Upper end, tokens. */
  high: number;
  /** Whether reported usage anchors the number. */
  source: "provider" | "provider_plus_estimate" | "local_estimate" | "unknown";
  /** The part of `tokens` that is an estimate on top of reported usage. */
  estimatedPendingTokens?: number;
  /** Where the size stands against the thresholds. */
  phase: "below_handoff" | "handoff_band" | "compaction_due" | "unknown";
  /** Context window, tokens; null when unknown. */
  window: number | null;
  /** Kept free for the answer, tokens; null when the window is unknown. */
  reserve: number | null;
  /** Window minus reserve, tokens; null when unknown. */
  availableForInput: number | null;
  /** Tokens; null when the window is unknown. */
  handoffThreshold: number | null;
  /** Tokens; null when the window is unknown. */
  compactionThreshold: number | null;
  /** What cannot be compacted (system, tools, pins, newest unit), tokens. */
  floor: number;
  /** False when the floor alone reaches the compaction threshold. */
  reachable: boolean;
  bytes: ByteSize;
  /** With detail `categories` or `items`. */
  categories?: Category[];
  /** With detail `items`. */
  items?: Item[];
  /** Digest of system, tools, history, pending and model; stable over restarts. */
  fingerprint: string;
  revision: number;
  generation: number;
}

/** Parameters of `prompt/build`. A text that is given, a blank one too, is not looked for. */
export interface PromptBuildParams {
  /** URI of the workspace's folder. */
  workspace: string;
  /** What the prompt begins with. */
  base?: string;
  /** Instead of `CLAUDE.md`, `.octos/instructions.md`, `.claude/instructions.md`. */
  projectInstructions?: string;
  /** Instead of `AGENTS.md`, `.octos/agents.md` or `agents.md`. */
  agents?: string;
  extras?: PromptExtra[];
}

/** The prompt in two parts: what stays the same, and what does not. */
export interface PromptBuildResult {
  /** For the system prompt; the same as long as the layers are. */
  text: string;
  /** For a message behind the cached prefix: what changes from session to session. */
  volatile?: string;
  layers: PromptLayer[];
}

/** A text of the host's own, behind everything else. */
export interface PromptExtra {
  /** Its heading. A later extra of the same title takes the place of an earlier. */
  title?: string;
  text: string;
}

/** One layer, in the order of the prompt. */
export interface PromptLayer {
  kind: "base" | "projectInstructions" | "agents" | "extra" | "memory";
  /** The file it comes from, relative to the workspace. */
  path?: string;
  /** The heading of an extra. */
  title?: string;
  /** UTF-8 bytes of its text; of a file that is too large, of the file. */
  bytes: number;
  /** Why it is not in the prompt: `blank`, `tooLarge` (above 64 KiB), `binary`, or an error kind such as `symlinkRefused`. */
  skipped?: string;
  /** True for what is in `volatile`, not in `text`. */
  volatile?: boolean;
}

/** What `prepare` did to the prompt. */
export interface PromptReport {
  phase: "turnStart" | "iteration" | "retry";
  /** Whether the view changed other than by growth at its end. */
  promptReplaced: boolean;
  compactionPerformed: boolean;
  messagesBefore: number;
  messagesAfter: number;
  tokensBefore: number;
  tokensAfter: number;
  generation: number;
  stages: Stage[];
  /** `overBudget`: the request may not fit. */
  outcome: "ok" | "overBudget";
}

/** An error as the provider gave it. */
export interface ProviderError {
  /** HTTP status. */
  status?: number;
  /** The provider's error code or type. */
  code?: string;
  message?: string;
  /** The error body, whatever it is. */
  body?: JsonValue;
}

/** The user's own words. */
export interface Quote {
  text: string;
  /** Where they were said. */
  messageId: string;
  /** Message id of a newer statement on the same subject. */
  supersededBy?: string;
  /** The earlier statement that words like `make that 12` are about. */
  about?: string;
}

/** More was asked for than a tool result may hold. */
export interface RangeHint {
  path: string;
  /** Size of the whole file. */
  bytes: number;
  /** Lines of the whole file. */
  lines: number;
  /** What one answer may hold. */
  budgetBytes: number;
  /** `lineTooLong`: the first line alone is more; read it by `offset`. */
  reason: "overBudget" | "lineTooLong";
  /** The longest range from the same line on that fits. */
  suggestion: LineRange;
}

/** One owner of a reused tool call id. */
export interface RecallCandidate {
  /** 0-based, oldest first. */
  occurrence: number;
  messageId: string;
  digest: string;
  bytes: number;
  toolName: string;
}

/** A tool output that can be fetched. */
export interface RecallEntry {
  toolCallId: string;
  toolName: string;
  /** 0 is the first user turn. */
  turn: number;
  /** Length of its stored form. */
  bytes: number;
  digest: string;
  /** Whether the model view still shows it whole. */
  inContext: boolean;
  /** What its call was about: a path, a command. */
  target?: string;
}

/** Parameters of `recall/fetch`: one of three ids, and at most one way to say which part. */
export interface RecallFetchParams {
  /** Id of the session. */
  sessionId: string;
  toolCallId?: string;
  /** `sha256:<hex>` of the stored form. */
  digest?: string;
  messageId?: string;
  /** Which owner of a reused id, 0-based, oldest first. */
  occurrence?: number;
  /** 0-based; clamped to what there is. */
  page?: number;
  /** First byte. */
  offset?: number;
  /** How many bytes. */
  length?: number;
  /** First line, 1-based. */
  startLine?: number;
  /** Last line, included. */
  endLine?: number;
}

/** A part of what was stored. */
export interface RecallFetchResult {
  status: "ok";
  content: string;
  encoding: "utf-8" | "base64";
  /** 0-based. */
  page: number;
  pages: number;
  /** Length of the whole stored form, bytes. */
  totalBytes: number;
  /** `sha256:<hex>` of the whole stored form. */
  digest: string;
  toolName: string;
  /** Secrets that were cut out before it was stored. */
  redactions: number;
  /** The next call; absent on the last page. */
  next?: RecallNext;
  /** All owners, when the id was reused and no `occurrence` was given. */
  candidates?: RecallCandidate[];
}

/** An output that matches. */
export interface RecallHit {
  toolCallId: string;
  digest: string;
  /** The page of `recall/fetch` on which the words stand closest together. */
  page: number;
  /** The line they stand in, from 1. */
  line: number;
  /** The byte from which `recall/fetch` brings the words and what follows. */
  offset: number;
  /** The words around the match. */
  snippet: string;
  /** Higher is better; comparable within one answer. */
  score: number;
  /** For a reused id: which owner. */
  occurrence?: number;
}

/** Parameters of `recall/list`. */
export interface RecallListParams {
  /** Id of the session. */
  sessionId: string;
  /** `next` of the page before. */
  after?: string;
  /** At most so many entries. */
  limit?: number;
}

/** A page of what can be fetched, oldest first. */
export interface RecallListResult {
  entries: RecallEntry[];
  /** `after` of the next page; absent on the last. */
  next?: string;
}

/** Parameters of the exact next `recall/fetch`. */
export interface RecallNext {
  /** Id of the session. */
  sessionId: string;
  toolCallId?: string;
  digest?: string;
  messageId?: string;
  occurrence?: number;
  page?: number;
  offset?: number;
  length?: number;
  startLine?: number;
  endLine?: number;
}

/** How much of tool results is shown when they arrive, and how they are read again. `spillBytes`: a stored form longer than this is shown as its first `headBytes`, its last `tailBytes` and a handle. `turnBytes`: what all results of one assistant turn show together, at most; where they are more, each is cut to its part of that. Both are scaled down in small windows: a turn shows at most `turnShare` of the window (a token taken for 4 bytes), one result half of that. `pageBytes`: size of one recall page. */
export interface RecallOptions {
  spillBytes?: number;
  turnBytes?: number;
  turnShare?: number;
  headBytes?: number;
  tailBytes?: number;
  pageBytes?: number;
}

/** Parameters of `recall/search`. */
export interface RecallSearchParams {
  /** Id of the session. */
  sessionId: string;
  /** Words to look for. */
  query: string;
  /** Only outputs of this tool. */
  toolName?: string;
  /** Only inside the output of this call; the hits are its best places. */
  toolCallId?: string;
  /** Only inside the output with this digest. */
  digest?: string;
  /** For a reused call id: which owner. */
  occurrence?: number;
  /** At most so many hits; 10 when absent. */
  limit?: number;
}

/** Hits, best first. */
export interface RecallSearchResult {
  hits: RecallHit[];
}

/** A file that the session touched and that may be shown. */
export interface RecentFile {
  /** Relative to the session's folder; absolute in another announced one. */
  path: string;
  /** The newest thing done to it. */
  op: "read" | "edit" | "write";
  /** When, milliseconds since 1970, UTC. */
  accessedAt: number;
  /** Whether it changed after that, as far as can be told. */
  changedSince: boolean;
  /** What can be told. */
  freshness: "changed" | "unchanged" | "unknown";
}

/** Counts of exact records. */
export interface RecordAudit {
  total: number;
  verbatim: number;
}

/** Bytes of the log that did not verify. They are kept in place and skipped. */
export interface RecoveredSpan {
  /** Number of the segment. */
  segment: number;
  /** Where they begin, bytes. */
  offset: number;
  /** How many bytes. */
  length: number;
  /** Digest of those bytes, hex. */
  sha256: string;
  /** `torn`: an unacknowledged tail; the others are damage. */
  reason: "torn" | "damaged" | "gap" | "stale";
}

/** What to do about an error. */
export interface Recovery {
  /** `retry`: prepare again with phase `retry`. */
  action: "retry" | "fail";
  reason: string;
  report?: CompactionReport;
}

/** Secrets that were cut out before anything was stored. */
export interface Redacted {
  messageId: string;
  toolCallId?: string;
  /** The rule that found them; never a secret. */
  rule: string;
  /** How many it found in this output. */
  count: number;
}

/** A file that the session touched and that may not be shown. */
export interface RefusedFile {
  path: string;
  /** An error kind, or `binary`, `generated`, `empty`. */
  reason: string;
}

/** A recently touched file that is not put back. */
export interface RejectedFile {
  path: string;
  /** An error kind (`outsideWorkspace`, `sensitive`, …), `binary`, `generated`, `empty`, `inView` or `noRoom`. */
  reason: string;
}

/** What a compaction left in the workspace's memory. */
export interface RememberedReport {
  outcome: "written" | "nothing" | "disabled" | "failed";
  /** Entries added, in the user's own words. */
  entries: number;
  /** Where they were added. */
  topics: string[];
  /** Entries that hold secrets, or whose topic is full. */
  rejected: number;
  /** Entries that were there already. */
  duplicates: number;
  /** Episodes kept for `memory/search`. */
  episodes: number;
  /** With `failed`: an error kind. */
  failure?: string;
}

/** An error object of JSON-RPC. */
export interface ResponseError {
  code: number;
  /** For people. No content, no traceback. */
  message: string;
  data: ErrorData;
}

/** A recently touched file put back after a checkpoint. */
export interface RestoredFile {
  path: string;
  bytes: number;
  /** Whether it is known to have changed since the session last saw it. */
  changed: boolean;
  /** The same, with what cannot be told said. */
  changedSince?: "changed" | "unchanged" | "unknown";
  /** Leading lines that are shown. */
  lines?: number;
  /** `sha256:<hex>` of the whole file. */
  digest?: string;
}

/** What a rewind did or would do. */
export interface RewindReport {
  to: string;
  /** False for a dry run. */
  applied: boolean;
  /** Messages that leave the conversation. */
  messages: number;
  /** Compactions that are undone by it. */
  checkpoints: number;
  tokensBefore: number;
  tokensAfter: number;
  /** The beginning of the message gone back to. */
  preview: string;
  /** Files brought back to what they were then. */
  files: ctxd__server__wire__sessions__FileChange[];
  revision: number;
  generation: number;
}

/** Parameters of `sampling/createMessage`: ask a model for a summary, without tools. */
export interface SamplingCreateMessageParams {
  messages: SamplingMessage[];
  systemPrompt?: string;
  maxTokens: number;
  temperature: 0;
  metadata: SamplingMetadata;
}

/** The model's answer. */
export interface SamplingCreateMessageResult {
  /** `{type: "text", text}`; anything else is no summary. */
  content: Record<string, JsonValue>;
  model?: string;
  stopReason?: string;
  /** As the provider reported it, native. */
  usage?: Record<string, JsonValue>;
}

/** One message of a summary's prompt. */
export interface SamplingMessage {
  role: "user" | "assistant";
  content: TextContent;
}

/** What the request is for. It must not be cached, and the host must not retry it. */
export interface SamplingMetadata {
  purpose: "compaction";
  /** Id of the session. */
  sessionId: string;
  /** 1 is the first of at most three. */
  attempt: number;
  cacheRetention: "none";
  retries: 0;
}

/** A tool result that the model view shows otherwise than it came: shortened, or marked as untrusted. */
export interface Sanitized {
  messageId: string;
  toolCallId: string;
  /** What was found: `data-uri`, `long-hex` or a class of injection. */
  kinds: string[];
}

/** Parameters of `session/append`. */
export interface SessionAppendParams {
  /** Id of the session. */
  sessionId: string;
  /** Native messages, oldest first. */
  messages: Native[];
  /** One per message, null for none; as long as `messages`. */
  meta?: (MessageMeta | null)[];
  /** Append nothing unless the session stands at this revision. */
  expectedRevision?: number;
  /** The host's id of this call: repeating it appends nothing twice. */
  clientId?: string;
}

/** What became of the messages; sent only when they are on disk. */
export interface SessionAppendResult {
  /** The session's revision after the append. */
  revision: number;
  /** Ids in the order of `messages`. */
  messageIds: string[];
  spilled: Spilled[];
  /** Results with bulk or with orders in them; recall gives them as they came. */
  sanitized?: Sanitized[];
  redacted: Redacted[];
  /** Sentences about what was accepted but is odd; no content. */
  warnings: string[];
  /** False while the disk refuses to keep new events. */
  durable: boolean;
}

/** Parameters of `session/close`. */
export interface SessionCloseParams {
  /** Id of the session. */
  sessionId: string;
}

/** Parameters of `session/delete`. */
export interface SessionDeleteParams {
  /** Id of the session. */
  sessionId: string;
}

/** `session/didChange`: what this daemon may do with a session, or its health, is another now. */
export interface SessionDidChangeParams {
  /** Id of the session. */
  sessionId: string;
  access: "write" | "readOnly";
  durable: boolean;
  health: "clean" | "torn" | "damaged";
}

/** Parameters of `session/export`. */
export interface SessionExportParams {
  /** Id of the session. */
  sessionId: string;
  format: "jsonl" | "markdown" | "native";
  /** With `native`: the message format wanted; the session's when absent. */
  dialect?: string;
}

/** The export itself, or where it was written when it is too large for an answer. */
export interface SessionExportResult {
  content?: string;
  /** A file in the state folder, readable by its owner. */
  path?: string;
  /** What does not cross into `dialect`. */
  losses?: Loss[];
}

/** Parameters of `session/fork`. */
export interface SessionForkParams {
  /** Id of the session. */
  sessionId: string;
  /** The last message of the fork; all when absent. */
  at?: string;
}

/** Parameters of `session/health`. */
export interface SessionHealthParams {
  /** Id of the session. */
  sessionId: string;
}

/** Parameters of `session/history`. */
export interface SessionHistoryParams {
  /** Id of the session. */
  sessionId: string;
  /** `transcript` for people, `model` as the next request would carry it. */
  view?: "transcript" | "model";
  /** Begin behind this message id. */
  after?: string;
  /** At most so many messages. */
  limit?: number;
}

/** A page of history. */
export interface SessionHistoryResult {
  messages: HistoryMessage[];
  /** `after` of the next page; absent on the last. */
  next?: string;
}

/** A message that matches. */
export interface SessionHit {
  /** Id of the session. */
  sessionId: string;
  messageId: string;
  role: string;
  /** The words around the match. */
  snippet: string;
  /** Higher is better; comparable within one answer. */
  score: number;
}

/** A session as it stands. */
export interface SessionInfo {
  /** Id of the session. */
  sessionId: string;
  /** URI of the workspace it belongs to. */
  workspace: string;
  /** Message format it speaks; `session/update` can change it. */
  dialect: string;
  /** Absent until a host names one. */
  model?: Model;
  window: Window;
  /** Grows with every durable event. */
  revision: number;
  /** How many checkpoints stand. */
  epoch: number;
  /** Counts changes of the model view other than growth at its end. */
  generation: number;
  /** What this daemon may do with it. */
  access: "write" | "readOnly";
  /** Who writes it, when that is another process. */
  holder?: Holder;
  /** What opening had to skip. */
  recovered?: RecoveredSpan[];
  /** False while the disk refuses to keep new events. */
  durable: boolean;
  /** Milliseconds since 1970, UTC. */
  createdAt: number;
  /** Milliseconds since 1970, UTC. */
  updatedAt: number;
  /** What does not cross into the dialect it was just switched to. */
  losses?: Loss[];
  /** Absent in lists of sessions. */
  guard?: Guard;
}

/** Parameters of `session/list`. */
export interface SessionListParams {
  /** URI; only sessions of this workspace. */
  workspace?: string;
}

/** Sessions, the most recently updated first. */
export interface SessionListResult {
  sessions: SessionInfo[];
}

/** Parameters of `session/open`. */
export interface SessionOpenParams {
  /** URI of the workspace. */
  workspace: string;
  /** Chosen by the daemon when absent. */
  sessionId?: string;
  /** `create` refuses an id that exists, `resume` one that does not. */
  mode?: "create" | "resume" | "openOrCreate";
  /** Open without becoming its writer. */
  readOnly?: boolean;
  /** Message format; needed to create, must fit to resume. */
  dialect?: string;
  /** The model it talks to. */
  model?: Model;
  /** System prompt, native: a string, blocks or messages. */
  system?: NativeValue;
  /** Tool declarations, native. */
  tools?: Native[];
}

/** Parameters of `session/rewind`. */
export interface SessionRewindParams {
  /** Id of the session. */
  sessionId: string;
  /** A message of the user; it and what followed leave. */
  to: string;
  /** `code` brings the files back; it needs the option `workspace.snapshots`. */
  mode: "conversation" | "code" | "both";
  /** Say what would happen, change nothing. */
  dryRun?: boolean;
}

/** Parameters of `session/search`: one session, or all that are open in a workspace. */
export interface SessionSearchParams {
  sessionId?: string;
  /** URI; all of it that is open here. */
  workspace?: string;
  /** Words to look for. */
  query: string;
  /** At most so many hits; 10 when absent. */
  limit?: number;
}

/** Hits, best first. */
export interface SessionSearchResult {
  hits: SessionHit[];
}

/** Typed task state that a compaction carries on. */
export interface SessionSummary {
  schemaVersion: 1;
  goal: string;
  constraints: Quote[];
  decisions: Decision[];
  mutations: Mutation[];
  /** What was verified, and how. */
  evidence: string[];
  progressDone: string[];
  progressInProgress: string[];
  risks: string[];
  nextSteps: string[];
  exactRecords: ExactRecord[];
  plan?: PlanSnapshot;
}

/** Parameters of `session/update`; what is absent stays as it is. */
export interface SessionUpdateParams {
  /** Id of the session. */
  sessionId: string;
  /** Message format from now on: new messages come in it, and views say older ones in it. Tools are given anew with it; the system prompt crosses as its text unless it is given. */
  dialect?: string;
  /** The model it talks to from now on. */
  model?: Model;
  /** System prompt, native. */
  system?: NativeValue;
  /** Tool declarations, native. */
  tools?: Native[];
}

/** A size of the model view. */
export interface Size {
  tokens: number;
  messages: number;
  bytes: number;
}

/** A tool result whose bytes went to the ledger; the model view keeps head, tail and handle. */
export interface Spilled {
  messageId: string;
  toolCallId?: string;
  /** Length of its stored form, bytes. */
  bytes: number;
}

/** One step of `prepare` that changed or tried to change the view. */
export interface Stage {
  /** Which step. */
  stage: string;
  /** Why it did what it did. */
  reason: string;
  /** How many edits it made. */
  edits: number;
  /** Tokens the request became smaller by. */
  tokensFreed: number;
}

/** Parameters of `ctxd/status`: none. */
export interface StatusParams {
}

/** The daemon as it stands. */
export interface StatusResult {
  version: string;
  /** Milliseconds since start. */
  uptime: number;
  /** Sessions open in this daemon. */
  sessions: number;
  /** Resident memory. */
  rssBytes: number;
  /** Facts about the store: where it is, how large. */
  store: Record<string, JsonValue>;
  /** Whether secrets are cut out of tool outputs; `off` and `unavailable`: they are not. */
  guard: "off" | "idle" | "loading" | "ready" | "unavailable";
  /** Counts since start, by name. */
  counters: Record<string, number>;
}

/** One item that waits. */
export interface SteerItem {
  id: string;
  kind: "followUp" | "systemReminder" | "requestPause" | "cancel";
  content?: string;
}

/**
 * What was said into the turn and is taken in with this request; controls first, then messages in order.
 *
 * After `cancel` the request is not to be sent; `requestPause` asks to wait before it is.
 */
export interface SteerNote {
  id: string;
  kind: "followUp" | "systemReminder" | "requestPause" | "cancel";
  content?: string;
  /** The message of the view that says it. */
  messageId?: string;
}

/** Parameters of `steer/pending`. */
export interface SteerPendingParams {
  /** Id of the session. */
  sessionId: string;
}

/** What waits for the next `context/prepare`, oldest first. */
export interface SteerPendingResult {
  items: SteerItem[];
}

/** Parameters of `steer/push`. */
export interface SteerPushParams {
  /** Id of the session. */
  sessionId: string;
  /** `followUp` and `systemReminder` become messages of the next prepared request; `requestPause` and `cancel` reach the host as notes of it. */
  kind: "followUp" | "systemReminder" | "requestPause" | "cancel";
  /** The words; needed for a message, at most 64 KiB of UTF-8. */
  content?: string;
  /** The host's own id: the same item sent again under it is taken once. */
  id?: string;
}

/** The item is on disk. */
export interface SteerPushResult {
  id: string;
  /** How many items wait now, this one included. */
  pending: number;
}

/** `root`: state folder, `cache`: cache folder; empty for the platform's own. `forceNetwork`: write on NFS and the like, where locks cannot be trusted. `bookmarkBytes`: a session closed after its log has grown by as much leaves a bookmark, with which it opens sooner. */
export interface StorageOptions {
  root?: string;
  cache?: string;
  forceNetwork?: boolean;
  segmentBytes?: number;
  bookmarkBytes?: number;
}

/** Who writes summaries and how long they may take. `use`: `auto` asks the host where it can, else a configured provider, else none. `window`: the summariser's context window in tokens, 0 for the session's. `provider` and `model` name a model for `ctxd[llm]` (`anthropic`, `google`, `openai`, or `openai` with a `baseUrl`); its key comes from the environment variable `apiKeyEnv` (empty for the provider's usual one), or is the host's own to give as `apiKey`; it is never stored. `cooldownMs`: how long three failures in a row keep a session from asking. */
export interface SummarizerOptions {
  use?: "auto" | "host" | "none" | "provider";
  timeoutMs?: number;
  retryDelayMs?: number;
  cooldownMs?: number;
  window?: number;
  maxOutputTokens?: number;
  provider?: string;
  model?: string;
  baseUrl?: string;
  apiKeyEnv?: string;
  apiKey?: string;
}

/** A text. */
export interface TextContent {
  type: "text";
  text: string;
}

/** Parameters of `tokens/count`: either `text` or `messages`. */
export interface TokensCountParams {
  text?: string;
  /** Native messages; needs `dialect`. */
  messages?: Native[];
  /** Message format of `messages`. */
  dialect?: string;
  /** Whose tokens to count. */
  model?: Model;
}

/** A count. */
export interface TokensCountResult {
  tokens: number;
  /** The encoding counted with. */
  encoding: string;
  /** False where the provider's own count may differ. */
  exact: boolean;
}

/** Counts of tool outputs that left the view. */
export interface ToolOutputAudit {
  evicted: number;
  /** Can be fetched back byte for byte. */
  recoverable: number;
}

/** Parameters of `tools/call`. */
export interface ToolsCallParams {
  /** Id of the session. */
  sessionId: string;
  /** Name of the tool. */
  name: string;
  /** An object, as the model gave it; its JSON text is taken too. */
  arguments?: JsonValue;
}

/** What to give the model as the call's result. */
export interface ToolsCallResult {
  /** At most about a recall page, and never more than one result may show. */
  content: string;
  isError: boolean;
}

/** Parameters of `tools/list`. */
export interface ToolsListParams {
  /** The session the tools are for. */
  sessionId?: string;
  /** The dialect to declare them in. */
  dialect: string;
}

/** Tools to add to the request's own, as they are. */
export interface ToolsListResult {
  tools: Native[];
}

/** A file that a tool call read or changed. */
export interface TouchedFile {
  /** Path in the workspace. */
  path: string;
  /** What was done to it. */
  op: "read" | "edit" | "write";
}

/** What became of a message unit (a message, or a tool turn). */
export interface UnitReport {
  messageIds: string[];
  fidelity: "full" | "truncate" | "compact" | "summary" | "dropped";
  /** Fetches what is no longer shown. */
  handle?: string;
}

/** A check whose outcomes the host records. */
export interface Validator {
  id: string;
  /** False: it only warns. */
  required?: boolean;
  /** When the host runs it. */
  phase?: string;
}

/** A broken rule of a provider. */
export interface Violation {
  rule: string;
  /** Position in `messages`, 0-based. */
  index: number;
  /** What is broken, without content. */
  detail: string;
  /** What ctxd does about it in a request it makes; `refuse`: an append with it is refused. */
  mend: "synthesize" | "remove" | "merge" | "refuse";
}

/** A context window and how it is known. */
export interface Window {
  /** Tokens; null when unknown. */
  value: number | null;
  /** Where the number comes from. */
  source: "host" | "catalog" | "unknown";
}

/** `maxMessageBytes`: largest frame. `maxBytes`: provider request size, 0 for the dialect's own. */
export interface WireOptions {
  maxMessageBytes?: number;
  maxBytes?: number;
}

/** `workspace/didChangeFiles`: files that some session touched are others now. */
export interface WorkspaceDidChangeFilesParams {
  /** URI of the workspace. */
  workspace: string;
  changes: ctxd__server__wire__workspace__FileChange[];
}

/** Files shown again after a compaction: the `restoreFiles` the session touched last, 0 for none. Of each at most its first `restoreLines` lines and `restoreBytes` bytes. `snapshots`: keep the files as they are, by git in the state folder, when the user speaks and when a turn ends, for `session/rewind`. `readBytes`: what one `workspace/readFile` may answer; more is a hint. `readTools`, `writeTools`: names of the host's tools that read and that write a file, beside the known ones; `pathArguments`: what they call the path. `watch` false tells nobody what becomes of touched files. */
export interface WorkspaceOptions {
  restoreFiles?: number;
  restoreLines?: number;
  restoreBytes?: number;
  snapshots?: boolean;
  readBytes?: number;
  readTools?: string[];
  writeTools?: string[];
  pathArguments?: string[];
  watch?: boolean;
}

/** Parameters of `workspace/readFile`. */
export interface WorkspaceReadFileParams {
  /** Id of the session. */
  sessionId: string;
  /** Relative to the session's folder, or absolute and inside it or another announced folder. */
  path: string;
  /** First line, 1-based; 1 when absent. */
  startLine?: number;
  /** Last line, included; the last when absent. */
  endLine?: number;
  /** Bytes of the range to skip; what follows is cut to the budget. */
  offset?: number;
}

/** Lines of a file as it is now, or a hint where they are too many. */
export interface WorkspaceReadFileResult {
  /** The lines, byte for byte; absent with a hint. */
  content?: string;
  startLine?: number;
  endLine?: number;
  totalLines?: number;
  /** `sha256:<hex>` of the whole file. */
  digest?: string;
  /** The exact next range; absent at the end. */
  next?: LineRange;
  /** True where bytes are no UTF-8; shown as U+FFFD. */
  lossy?: boolean;
  /** True where it was being written meanwhile. */
  changed?: boolean;
  /** Whether the model view shows the whole file just as it is now. */
  inContext?: boolean;
  /** Id of the message that shows it. */
  since?: string;
  rangeHint?: RangeHint;
}

/** Parameters of `workspace/recentFiles`. */
export interface WorkspaceRecentFilesParams {
  /** Id of the session. */
  sessionId: string;
  /** At most so many files; those a compaction shows when absent. */
  limit?: number;
}

/** Recent files, newest touch first. */
export interface WorkspaceRecentFilesResult {
  files: RecentFile[];
  rejected: RefusedFile[];
}

/** Parameters of `workspace/touch`: a file was read or changed, apart from any message. */
export interface WorkspaceTouchParams {
  /** Id of the session. */
  sessionId: string;
  /** Path in the workspace. */
  path: string;
  /** What was done to it. */
  op: "read" | "edit" | "write";
}

/** What a rewind does to one of the workspace's files. */
export interface ctxd__server__wire__sessions__FileChange {
  /** Relative to the workspace. */
  path: string;
  action: "add" | "change" | "remove";
}

/** What became of a file that some session touched. */
export interface ctxd__server__wire__workspace__FileChange {
  /** Relative to the workspace. */
  path: string;
  change: "added" | "modified" | "deleted" | "moved";
  /** Where a file that moved is now, where known. */
  movedTo?: string;
}
