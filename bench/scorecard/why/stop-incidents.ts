/** Runs that the runtime or a person has ended. Expectations were written before `holdfast why`. */
import { fault, reply } from '../../../testing/emulator/script';
import type { IncidentsById } from './incident';
import { lookUp, lookUpTool, routeOf } from './incident';
import { defineSubagent } from '../../../activities/index';

const badCall = reply.toolCalls([{ name: 'look_up', input: { order: 17 } }]);

/** Ten incidents. */
export const stopIncidents: IncidentsById = {
  'malformed-call': {
    model: (_request, index) => (index === 0 ? lookUp('17') : badCall),
    expected: {
      cause: 'circuit_breaker',
      says: ['five', 'look_up', 'query'],
      next: 'holdfast fork RUN --at 1',
    },
  },
  'broken-tool': {
    model: () => lookUp('broken'),
    agent: { limits: { maxSameCalls: 16 } },
    expected: {
      cause: 'circuit_breaker',
      says: ['look_up', 'the order service answers 503'],
      next: 'look_up',
    },
  },
  'tool-loop': {
    model: () => lookUp('17'),
    expected: { cause: 'guard_loop', says: ['look_up', 'same'], next: 'limits.maxSameCalls' },
  },
  'budget-used-up': {
    agent: { budget: { tokens: 9_000 } },
    model: (_request, index) => lookUp(`long ${index}`),
    expected: {
      cause: 'guard_budget',
      says: ['9000', 'tokens'],
      next: 'holdfast run',
    },
  },
  'iteration-cap': {
    agent: { limits: { maxIterations: 3 } },
    model: (_request, index) => lookUp(String(index)),
    expected: {
      cause: 'max_iterations',
      says: ['3 iterations'],
      next: '--continue RUN --max-iterations 6',
    },
  },
  'context-overflow': {
    model: (_request, index) =>
      index < 3
        ? lookUp(`long ${index}`)
        : fault.http(400, {
            error: { message: 'prompt is too long: 250000 tokens > 200000 maximum' },
          }),
    expected: {
      cause: 'context_overflow',
      says: ['compact', 'window'],
      next: 'larger window',
    },
  },
  'refusing-model': {
    model: () => reply.refusal(),
    expected: { cause: 'refusal', says: ['declined'], next: 'holdfast run' },
  },
  'stopped-by-ada': {
    model: (_request, index) => (index === 0 ? lookUp('17') : fault.connection('stall')),
    happen: async ({ eventually }, run) => {
      await eventually(
        () => run.status(),
        ({ iteration }) => iteration === 2,
      );
      await run.stop('the customer called back', { by: 'Ada' });
      await run.outcome();
      return undefined;
    },
    expected: {
      cause: 'stopped',
      says: ['Ada', 'the customer called back'],
      next: '--continue RUN',
    },
  },
  terminated: {
    model: (_request, index) => (index === 0 ? lookUp('17') : fault.connection('stall')),
    happen: async ({ eventually, temporal }, run) => {
      await eventually(
        () => run.status(),
        ({ iteration }) => iteration === 2,
      );
      await temporal(run.runId).terminate('cleaning up');
      return undefined;
    },
    expected: { cause: 'terminated', says: ['cleaning up'], next: 'RUN' },
  },
  'failed-subagent': {
    agent: {
      tools: [
        defineSubagent({ name: 'helper', agent: 'failed-helper', description: 'Looks orders up.' }),
        lookUpTool,
      ],
    },
    others: [
      {
        name: 'failed-helper',
        instructions: 'You help.',
        chain: [routeOf('failed-subagent')],
        tools: [lookUpTool],
        limits: { maxIterations: 2 },
        recovery: { mode: 'off' },
      },
    ],
    model: (request, index) => {
      if (request.systemText.includes('You help')) return lookUp(String(index));
      return request.toolResults.length === 0
        ? reply.toolCalls([{ name: 'helper', input: { task: 'Look up order 17.' } }])
        : reply.text('I could not find it.');
    },
    expected: {
      cause: 'subagent_failed',
      says: ['failed-helper', 'max_iterations'],
      next: 'holdfast why RUN',
    },
  },
};
