/** What befalls a tool call, and what is right by the effect that its tool declares (R-TOOL-7, R-TOOL-9). */
import { InfraException } from '../../../activities/index';
import type { ToolEffect } from '../../../workflows/core/tools/ports';
import { ToolError } from '../../../activities/tools/tool-error';
import type { RightOfFault, Strike, ToolFaultName } from './drawn-fault';

interface ToolFault {
  /** Whether the service has applied the effect when it fails. */
  readonly isApplied: boolean;
  readonly fail: (signal: AbortSignal) => Promise<never>;
  /** It says itself that nothing happened; otherwise it is treated as interrupted, or ends the run. */
  readonly isTold: boolean;
}

function thrown(error: Error): () => Promise<never> {
  return () => Promise.reject(error);
}

function lost(): Error {
  return Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
}

/** Ends when the attempt is told to stop, as a client that waits for its service does. */
function untilStopped(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      reject(new Error('The service was given up.'));
    });
  });
}

/** Every fault of a tool call. */
const toolFaults: Readonly<Record<ToolFaultName, ToolFault>> = {
  'says no': {
    isApplied: false,
    isTold: true,
    fail: thrown(new ToolError('The item is held by somebody else at the moment.')),
  },
  throws: {
    isApplied: false,
    isTold: true,
    fail: thrown(new TypeError("Cannot read properties of undefined (reading 'id')")),
  },
  'rate limit of the service': {
    isApplied: false,
    isTold: true,
    fail: thrown(new ToolError('The service allows no more requests now.', { code: 'rate_limit' })),
  },
  'connection lost before the effect': {
    isApplied: false,
    isTold: false,
    fail: () => Promise.reject(lost()),
  },
  'connection lost after the effect': {
    isApplied: true,
    isTold: false,
    fail: () => Promise.reject(lost()),
  },
  'time limit after the effect': { isApplied: true, isTold: false, fail: untilStopped },
  'broken for good': {
    isApplied: false,
    isTold: false,
    fail: thrown(
      new InfraException({
        code: 'tool_infrastructure',
        message: 'The disk of the service is full.',
      }),
    ),
  },
};

/** Names of all, for the dice. */
export const toolFaultNames = Object.keys(toolFaults) as readonly ToolFaultName[];

/** The fault's part of the tool's function: what it does after the effect, if it did that. */
export function toolFault(name: ToolFaultName): ToolFault {
  return toolFaults[name];
}

/** What is right. */
export function rightOfTool({ name, effect }: Extract<Strike, { type: 'tool' }>): RightOfFault {
  if (name === 'broken for good')
    return { type: 'stops', calls: 0, says: /The disk of the service is full/ };
  const isNew = isAskedAgain(name, effect);
  return { type: 'recovers', calls: isNew ? 1 : 0 };
}

/** Whether the model, which reads of the failure, has to call again: nothing else settles the call. */
function isAskedAgain(name: ToolFaultName, effect: ToolEffect): boolean {
  const { isTold, isApplied } = toolFaults[name];
  if (isTold || effect === 'read') return true;
  // A keyed call is repeated with its key; the others are asked for again where nothing was applied.
  return effect !== 'keyed' && !isApplied;
}

/** Whether nobody can say what became of the call, so that the model has no result of it. */
export function isOutcomeUnknown({ name, effect }: Extract<Strike, { type: 'tool' }>): boolean {
  const isOpen = !toolFaults[name].isTold;
  return isOpen && (effect === 'irreversible' || (effect === 'keyed' && name.startsWith('time')));
}
