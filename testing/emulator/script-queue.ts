/** Which step answers which request: queues by vendor and model, consumed in order of arrival. */
import { isDeepStrictEqual } from 'node:util';
import { defined } from '../../workflows/core/json';
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
}

/** All scripts of an emulator. */
export class ScriptQueue {
  readonly #queues: Queue[] = [];

  /** Appends to the queue of that key. */
  add(script: readonly Step[] | ScriptRule, { model, wire, mount }: ScriptKey): void {
    const key = defined({ model, wire, mount });
    let queue = this.#queues.find((each) => isDeepStrictEqual(each.key, key));
    if (queue === undefined) {
      queue = { key, entries: [], ruleCalls: 0 };
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
   */
  async next(request: RecordedRequest): Promise<Step | undefined> {
    const queue = this.#queues.find(({ key }) => isMatch(request, key));
    if (queue === undefined) return undefined;
    for (const entry of [...queue.entries]) {
      if (typeof entry === 'function') {
        const index = queue.ruleCalls;
        queue.ruleCalls += 1;
        const step = await entry(request, index);
        if (step !== undefined) return step;
        continue;
      }
      const place = queue.entries.indexOf(entry);
      if (place < 0) continue;
      queue.entries.splice(place, 1);
      return entry;
    }
    return undefined;
  }

  /** Steps that no request asked for, in words, one line per key. Rules are never left over. */
  get leftover(): readonly string[] {
    return this.#queues.flatMap(({ key, entries }) => {
      const steps = entries.filter((entry) => typeof entry !== 'function').map(describeStep);
      const by = Object.entries(key).map(([name, value]) => `${name} ${value}`);
      const which = by.length === 0 ? '' : ` by ${by.join(', ')}`;
      return steps.length === 0
        ? []
        : [`${steps.length} step(s) never asked for${which}: ${steps.join(', ')}`];
    });
  }

  /** Forgets all scripts. */
  clear(): void {
    this.#queues.length = 0;
  }
}

function isMatch(request: RecordedRequest, key: ScriptKey): boolean {
  return (
    (key.model ?? request.model) === request.model &&
    (key.wire ?? request.wire) === request.wire &&
    (key.mount ?? request.mount) === request.mount
  );
}

function describeStep(step: Step): string {
  return step.type === 'reply' ? `reply (${step.stop})` : step.name;
}
