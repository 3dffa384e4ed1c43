/** Decides the moves of the demo's scripted model from what its tools returned. No answer is built in. */
import type { JsonObject } from '../../workflows/core/json';

/** A tool call that was answered, in the order of the conversation. */
export interface AnsweredCall {
  readonly name: string;
  readonly input: JsonObject;
  readonly result: string;
}

/** Where in its work the model is. */
export type Stage =
  | 'look-round'
  | 'test'
  | 'read-test'
  | 'search'
  | 'read-by-name'
  | 'read-source'
  | 'fix-from-memory'
  | 'fix'
  | 'prove'
  | 'prove-again'
  | 'finish';

/** What the model does next, and what it says with it. */
export interface Move {
  readonly stage: Stage;
  readonly text: string;
  readonly name: string;
  readonly input: JsonObject;
}

const testCommand = 'npm test';
/** A habit from shells, although there is no shell here. */
const pipedCommand = 'npm test 2>&1 | tail -60';

const move = (stage: Stage, text: string, name: string, input: JsonObject): Move => ({
  stage,
  text,
  name,
  input,
});

function last(
  calls: readonly AnsweredCall[],
  name: string,
  isWanted: (call: AnsweredCall) => boolean = () => true,
): AnsweredCall | undefined {
  return calls.findLast((call) => call.name === name && isWanted(call));
}

const hasRun = ({ result }: AnsweredCall): boolean => /Exit code \d+/.test(result);
const hasPassed = ({ result }: AnsweredCall): boolean => /Exit code 0\b/.test(result);
const hasEdited = ({ result }: AnsweredCall): boolean => /\bEdited \S+/.test(result);

/** Lines of a file as `read_file` printed them, without its own first line. */
function linesOf({ result }: AnsweredCall): readonly string[] {
  const [, body = ''] = /, lines \d+-\d+ of \d+:\n([\s\S]*)/.exec(result) ?? [];
  return body.split('\n');
}

/** The place of the failed assertion: the deepest one in the project's tests that the output names. */
function failedPlace(output: string): { readonly path: string; readonly line: number } | undefined {
  const places = [...output.matchAll(/(test\/[\w/-]+\.test\.js):(\d+):\d+/g)];
  const place = places.at(-1);
  return place?.[1] === undefined ? undefined : { path: place[1], line: Number(place[2]) };
}

function giveUp(why: string): Move {
  return move('finish', why, 'complete_task', {
    summary: `I could not find the fault. ${why}`,
    result: { file: '', cause: why },
  });
}

function prove(calls: readonly AnsweredCall[]): Move {
  const editedAt = calls.findLastIndex((call) => call.name === 'edit_file' && hasEdited(call));
  const runs = calls.slice(editedAt + 1).filter((call) => call.name === 'run_command');
  const run = runs.find(hasRun);
  if (run === undefined) {
    const text = runs.length === 0 ? 'Now the tests must pass.' : 'Tests may run twice. Once more.';
    return move(runs.length === 0 ? 'prove' : 'prove-again', text, 'run_command', {
      command: testCommand,
    });
  }
  const [, file = ''] = /Edited (\S+?):/.exec(calls[editedAt]?.result ?? '') ?? [];
  if (!hasPassed(run)) return giveUp(`After the change in ${file} the tests still fail.`);
  const cause = 'sort() without a comparator orders numbers as text.';
  return move('finish', 'All tests pass.', 'complete_task', {
    summary: `Repaired ${file}: ${cause} All tests pass now.`,
    result: { file, cause },
  });
}

/** The source is known: find the sort that has no comparator, and give it one. */
function fix(calls: readonly AnsweredCall[], path: string, source: AnsweredCall): Move {
  const line = linesOf(source).find((each) => each.includes('.sort()'));
  if (line === undefined) return giveUp(`Nothing in ${path} explains it.`);
  const exact = line.trim();
  const remembered = exact.replace(/\[\.\.\.(\w+)\]/, '$1');
  const tried = calls.some((call) => call.name === 'edit_file');
  const fixed = (text: string): string => text.replace('.sort()', '.sort((a, b) => a - b)');
  return tried || remembered === exact
    ? move('fix', 'I take the line exactly as it stands.', 'edit_file', {
        path,
        old_text: exact,
        new_text: fixed(exact),
      })
    : move('fix-from-memory', 'sort() compares numbers as if they were text.', 'edit_file', {
        path,
        old_text: remembered,
        new_text: fixed(remembered),
      });
}

/** The failing assertion is known: find what computed the value that it looks at. */
function trace(
  calls: readonly AnsweredCall[],
  place: { readonly path: string; readonly line: number },
): Move {
  const test = last(calls, 'read_file', ({ input }) => input['path'] === place.path);
  if (test === undefined)
    return move('read-test', 'One test fails. What does it expect?', 'read_file', {
      path: place.path,
    });
  const assertion = linesOf(test)[place.line - 1] ?? '';
  const [, property] = /\.(\w+),/.exec(assertion) ?? [];
  if (property === undefined) return giveUp(`I cannot read the assertion: ${assertion.trim()}`);
  const search = last(calls, 'search_files');
  if (search === undefined)
    return move('search', `${property} is wrong. Who computes it?`, 'search_files', {
      query: `${property}:`,
      path: 'src',
    });
  const [, maker] = new RegExp(`${property}: (\\w+)\\(`).exec(search.result) ?? [];
  if (maker === undefined) return giveUp(`Nobody computes ${property}.`);
  const byName = last(calls, 'read_file', ({ input }) => input['path'] === `${maker}.js`);
  if (byName === undefined)
    return move('read-by-name', `${maker}() does. I read it.`, 'read_file', {
      path: `${maker}.js`,
    });
  const [path] = new RegExp(`src/[\\w/-]*${maker}\\.js`).exec(byName.result) ?? [];
  if (path === undefined) return giveUp(`There is no file of ${maker}().`);
  const source = last(calls, 'read_file', ({ input }) => input['path'] === path);
  return source === undefined
    ? move('read-source', 'With its whole path, then.', 'read_file', { path })
    : fix(calls, path, source);
}

/**
 * The next move after these calls.
 *
 * Contract: pure; everything it knows of the project it has read from `calls`.
 */
export function nextMove(calls: readonly AnsweredCall[]): Move {
  if (last(calls, 'list_files') === undefined)
    return move('look-round', 'First I look at what there is.', 'list_files', { path: '.' });
  if (last(calls, 'edit_file', hasEdited) !== undefined) return prove(calls);
  const run = last(calls, 'run_command', hasRun);
  if (run === undefined) {
    const isFirst = last(calls, 'run_command') === undefined;
    const text = isFirst ? 'What do the tests say?' : 'Without a shell, then.';
    return move('test', text, 'run_command', { command: isFirst ? pipedCommand : testCommand });
  }
  if (hasPassed(run)) return giveUp('All tests pass already.');
  const place = failedPlace(run.result);
  return place === undefined
    ? giveUp('The output of the tests names no place.')
    : trace(calls, place);
}
