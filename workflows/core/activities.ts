/** All activities of a run, as the workflow calls them and the worker implements them. */
import type { CompactInput, CompactResult } from './context/ports';
import type { ExtractionReport, RecordObservationsInput } from './learning/ports';
import type { CallModelInput, CallModelResult, ModelCallHeldBack } from './model-call/ports';
import type { CheckEditInput, CheckEditResult } from './people/ports';
import type { NotifyInput, NotifyResult } from './notifications/ports';
import type { PlanRecoveryInput, PlanRecoveryResult } from './recovery/ports';
import type { PrepareRunInput, PrepareRunResult } from './run/ports';
import type { RunToolInput, RunToolResult } from './tools/ports';

/** The activities of a run. */
export interface Activities {
  prepareRun(input: PrepareRunInput): Promise<PrepareRunResult>;
  callModel(input: CallModelInput): Promise<CallModelResult | ModelCallHeldBack>;
  compact(input: CompactInput): Promise<CompactResult>;
  runTool(input: RunToolInput): Promise<RunToolResult>;
  checkEdit(input: CheckEditInput): Promise<CheckEditResult>;
  notify(input: NotifyInput): Promise<NotifyResult>;
  recordObservations(input: RecordObservationsInput): Promise<void>;
  extractPatterns(): Promise<ExtractionReport>;
  planRecovery(input: PlanRecoveryInput): Promise<PlanRecoveryResult>;
}
