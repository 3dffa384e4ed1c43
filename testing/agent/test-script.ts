/** The script of one run: what the model, people and tools do, in one order. */
import { z } from 'zod';
import { UserError } from '../../activities/lifecycle/user-error';
import { shortened } from '../../workflows/core/shortened';
import { describeStep, checkScript, shownValue, stepProblem } from '../emulator/check-script';
import type { Step, ToolFaultStep } from '../emulator/script';
import type { RecordedRequest } from '../emulator/recorded-request';
import type { ScriptRule } from '../emulator/script-queue';
import type { PersonStep } from './person';

/** One step of a run's script: a reply or fault of the model, an act of a person, a fault of a tool. */
export type TestStep = Step | PersonStep | ToolFaultStep;

const filled = z.string().regex(/\S/, 'give a string that is not empty');
const tool = filled.optional();
const actShape = z.discriminatedUnion('does', [
  z.strictObject({
    does: z.literal('approve'),
    tool,
    input: z.record(z.string(), z.json()).optional(),
  }),
  z.strictObject({ does: z.literal('reject'), tool, reason: filled }),
  z.strictObject({ does: z.enum(['answer', 'say']), text: filled }),
  z.strictObject({ does: z.literal('wait'), ms: z.int().min(1, 'give milliseconds, at least 1') }),
]);

const actsRemedy =
  'Give person.approve({ tool, input }), person.reject(reason, { tool }), person.answer(text), person.say(text) or person.wait(ms)';

function actProblem(act: unknown): string | undefined {
  const parsed = actShape.safeParse(act);
  if (parsed.success) return undefined;
  const [issue] = parsed.error.issues;
  const wrong = [issue?.path.join('.'), issue?.message].filter(Boolean).join(': ');
  return `${shownValue(act)} is not an act of a person: ${wrong}. ${actsRemedy}`;
}

function faultProblem(
  { tool: named, how }: Readonly<Record<string, unknown>>,
  tools: ReadonlySet<string>,
): string | undefined {
  if (typeof named !== 'string' || !tools.has(named))
    return `fault.tool(${shownValue(named)}): the agents have no such tool of defineTool with a function as execute; give one of ${[...tools].join(', ') || 'none'}`;
  const isKnown = how === 'crash-before-effect' || how === 'crash-after-effect';
  return isKnown || how instanceof Error
    ? undefined
    : `fault.tool("${named}", ${shownValue(how)}): give 'crash-before-effect', 'crash-after-effect' or an Error`;
}

/** Problems of a run's steps: `tools` are those that can fail by script. */
function problemOf(tools: ReadonlySet<string>): (step: unknown) => string | undefined {
  return (step) => {
    const fields = { ...(step as Readonly<Record<string, unknown>>) };
    if (fields['type'] === 'person') return actProblem(fields['act']);
    return fields['type'] === 'tool-fault' ? faultProblem(fields, tools) : stepProblem(step);
  };
}

type Said = PersonStep & { readonly act: { readonly does: 'say' } };

function isSaid(step: TestStep): step is Said {
  return step.type === 'person' && step.act.does === 'say';
}

/** Errors: `UserError` for words that no reply stands before, so that nothing tells when they are said. */
function checkSaid(steps: readonly TestStep[]): void {
  steps.forEach((step, index) => {
    const before = steps[index - 1];
    if (!isSaid(step) || before?.type === 'reply' || (before && isSaid(before))) return;
    throw new UserError(
      `testAgent run: step ${index + 1}: person.say(${JSON.stringify(shortened(step.act.text, 60))}) has no reply before it. Put it behind the reply during which it is said.`,
    );
  });
}

/** A step in the words of whoever scripts it. */
function describe(step: TestStep): string {
  if (step.type === 'person') return `person.${step.act.does}`;
  if (step.type === 'tool-fault') return `fault.tool("${step.tool}")`;
  return describeStep(step);
}

/**
 * Steps in their order; each is taken by whoever it is for: a request of the model, a wait for a person, a call of a tool.
 *
 * Errors: `UserError` for what is no script.
 */
export class TestScript {
  #next = 0;

  readonly #rule: ScriptRule | undefined;
  readonly #steps: readonly TestStep[];
  #ruleCalls = 0;

  constructor(script: readonly TestStep[] | ScriptRule, tools: ReadonlySet<string>) {
    checkScript('testAgent run', script, problemOf(tools));
    if (typeof script !== 'function') checkSaid(script);
    this.#rule = typeof script === 'function' ? script : undefined;
    this.#steps = typeof script === 'function' ? [] : script;
  }

  /** The step that is due. */
  get due(): TestStep | undefined {
    return this.#steps[this.#next];
  }

  /** The step that is due, for an error. */
  get expected(): string {
    const { due } = this;
    if (this.#rule !== undefined) return 'the rule of the script has no step for it';
    return due === undefined
      ? `the script has no more steps (${this.#steps.length} used)`
      : `the script's next step, number ${this.#next + 1}, is ${describe(due)}`;
  }

  /** Steps that nobody has taken, in words. */
  get leftover(): readonly string[] {
    return this.#steps.slice(this.#next).map(describe);
  }

  /** The answer to a request, if a reply or a fault of the model is due. */
  takeReply(request: RecordedRequest): ReturnType<ScriptRule> {
    const { due } = this;
    if (this.#rule !== undefined) return this.#rule(request, this.#ruleCalls++);
    if (due === undefined || due.type === 'person' || due.type === 'tool-fault') return undefined;
    this.#next += 1;
    return due;
  }

  /** What people say while the model gives the reply that was just taken. */
  takeSaid(): readonly string[] {
    const said: string[] = [];
    for (let { due } = this; due !== undefined && isSaid(due); { due } = this) {
      said.push(due.act.text);
      this.#next += 1;
    }
    return said;
  }

  /** What a person does, if it is a person's turn. */
  takeAct(): PersonStep['act'] | undefined {
    const { due } = this;
    if (due?.type !== 'person') return undefined;
    this.#next += 1;
    return due.act;
  }

  /** What befalls a call of this tool, if that is due. */
  takeFault(named: string): ToolFaultStep['how'] | undefined {
    const { due } = this;
    if (due?.type !== 'tool-fault' || due.tool !== named) return undefined;
    this.#next += 1;
    return due.how;
  }
}
