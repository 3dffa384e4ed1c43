/** All activities of a run, as the workflow calls them and the worker implements them. */
import type { CheckGuardrailsInput, CheckGuardrailsResult } from './guardrails/ports';
import type { CompactInput, CompactResult } from './context/ports';
import type { ExtractionReport, RecordObservationsInput } from './learning/ports';
import type {
  CallModelInput,
  ModelCallHeldBack,
  SentModelCall,
  SentReply,
} from './model-call/ports';
import type { CheckEditInput, CheckEditResult } from './people/ports';
import type { NotifyInput, NotifyResult } from './notifications/ports';
import type { PlanRecoveryInput, PlanRecoveryResult } from './recovery/ports';
import type { PrepareRunInput, PrepareRunResult } from './run/ports';
import type { RunToolInput, RunToolResult, SentToolCall } from './tools/ports';

/** The activities of a run. */
export interface Activities {
  /** Names of the worker's agents: asked by clients, not by runs. @internal */
  agentNames(): Promise<readonly string[]>;
  /** @internal */
  prepareRun(input: PrepareRunInput): Promise<PrepareRunResult>;
  /** @internal */
  checkGuardrails(input: CheckGuardrailsInput): Promise<CheckGuardrailsResult>;
  /** @internal */
  callModel(input: CallModelInput | SentModelCall): Promise<SentReply | ModelCallHeldBack>;
  /** @internal */
  compact(input: CompactInput): Promise<CompactResult>;
  /** @internal */
  runTool(input: RunToolInput | SentToolCall): Promise<RunToolResult>;
  /** @internal */
  checkEdit(input: CheckEditInput): Promise<CheckEditResult>;
  /** @internal */
  notify(input: NotifyInput): Promise<NotifyResult>;
  /** @internal */
  recordObservations(input: RecordObservationsInput): Promise<void>;
  /** @internal */
  extractPatterns(): Promise<ExtractionReport>;
  /** @internal */
  planRecovery(input: PlanRecoveryInput): Promise<PlanRecoveryResult>;
}
