/**
 * The agent that every engine runs: so many times the model asks for `lookup`, which returns so many bytes; then it answers.
 * No clock, no random number, no network. The goal carries the numbers, so that a model that knows only its messages can play.
 */

/** What one run is asked for. */
export interface SpeedTask {
  /** Calls of `lookup`; the model is asked once more, for the answer. */
  readonly iterations: number;
  readonly resultBytes: number;
}

/** A call of `lookup`. */
interface LookupCall {
  readonly id: string;
  readonly input: { readonly k: number; readonly size: number };
}

/** The system prompt. */
const system =
  'You are a careful research assistant. Use the lookup tool to fetch one record at a time, ' +
  'never guess a record, and answer with one short sentence when you have read them all.';

/** Of `lookup`. */
const toolDescription = 'Fetch one record of the archive by its number.';

/** The model's last word. */
const answer = 'All records were read; nothing unusual was found.';

/** What the user says. */
function goalOf({ iterations, resultBytes }: SpeedTask): string {
  return `Read the archive. n=${iterations} size=${resultBytes}`;
}

/** The task in any text that contains the goal. */
function taskIn(text: string): SpeedTask {
  const [, iterations, resultBytes] = /n=(\d+) size=(\d+)/.exec(text) ?? [];
  if (iterations === undefined || resultBytes === undefined)
    throw new Error('The prompt has no task: the goal of the speed benchmark is missing.');
  return { iterations: Number(iterations), resultBytes: Number(resultBytes) };
}

/** What the model does after `done` calls; undefined: it answers. */
function callAfter(done: number, task: SpeedTask): LookupCall | undefined {
  if (done >= task.iterations) return undefined;
  const id = `call_${String(done).padStart(6, '0')}`;
  return { id, input: { k: done, size: task.resultBytes } };
}

const words =
  'ledger harbor copper signal window orchard granite compass lantern meadow violet anchor'.split(
    ' ',
  );

/** Result `k`: exactly `size` ASCII characters that JSON does not escape, different for each `k`. */
function recordOf(k: number, size: number): string {
  let text = `record ${k}:`;
  let state = (k * 2_654_435_761) >>> 0;
  while (text.length < size) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += ` ${words[state % words.length] ?? ''}`;
  }
  return text.slice(0, size);
}

/** The script, as engines get it. */
export const script = { system, toolDescription, answer, goalOf, taskIn, callAfter, recordOf };
