/** Which step answers which request: queues by vendor and model, consumed in order of arrival. */
import { isDeepStrictEqual } from 'node:util';
import { UserError } from '../../activities/lifecycle/user-error';
import { defined } from '../../workflows/core/json';
import { noteProvenance } from '../../workflows/core/model-call/next-request';
import { shortened } from '../../workflows/core/shortened';
import { checkScript, checkScriptKey, describeStep, stepProblem } from './check-script';
import type { Step } from './faults';
import type { RecordedRequest } from './recorded-request';

/** A rule-driven model: gives the step for its `index`-th call; `undefined` leaves the request to the queue's next entry. */
export type ScriptRule = (
  request: RecordedRequest,
  index: number,
) => Step | undefined | Promise<Step | undefined>;

/** Which requests a script answers; an absent field matches all. */
type ScriptKey = Partial<Pick<RecordedRequest, 'model' | 'wire' | 'mount'>>;

interface Queue {
  readonly key: ScriptKey;
  readonly entries: (Step | ScriptRule)[];
  ruleCalls: number;
  /** Steps that answered a request. */
  used: number;
}

/** All scripts of an emulator. */
export class ScriptQueue {
  readonly #queues: Queue[] = [];

  /** Appends to the queue of that key. Errors: `UserError` for what is no script. */
  add(script: readonly Step[] | ScriptRule, given: ScriptKey): void {
    checkScript('VendorEmulator.script', script);
    checkScriptKey(given);
    const { model, wire, mount } = given;
    const key = defined({ model, wire, mount });
    let queue = this.#queues.find((each) => isDeepStrictEqual(each.key, key));
    if (queue === undefined) {
      queue = { key, entries: [], ruleCalls: 0, used: 0 };
      this.#queues.push(queue);
      this.#queues.sort(
        (left, right) => Object.keys(right.key).length - Object.keys(left.key).length,
      );
    }
    queue.entries.push(...(typeof script === 'function' ? [script] : script));
  }

  /**
   * The next step for a request. The most specific queue that matches decides alone:
   * a primary's surplus request never eats its fallback's steps.
   *
   * Errors: `UserError` for a rule that gives what is not a step.
   */
  async next(request: RecordedRequest): Promise<Step | undefined> {
    const queue = this.#queueFor(request);
    if (queue === undefined) return undefined;
    for (const entry of [...queue.entries]) {
      if (typeof entry === 'function') {
        const index = queue.ruleCalls;
        queue.ruleCalls += 1;
        const step = await entry(request, index);
        if (step === undefined) continue;
        const problem = stepProblem(step);
        if (problem !== undefined) throw new UserError(`A script's rule: ${problem}.`);
        return step;
      }
      const place = queue.entries.indexOf(entry);
      if (place < 0) continue;
      queue.entries.splice(place, 1);
      queue.used += 1;
      return entry;
    }
    return undefined;
  }

  /** Why no step answers a request, and what the script expects instead; `describe` says which step. */
  whyNone(request: RecordedRequest, describe: (step: Step) => string): string {
    const queue = this.#queueFor(request);
    const expected = this.#queues.flatMap(({ key, entries }) => {
      const step = entries.find((entry) => typeof entry !== 'function');
      return step === undefined ? [] : [`a request${byKey(key)} for ${describe(step)}`];
    });
    const why =
      queue === undefined
        ? this.#queues.length === 0
          ? 'no script was given'
          : `no script is for such requests (there are some${this.#queues.map(({ key }) => byKey(key)).join(' and')})`
        : queue.ruleCalls > 0
          ? `the rule of the script${byKey(queue.key)} gave none`
          : `the script${byKey(queue.key)} has no more steps (${queue.used} used)`;
    return [
      why,
      ...(expected.length === 0 ? [] : [`the script expects ${expected.join(' or ')}`]),
    ].join('; ');
  }

  #queueFor(request: RecordedRequest): Queue | undefined {
    return this.#queues.find(({ key }) => isMatch(request, key));
  }

  /** Steps that no request asked for, in words, one line per key. Rules are never left over. */
  get leftover(): readonly string[] {
    return this.#queues.flatMap(({ key, entries }) => {
      const steps = entries.filter((entry) => typeof entry !== 'function').map(describeStep);
      return steps.length === 0
        ? []
        : [`${steps.length} step(s) never asked for${byKey(key)}: ${steps.join(', ')}`];
    });
  }

  /** Forgets all scripts. */
  clear(): void {
    this.#queues.length = 0;
  }
}

function byKey(key: ScriptKey): string {
  const by = Object.entries(key).map(([name, value]) => `${name} ${value}`);
  return by.length === 0 ? '' : ` by ${by.join(', ')}`;
}

function isMatch(request: RecordedRequest, key: ScriptKey): boolean {
  return (
    (key.model ?? request.model) === request.model &&
    (key.wire ?? request.wire) === request.wire &&
    (key.mount ?? request.mount) === request.mount
  );
}

/** Characters of what a request brought that an error quotes. */
const quotedChars = 200;

/** What a request brought that the one before had not, in words. */
export function describeNews(request: RecordedRequest): string {
  const { lastToolResults: results, lastUserText } = request;
  const { note } = request.prompt;
  const names = new Map(request.toolCalls.map(({ id, name }) => [id, name]));
  const brought =
    results.length > 0
      ? `the result of ${results.map(({ id, content }) => `${names.get(id) ?? id}: ${quoted(content)}`).join(', of ')}`
      : `the text ${quoted(lastUserText)}`;
  const said =
    note === undefined ? '' : `, and the note ${quoted(note.replace(noteProvenance, '').trim())}`;
  return `came with ${brought}${said}`;
}

function quoted(text: string): string {
  return JSON.stringify(shortened(text, quotedChars));
}
