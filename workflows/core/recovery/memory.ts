/** What a run has learned so far: facts, files, completed steps and unhealed failures. Bounded, so that it survives a roll-over. */
import type { AgentError } from '../failure';
import { normalizeText, shortHash } from '../errors/fingerprint';
import { defined } from '../json';
import type { JsonObject } from '../json';
import type { FailedCall } from './action';
import type { ExecutionMemory } from './state';

/** Entries of each list (ADR 0026): a few kilobytes in all. */
const bounds = {
  facts: 24,
  files: 48,
  seen: 96,
  effects: 64,
  completedSteps: 10,
  failures: 6,
} as const;

/** Characters of a fact, a path and a failure's message. */
const factChars = 160;
const pathChars = 200;
const messageChars = 300;

/** Characters of JSON up to which the input of a failed call is kept. */
const inputChars = 1_000;

/** Steps after which a failure whose tool was not called again is forgotten. */
const staleSteps = 8;

function appended(
  list: readonly string[],
  added: readonly string[],
  bound: number,
): readonly string[] {
  const fresh = [...new Set(added)].filter((entry) => !list.includes(entry));
  return fresh.length === 0 ? list : [...list, ...fresh].slice(-bound);
}

/** A relative path with a folder or an extension; what follows a colon is a line number. */
const path = /(?<![\w@:/.~-])(?:[\w@+.-]{1,80}\/){0,12}[\w@+.-]{1,80}\.[A-Za-z]\w{0,8}(?![\w/])/g;

/** Ends of names that are not files. */
const noFile = /^(?:\d+(?:\.\d+)*|e\.g|i\.e|etc)$/i;

/** The paths that a text names, in order, each once. */
export function pathsIn(text: string): readonly string[] {
  const found = [...text.matchAll(path)].map(([whole]) => whole);
  return [...new Set(found)].filter((name) => name.length <= pathChars && !noFile.test(name));
}

function findings(preview: string): readonly string[] {
  const lines = preview
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const naming = lines.filter((line) => pathsIn(line).length > 0);
  const [first] = lines;
  const chosen = naming.length > 0 ? naming.slice(0, 4) : first === undefined ? [] : [first];
  return chosen.map((line) => line.slice(0, factChars));
}

/** Words before a fraction that count tries, not progress. */
const tries = /(?:attempts?|retry|retries|try|tries)\W{0,3}$/i;

/**
 * Identity of a result as news: its fingerprint, and the shares and fractions that fingerprints leave out, since polling that
 * goes from 12 % to 34 % brings something new.
 */
export function newsIdentity(result: {
  readonly preview: string;
  readonly fingerprint: string;
}): string {
  const { preview, fingerprint } = result;
  const shares = [
    ...preview.matchAll(
      /(?<!\d)\d{1,20}(?:[.,]\d{1,20})? ?%|(?<!\d)\d{1,20} ?(?:\/|of) ?\d{1,20}/g,
    ),
  ]
    .filter((match) => !tries.test(preview.slice(0, match.index)))
    .map(([share]) => share);
  return shares.length === 0 ? fingerprint : shortHash(`${fingerprint} ${shares.join(' ')}`);
}

/** What a successful call adds. */
export interface Success {
  readonly tool: string;
  readonly summary: string;
  readonly preview: string;
  readonly fingerprint: string;
  /** Identity of a call that changes something. */
  readonly effect?: string;
  /** File that it changed. */
  readonly file?: string;
}

/** Memory after a success, and what of it was new. */
export function rememberSuccess(
  memory: ExecutionMemory,
  success: Success,
): { readonly memory: ExecutionMemory; readonly gains: readonly string[] } {
  const { tool, preview, effect, file } = success;
  const identity = newsIdentity(success);
  const cleared = memory.failures.filter((failure) => failure.tool === tool);
  const gains = [
    ...(memory.seen.includes(identity) ? [] : ['new information']),
    ...(effect === undefined || memory.effects.includes(effect) ? [] : ['a new effect']),
    ...(file === undefined || memory.files.includes(file) ? [] : [`new file ${file}`]),
    ...(cleared.length === 0 ? [] : [`${tool} works again`]),
  ];
  return {
    gains,
    memory: {
      facts: appended(memory.facts, findings(preview), bounds.facts),
      files: appended(
        memory.files,
        [...pathsIn(preview), ...(file === undefined ? [] : [file])],
        bounds.files,
      ),
      seen: appended(memory.seen, [identity], bounds.seen),
      effects: appended(memory.effects, effect === undefined ? [] : [effect], bounds.effects),
      completedSteps: [...memory.completedSteps, success.summary].slice(-bounds.completedSteps),
      failures: memory.failures.filter((failure) => failure.tool !== tool),
    },
  };
}

function isSame(failure: FailedCall, error: AgentError): boolean {
  return (
    failure.tool === (error.toolName ?? '') &&
    failure.code === error.code &&
    normalizeText(failure.message) === normalizeText(error.message.slice(0, messageChars))
  );
}

/** Memory after a failure, which is counted once a step. */
export function rememberFailure(
  memory: ExecutionMemory,
  error: AgentError,
  input: JsonObject | undefined,
  stepNumber: number,
): ExecutionMemory {
  const before = memory.failures.find((failure) => isSame(failure, error));
  const times = before === undefined ? 1 : before.times + (before.lastStep < stepNumber ? 1 : 0);
  const failure: FailedCall = {
    tool: (error.toolName ?? '').slice(0, 64),
    code: error.code,
    message: error.message.slice(0, messageChars),
    ...defined({
      hint: error.hint?.slice(0, messageChars),
      input: JSON.stringify(input ?? {}).length <= inputChars ? input : undefined,
    }),
    times,
    lastStep: stepNumber,
  };
  const others = memory.failures.filter(
    (other) => other !== before && other.lastStep > stepNumber - staleSteps,
  );
  return { ...memory, failures: [...others, failure].slice(-bounds.failures) };
}

/** Restarts the count of every failure: a recovery has handled them. */
export function recount(memory: ExecutionMemory): ExecutionMemory {
  return { ...memory, failures: memory.failures.map((failure) => ({ ...failure, times: 0 })) };
}

const lastPart = (name: string): string => name.split('/').at(-1) ?? name;

/** What a corrected input looks like, and which path was put in. */
export interface CorrectedPath {
  readonly parameter: string;
  readonly path: string;
  readonly input: JsonObject;
}

/**
 * The input with the one parameter that names a file by less than its path, in full, as a result named it before.
 *
 * Contract: undefined unless exactly one path fits. Source: R-REC-7.
 */
export function correctPath(
  memory: ExecutionMemory,
  input: JsonObject | undefined,
): CorrectedPath | undefined {
  if (input === undefined) return undefined;
  for (const [parameter, value] of Object.entries(input)) {
    if (typeof value !== 'string' || value === '') continue;
    const wanted = value.replace(/:\d+(?::\d+)?$/, '').replace(/^\.?\//, '');
    const same = memory.files.filter(
      (file) => file !== value && (file === wanted || file.endsWith(`/${wanted}`)),
    );
    const byName =
      same.length > 0
        ? same
        : memory.files.filter((file) => file !== value && lastPart(file) === lastPart(wanted));
    const [only] = byName;
    if (byName.length === 1 && only !== undefined)
      return { parameter, path: only, input: { ...input, [parameter]: only } };
  }
  return undefined;
}
