/** What a run has learned so far: facts, files, completed steps and unhealed failures. Bounded, so that it survives a roll-over. */
import type { AgentError } from '../failure';
import { normalizeText, shortHash } from '../errors/fingerprint';
import { defined } from '../json';
import type { JsonObject } from '../json';
import type { ContentHash } from '../message';
import type { OutputFindings } from '../tools/ports';
import type { FailedCall, ParameterOrigin } from './action';
import type { ExecutionMemory, KnownPath } from './state';

/** Entries of each list (ADR 0026): a few kilobytes in all. */
const bounds = {
  facts: 24,
  files: 48,
  seen: 96,
  effects: 64,
  completedSteps: 10,
  failures: 6,
} as const;

/** Characters of a failure's message. */
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
  readonly toolCallId: string;
  /** The stored result, and the findings in its whole output. */
  readonly result?: ContentHash;
  readonly findings?: OutputFindings;
}

/** The paths that a call named and changed. */
function filesOf({ toolCallId, result, findings, file }: Success): readonly KnownPath[] {
  const named = result === undefined ? [] : (findings?.paths ?? []);
  return [
    ...(file === undefined ? [] : [{ path: file, toolCallId }]),
    ...named.map((found) => ({ ...found, toolCallId, ...defined({ result }) })),
  ];
}

/** Keeps the newest origin of each path: an older result may be gone. */
function withFiles(known: readonly KnownPath[], added: readonly KnownPath[]): readonly KnownPath[] {
  const byPath = new Map(added.map((each) => [each.path, each]));
  const others = known.filter(({ path }) => !byPath.has(path));
  return [...others, ...byPath.values()].slice(-bounds.files);
}

/** Memory after a success, and what of it was new. */
export function rememberSuccess(
  memory: ExecutionMemory,
  success: Success,
): { readonly memory: ExecutionMemory; readonly gains: readonly string[] } {
  const { tool, findings, effect, file } = success;
  const identity = newsIdentity(success);
  const cleared = memory.failures.filter((failure) => failure.tool === tool);
  const gains = [
    ...(memory.seen.includes(identity) ? [] : ['new information']),
    ...(effect === undefined || memory.effects.includes(effect) ? [] : ['a new effect']),
    ...(file === undefined || memory.files.some(({ path }) => path === file)
      ? []
      : [`new file ${file}`]),
    ...(cleared.length === 0 ? [] : [`${tool} works again`]),
  ];
  return {
    gains,
    memory: {
      facts: appended(memory.facts, findings?.facts ?? [], bounds.facts),
      files: withFiles(memory.files, filesOf(success)),
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

/** A path without what may stand before it or behind it, with one kind of separator and composed letters. */
function plainPath(path: string): string {
  return path
    .normalize('NFC')
    .replace(/:\d+(?::\d+)?$/, '')
    .replaceAll('\\', '/')
    .replace(/^(?:\.?\/)+/, '');
}

const lastPart = (path: string): string => plainPath(path).split('/').at(-1) ?? path;

/** The paths that a value may mean, each once: those that end in the value, else those with the same last part. */
export function fittingPaths(paths: readonly string[], value: string): readonly string[] {
  const wanted = plainPath(value);
  if (wanted === '') return [];
  const byPlain = new Map(paths.map((path) => [plainPath(path), path]));
  const others = [...byPlain].filter(([, path]) => path !== value);
  const ending = others.filter(([plain]) => plain === wanted || plain.endsWith(`/${wanted}`));
  const fitting =
    ending.length > 0 ? ending : others.filter(([plain]) => lastPart(plain) === lastPart(wanted));
  return fitting.map(([, path]) => path);
}

/** What a corrected input looks like, and where the path was read. */
export interface CorrectedPath {
  readonly path: string;
  readonly origin: ParameterOrigin;
  readonly input: JsonObject;
}

/**
 * The input with the one parameter that names a file by less than its path, in full, as a result named it before.
 *
 * Contract: undefined unless exactly one path fits. Source: R-REC-7.
 */
export function correctPath(
  { files }: ExecutionMemory,
  input: JsonObject | undefined,
): CorrectedPath | undefined {
  const paths = files.map(({ path }) => path);
  for (const [parameter, value] of Object.entries(input ?? {})) {
    if (typeof value !== 'string') continue;
    const [only, ...others] = fittingPaths(paths, value);
    const known = files.find(({ path }) => path === only);
    if (known === undefined || others.length > 0) continue;
    const { path, ...origin } = known;
    return {
      path,
      origin: { ...origin, parameter, instead: value },
      input: { ...input, [parameter]: path },
    };
  }
  return undefined;
}
