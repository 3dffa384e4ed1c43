/** What a call comes to whose Temporal work has ended (ADR 0058). */
import type { WorkEnd } from '../../workflows/core/tools/ports';
import { applicationFailure } from '../lifecycle/error-mapping';
import { InfraException, isStoreDown } from '../lifecycle/infra-exception';
import { connectionCodesIn } from '../providers/failure/failure-codes';
import type { Tool } from '../tools/tool';
import type { ExecutionPlace, FinishedExecution } from './tool-execution';
import { executeTool, middleCodes } from './tool-execution';
import type { Earlier } from './unknown-outcome';
import { settleUnknown } from './unknown-outcome';

/** Whether work that says that it failed may have taken effect: it lost a connection in the middle of a request. */
function failedMidway(end: WorkEnd): boolean {
  return (
    end.type === 'failed' &&
    end.reason === 'error' &&
    connectionCodesIn(end.message).some((code) => middleCodes.has(code))
  );
}

/** Milliseconds until the result of ended work is brought in again after the store was down. */
const nextReadMs = 5_000;

/** Brings in the result of ended work. While the store is down, Temporal tries again: the core could only start the work once more. */
export async function untilStored<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    if (isStoreDown(thrown)) throw applicationFailure(thrown.failure, { delayMs: nextReadMs });
    throw thrown;
  }
}

/** How work ended, and the workers that were lost while they brought it in. */
interface Ended extends Pick<Earlier, 'lost'> {
  readonly end: WorkEnd;
}

/** A result that ended too many workers is not read again. */
function readable({ end, lost }: Ended): WorkEnd {
  if (lost.count <= lost.max) return end;
  const message = `its result ended ${lost.count} workers that read it`;
  return { type: 'failed', reason: 'unread', message };
}

/**
 * The execution that ended work stands for: its output, or its failure as a function of the tool would have thrown it.
 *
 * Contract: nothing is started but the tool's probe, if nobody knows whether the work took effect.
 * Errors: as `executeTool`; `worker_mismatch` if this worker's tool is not that work any more.
 */
export async function executionOfWork(
  tool: Tool,
  value: unknown,
  place: ExecutionPlace,
  ended: Ended,
): Promise<FinishedExecution> {
  const { readEnd, name } = tool;
  const end = readable(ended);
  if (readEnd === undefined)
    throw new InfraException({
      code: 'worker_mismatch',
      message: `Tool "${name}" of this worker is a function, but the call has started Temporal code that the tool was before. Deploy a worker that has the tool as it was until such calls have ended.`,
    });
  const read: Tool = { ...tool, execute: () => readEnd(end) };
  const execution = await executeTool(read, value, place);
  if (execution.type === 'work') throw new Error(`Tool "${name}" started work twice`);
  const isOpen =
    execution.type === 'error' &&
    tool.effect !== 'read' &&
    execution.error.code === 'tool_execution_failed' &&
    failedMidway(end);
  return settleUnknown(
    tool,
    value,
    place,
    isOpen ? { ...execution, isOutcomeUnknown: true } : execution,
  );
}
