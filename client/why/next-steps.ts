/** The commands and the words of what to do next. */
import { shortened } from '../../workflows/core/shortened';
import { shellWord } from '../../workflows/core/view/shell-word';
import type { NextStep, WhyFacts } from './explanation';

/** Characters of a text that a sentence repeats. */
const sentenceChars = 500;

/** Words of a failure or a person as one whole sentence. */
export function sentence(text: string): string {
  const line = shortened(text.replace(/\s+/g, ' ').trim(), sentenceChars);
  return /[.!?…]$/.test(line) ? line : `${line}.`;
}

type Reader = Pick<WhyFacts, 'runId' | 'surroundings' | 'ownTaskQueue'>;

/** Time of day in UTC, with the date unless it is today. */
export function utcTime(atMs: number, nowMs: number): string {
  const [day, time] = [new Date(atMs).toISOString().slice(0, 10), utcClock(atMs)];
  return day === new Date(nowMs).toISOString().slice(0, 10) ? time : `${day} ${time}`;
}

function utcClock(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(11, 19)} UTC`;
}

/** Milliseconds below which tenths of a second are told. */
const shortMs = 10_000;

/** `3 h 20 min`, `12 min`, `40 s`, `0.3 s`. */
export function spanText(ms: number): string {
  if (ms < shortMs) return `${(Math.max(ms, 0) / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  if (hours > 0) return minutes === 0 ? `${hours} h` : `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min` : `${seconds} s`;
}

/** A command about this run. */
export function command(name: string, { runId }: Reader, ...more: readonly string[]): string {
  return ['holdfast', name, shellWord(runId), ...more].join(' ');
}

/** A new run must go to the queue whose workers know the agent. */
function onItsQueue({ surroundings, ownTaskQueue }: Reader, text: string): string {
  const { taskQueue } = surroundings;
  return taskQueue === ownTaskQueue ? text : `HOLDFAST_TASK_QUEUE=${shellWord(taskQueue)} ${text}`;
}

/** Forks the run after this iteration. */
export function forkStep(
  text: string,
  reader: Reader,
  iteration: number,
  message?: string,
): NextStep {
  const said = message === undefined ? [] : ['--message', shellWord(message)];
  const given = command('fork', reader, '--at', String(iteration), ...said);
  return { text, command: onItsQueue(reader, given) };
}

/** Continues a run that has ended, as a new run; `options` are those of `holdfast run`. */
export function continueStep(
  text: string,
  reader: Reader & Pick<WhyFacts, 'state'>,
  message: string,
  ...options: readonly string[]
): NextStep {
  const { runId, state } = reader;
  const { agent, tenant } = state.request;
  const words = ['run', shellWord(message), '--agent', shellWord(agent)];
  const ofTenant = tenant === undefined ? [] : ['--tenant', shellWord(tenant)];
  const given = [...words, '--continue', shellWord(runId), ...options, ...ofTenant, '--detach'];
  return { text, command: onItsQueue(reader, `holdfast ${given.join(' ')}`) };
}

/** Starts a worker for the run's task queue. */
export function workerStep(text: string, { surroundings, ownTaskQueue }: Reader): NextStep {
  const { taskQueue } = surroundings;
  const queue = taskQueue === ownTaskQueue ? '' : ` --task-queue ${shellWord(taskQueue)}`;
  return { text, command: `holdfast worker${queue} --agents FILE` };
}
