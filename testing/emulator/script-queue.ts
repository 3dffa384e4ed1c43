/** Which step answers which request: queues by vendor and model, consumed in order of arrival. */
import type { RecordedRequest } from './recorded-request';
import type { Step } from './step';
import type { WireName } from './wire';

/** A rule-driven model: gives the step for its `index`-th call; `undefined` leaves the request to the queue's next entry. */
export type ScriptRule = (
  request: RecordedRequest,
  index: number,
) => Step | undefined | Promise<Step | undefined>;

/** Which requests a script answers; an absent field matches all. */
export interface ScriptKey {
  readonly model?: string;
  readonly wire?: WireName;
  readonly mount?: string;
}

type Entry =
  | { readonly type: 'step'; readonly step: Step }
  | { readonly type: 'rule'; readonly rule: ScriptRule };

interface Queue {
  readonly key: ScriptKey;
  readonly entries: Entry[];
  ruleCalls: number;
}

function matches(key: ScriptKey, request: RecordedRequest): boolean {
  return (
    (key.model ?? request.model) === request.model &&
    (key.wire ?? request.wire) === request.wire &&
    (key.mount ?? request.mount) === request.mount
  );
}

/** All scripts of an emulator. */
export class ScriptQueue {
  readonly #queues: Queue[] = [];

  /** Appends to the queue of that key. */
  add(script: readonly Step[] | ScriptRule, key: ScriptKey): void {
    const id = JSON.stringify([key.model, key.wire, key.mount]);
    let queue = this.#queues.find(
      (each) => JSON.stringify([each.key.model, each.key.wire, each.key.mount]) === id,
    );
    if (queue === undefined) {
      queue = { key, entries: [], ruleCalls: 0 };
      this.#queues.push(queue);
      this.#queues.sort(
        (left, right) => Object.keys(right.key).length - Object.keys(left.key).length,
      );
    }
    if (typeof script === 'function') queue.entries.push({ type: 'rule', rule: script });
    else queue.entries.push(...script.map((step): Entry => ({ type: 'step', step })));
  }

  /**
   * The next step for a request. The most specific queue that matches decides alone:
   * a primary's surplus request never eats its fallback's steps.
   */
  async next(request: RecordedRequest): Promise<Step | undefined> {
    const queue = this.#queues.find((each) => matches(each.key, request));
    if (queue === undefined) return undefined;
    for (const entry of [...queue.entries]) {
      if (entry.type === 'rule') {
        const index = queue.ruleCalls;
        queue.ruleCalls += 1;
        const step = await entry.rule(request, index);
        if (step !== undefined) return step;
        continue;
      }
      const place = queue.entries.indexOf(entry);
      if (place < 0) continue;
      queue.entries.splice(place, 1);
      return entry.step;
    }
    return undefined;
  }

  /** Steps that no request asked for, in words, one line per key. Rules are never left over. */
  get leftover(): readonly string[] {
    return this.#queues.flatMap(({ key, entries }) => {
      const steps = entries.flatMap((entry) =>
        entry.type === 'step' ? [describeStep(entry.step)] : [],
      );
      return steps.length === 0
        ? []
        : [`${steps.length} step(s) never asked for${describeKey(key)}: ${steps.join(', ')}`];
    });
  }

  /** Forgets all scripts. */
  clear(): void {
    this.#queues.length = 0;
  }
}

function describeKey(key: ScriptKey): string {
  const parts = Object.entries(key).map(([name, value]) => `${name} ${String(value)}`);
  return parts.length === 0 ? '' : ` by ${parts.join(', ')}`;
}

function describeStep(step: Step): string {
  if (step.type === 'reply') return `reply (${step.stop})`;
  return step.type === 'stream-fault' ? `stream fault (${step.act.type})` : step.type;
}
