/** Tools whose work is Temporal code that exists already: an activity, a child workflow, a Nexus operation (ADR 0058). */
import { compileRetryPolicy } from '@temporalio/common';
import { z } from 'zod';
import { defined } from '../../../workflows/core/json';
import { recoveryInstructions } from '../../../workflows/core/failure';
import type {
  TemporalWork,
  ToolEffect,
  WorkEnd,
  WorkFailure,
} from '../../../workflows/core/tools/ports';
import { checkOptions } from '../../lifecycle/check-options';
import { InfraException } from '../../lifecycle/infra-exception';
import { UserError } from '../../lifecycle/user-error';
import type { TemporalTarget, Tool, ToolContext } from '../tool';
import type { ToolErrorCode } from '../tool-error';
import { ToolDeadline, ToolError } from '../tool-error';

/** What `execute` of such a tool returns: the workflow is to start it. */
export class WorkToStart {
  constructor(readonly work: TemporalWork) {}
}

/** Default attempts of an activity that may be repeated. Temporal's own default has no bound, and the model waits for the end. */
const defaultAttempts = 3;
/** Default milliseconds that an activity waits for a worker. */
const defaultQueueMs = 60_000;
/** Longest time limit in milliseconds: a day, as for every tool. */
const maxMs = 86_400_000;
/** Characters of JSON that arguments may have: history holds them twice. */
const maxArgsChars = 131_072;
/** Characters of a workflow id. Source: `limit.maxIDLength` of Temporal's server. */
const maxIdChars = 1_000;

const name = z.string('give a name').trim().min(1, 'give a name that is not empty').max(maxIdChars);
const fn = z.custom((value) => typeof value === 'function', 'give a function').optional();
const ms = z
  .number()
  .int()
  .min(1)
  .max(maxMs, `give at most ${maxMs} milliseconds, a day`)
  .optional();
const result = z
  .custom<z.ZodType>(
    (value) => typeof value === 'object' && value !== null && '_zod' in value,
    'give a schema of zod 4',
  )
  .optional();
const interval = z.union([z.string(), z.number()], 'give milliseconds, or a text such as "2 s"');

const retry = z
  .strictObject({
    maximumAttempts: z
      .number('give the number of attempts: the model waits for the last one')
      .int()
      .min(1),
    initialInterval: interval.optional(),
    maximumInterval: interval.optional(),
    backoffCoefficient: z.number().min(1).optional(),
    nonRetryableErrorTypes: z.array(z.string()).optional(),
  })
  .optional();

const shapes = {
  activity: z.strictObject({
    activity: name,
    taskQueue: name.optional(),
    args: fn,
    retry,
    heartbeatTimeoutMs: ms,
    scheduleToStartTimeoutMs: ms,
    result,
  }),
  workflow: z.strictObject({
    workflow: name,
    taskQueue: name.optional(),
    args: fn,
    workflowId: fn,
    result,
  }),
  nexusOperation: z.strictObject({
    nexusOperation: name,
    service: name,
    endpoint: name,
    input: fn,
    result,
  }),
};

/** The tool that a target is of. */
export interface TargetPlace {
  readonly name: string;
  readonly effect: ToolEffect;
  readonly timeoutMs: number;
}

function checkShape(tool: string, target: TemporalTarget): void {
  const kinds = (['activity', 'workflow', 'nexusOperation'] as const).filter(
    (each) => each in target,
  );
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1)
    throw new UserError(
      `Tool "${tool}": execute names ${kind === undefined ? 'no Temporal code' : kinds.join(' and ')}; give a function, or exactly one of { activity }, { workflow } and { nexusOperation, service, endpoint }.`,
    );
  const shape: z.ZodType = shapes[kind];
  checkOptions(`Tool "${tool}"`, 'execute', shape, target);
}

function checkRetry(tool: string, target: TemporalTarget, effect: ToolEffect): void {
  if (!('activity' in target) || target.retry === undefined) return;
  try {
    compileRetryPolicy(target.retry);
  } catch (thrown) {
    throw new UserError(
      `Tool "${tool}": execute.retry is not accepted by Temporal: ${thrown instanceof Error ? thrown.message : String(thrown)}.`,
    );
  }
  const { maximumAttempts = 1 } = target.retry;
  if (maximumAttempts > 1 && !isRepeatable(effect))
    throw new UserError(
      `Tool "${tool}": execute.retry gives ${maximumAttempts} attempts, but effect "${effect}" may not be repeated; leave retry out, or say effect: 'read' or 'keyed'.`,
    );
}

function isRepeatable(effect: ToolEffect): boolean {
  return effect === 'read' || effect === 'keyed';
}

/** Errors: `UserError` that names the tool, the value and the remedy. */
function checkTarget({ name: tool, effect }: TargetPlace, target: TemporalTarget): void {
  checkShape(tool, target);
  checkRetry(tool, target, effect);
  if ('nexusOperation' in target && !isRepeatable(effect))
    throw new UserError(
      `Tool "${tool}": Temporal repeats the start of a Nexus operation until it is answered, so it cannot have effect "${effect}"; say effect: 'keyed' if its handler does the same request once, or 'read'.`,
    );
  const passesKey =
    'workflow' in target || ('activity' in target ? target.args : target.input) !== undefined;
  if (effect === 'keyed' && !passesKey)
    throw new UserError(
      `Tool "${tool}" is "keyed", but nothing gives its key to the Temporal code; add ${'activity' in target ? 'args: (input, { idempotencyKey }) => [input, idempotencyKey]' : 'input: (input, { idempotencyKey }) => ({ ...input, idempotencyKey })'} to execute, or choose another effect.`,
    );
}

/** The code as people and models read it. */
function wordsFor(target: TemporalTarget): string {
  if ('activity' in target) return `activity "${target.activity}"`;
  if ('workflow' in target) return `workflow "${target.workflow}"`;
  return `Nexus operation "${target.service}.${target.nexusOperation}"`;
}

function argsOf(target: TemporalTarget, input: unknown, context: ToolContext): readonly unknown[] {
  if ('nexusOperation' in target)
    return [target.input === undefined ? input : target.input(input, context)];
  const args: unknown = target.args === undefined ? [input] : target.args(input, context);
  if (Array.isArray(args)) return args;
  throw new Error(`args of ${wordsFor(target)} returned no array; return its arguments in one`);
}

function workOf(
  { effect, timeoutMs }: TargetPlace,
  target: TemporalTarget,
  input: unknown,
  context: ToolContext,
): TemporalWork {
  const args = argsOf(target, input, context);
  const { length } = JSON.stringify(args);
  if (length > maxArgsChars)
    throw new ToolError(
      `The arguments of ${wordsFor(target)} have ${length} characters of JSON, more than the ${maxArgsChars} that go through a run's history`,
      { code: 'invalid_params', hint: 'Give less at once, or a reference to what is large.' },
    );
  if ('nexusOperation' in target) {
    const { nexusOperation, service, endpoint } = target;
    return { type: 'nexus', name: nexusOperation, service, endpoint, args, timeoutMs };
  }
  const place = { args, timeoutMs, ...defined({ taskQueue: target.taskQueue }) };
  if ('workflow' in target) {
    const { idempotencyKey } = context;
    const { workflowId: idOf } = target;
    const workflowId: unknown = idOf === undefined ? idempotencyKey : idOf(input, context);
    if (!name.safeParse(workflowId).success)
      throw new Error(
        `workflowId of ${wordsFor(target)} returned ${JSON.stringify(workflowId)}; return a text of 1 to ${maxIdChars} characters`,
      );
    return { type: 'workflow', name: target.workflow, workflowId: String(workflowId), ...place };
  }
  const attempts = isRepeatable(effect) ? defaultAttempts : 1;
  return {
    type: 'activity',
    name: target.activity,
    ...place,
    queueTimeoutMs: target.scheduleToStartTimeoutMs ?? defaultQueueMs,
    retry: { maximumAttempts: attempts, ...target.retry },
    ...defined({ heartbeatTimeoutMs: target.heartbeatTimeoutMs }),
  };
}

/** Error types by which Temporal code says what only people can repair. */
const infraTypes: readonly string[] = ['tool_infrastructure', InfraException.name];

/** What a Nexus handler refuses a request with, as a code of a tool. */
const handlerCodes: ReadonlyMap<string, ToolErrorCode> = new Map([
  ['BAD_REQUEST', 'invalid_params'],
  ['UNAUTHENTICATED', 'auth_failed'],
  ['UNAUTHORIZED', 'auth_failed'],
  ['RESOURCE_EXHAUSTED', 'rate_limit'],
]);

/** Codes that a tool may report, as types of an ApplicationFailure. */
const isCode = (type: string): type is ToolErrorCode => Object.hasOwn(recoveryInstructions, type);

/** Types that say no more than that something was thrown. */
const plainTypes: readonly string[] = ['', 'Error', 'ApplicationFailure', ToolError.name];

/** Errors: always throws what `execute` would throw for the same. */
function throwError(what: string, message: string, type: string): never {
  if (infraTypes.includes(type))
    throw new InfraException({ code: 'tool_infrastructure', message: `${what}: ${message}` });
  const code = isCode(type) ? type : handlerCodes.get(type);
  const isNamed = code === undefined && !plainTypes.includes(type);
  throw new ToolError(isNamed ? `${type}: ${message}` : message, defined({ code }));
}

function throwFailure(
  { effect, timeoutMs }: TargetPlace,
  what: string,
  reason: Exclude<WorkFailure, 'error'>,
  message: string,
): never {
  switch (reason) {
    case 'not-started':
      throw new ToolError(`The ${what} was not started: ${message}`, {
        hint: 'Your parameters are not the cause. Go on without it, or try it again later.',
      });
    case 'started-before':
      throw new ToolError(`The ${what} was not started again: ${message}, so it runs or is done`, {
        hint: 'Do not repeat the call: each gets this answer.',
        recoverable: false,
      });
    case 'unread':
      throw new ToolError(
        `The ${what} is done${effect === 'read' ? '' : ' and took effect'}, but ${message}`,
        { hint: 'Do not repeat the call as it is: it would end alike.', recoverable: false },
      );
    case 'timed-out':
      throw new ToolDeadline(timeoutMs);
    case 'cancelled':
    case 'lost':
      throw new ToolError(
        `The ${what} gave no result: ${message}`,
        effect === 'read' ? {} : { code: 'outcome_unknown' },
      );
  }
}

function outputOf(target: TemporalTarget, effect: ToolEffect, output: unknown): unknown {
  const parsed = target.result?.safeParse(output);
  if (parsed === undefined) return output;
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    ({ path, message }) => `${['result', ...path].join('.')}: ${message}`,
  );
  throw new ToolError(
    `The ${wordsFor(target)} is done${effect === 'read' ? '' : ' and took effect'}, but its result does not fit the tool's schema: ${problems.join('; ')}`,
    { hint: 'Do not repeat the call as it is: it would end alike.', recoverable: false },
  );
}

/**
 * What a tool does whose work is Temporal code.
 *
 * Contract: `execute` starts nothing; it checks, and says what the workflow is to start.
 * Errors: `UserError` at once for what could not work.
 */
export function temporalTool(
  place: TargetPlace,
  target: TemporalTarget,
): Pick<Tool, 'execute'> & Required<Pick<Tool, 'readEnd'>> {
  checkTarget(place, target);
  return {
    execute: (input, context) => new WorkToStart(workOf(place, target, input, context)),
    readEnd: (end: WorkEnd) => {
      if (end.type === 'completed') return outputOf(target, place.effect, end.output);
      const { reason, message, errorType = '' } = end;
      const what = wordsFor(target);
      return reason === 'error'
        ? throwError(what, message, errorType)
        : throwFailure(place, what, reason, message);
    },
  };
}
