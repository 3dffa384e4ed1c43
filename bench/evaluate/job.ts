/** What a job of the evaluation is: a goal, tools on a small world, and a check that decides. */
import type { AnyTool } from '../../activities/tools/tool';

/** What one run may read and change. Nothing in it is shared with another run. */
export interface World {
  /** Text files by name. */
  readonly files: Map<string, string>;
  /** What tools changed, in order, one line each. */
  readonly effects: string[];
  /** What tools know, by name: filled by the job. */
  readonly facts: Readonly<Record<string, string | number>>;
}

/** Finds the world of a run. */
export type Worlds = (runId: string) => World;

/** A job with its numbers and names drawn. */
export interface DrawnJob {
  readonly goal: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly facts?: World['facts'];
  /** Undefined where the job is done; else what is wrong, in a few words. */
  readonly check: (world: World, answer: string) => string | undefined;
}

/** Draws numbers and names for a job; the same for the same seed. */
export interface Draw {
  /** A whole number from `least` to `most`. */
  readonly number: (least: number, most: number) => number;
  readonly oneOf: <Item>(items: readonly Item[]) => Item;
}

/** A job. */
export interface Job {
  /** Unique over all jobs. */
  readonly id: string;
  /** Wording, hints and protocol are never changed for it. */
  readonly isHeldOut: boolean;
  readonly draw: (draw: Draw) => DrawnJob;
}

/** Jobs that share their tools. */
export interface JobFamily {
  readonly name: string;
  readonly instructions: string;
  readonly tools: (worlds: Worlds) => readonly AnyTool[];
  readonly jobs: readonly Job[];
}

/** Shortens a job's definition. */
export function job(id: string, draw: Job['draw'], isHeldOut = false): Job {
  return { id, isHeldOut, draw };
}

/** A job that is kept out of any tuning. */
export function heldOut(id: string, draw: Job['draw']): Job {
  return job(id, draw, true);
}

/** Exactly these changes, in this order. */
export function expectEffects({ effects }: World, wanted: readonly string[]): string | undefined {
  const [got, right] = [effects.join('; '), wanted.join('; ')];
  return got === right ? undefined : `changed: ${got || 'nothing'}; right: ${right || 'nothing'}`;
}

/** The answer names this number or word, and nothing was changed. */
export function expectAnswer(
  { effects }: World,
  answer: string,
  right: string | number,
): string | undefined {
  if (effects.length > 0) return `changed: ${effects.join('; ')}; right: nothing`;
  const words = answer.replaceAll(/(\d),(?=\d{3})/g, '$1').matchAll(/[\w.-]*\w/g);
  return [...words].some(([word]) => word === String(right))
    ? undefined
    : `the answer does not name ${right}`;
}
