/** What an area of the fuzzer is: something that takes bytes from outside, and a judge of what it makes of them. */
import type { Mutation } from './mutations';

/** How a case went wrong. */
export interface Finding {
  /**
   * `crash`: an error that the product does not declare for such input. `hang`: no end within the deadline. `false success`: broken
   * input that was taken for whole, or a tool input that nobody sent.
   */
  readonly kind: 'crash' | 'hang' | 'false success';
  readonly what: string;
}

/** A case: which whole input, and what is done to it, in this order. */
export interface FuzzInput {
  readonly base: number;
  readonly mutations: readonly Mutation[];
}

/** An area while it is open. */
export interface OpenFuzzArea {
  /** Draws a case. Contract: only from `random`. */
  readonly draw: (random: () => number) => FuzzInput;
  /** Plays a case. Contract: the same input is judged alike. */
  readonly attempt: (input: FuzzInput) => Promise<Finding | undefined>;
  readonly close: () => Promise<void>;
}

/** An area. */
export interface FuzzArea {
  /** As `--only` takes it. */
  readonly name: string;
  readonly about: string;
  readonly open: () => Promise<OpenFuzzArea>;
}

/** Milliseconds until what has not ended counts as a hang: far above what any case needs on a busy machine. */
const hangMs = 30_000;

/** Resolves with what the work came to, or that it hangs. */
export async function settled<Result>(
  work: Promise<Result>,
): Promise<{ readonly value: Result } | { readonly thrown: unknown } | 'hang'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'hang'>((resolve) => {
    timer = setTimeout(resolve, hangMs, 'hang');
  });
  const ended = work.then(
    (value) => ({ value }),
    (thrown: unknown) => ({ thrown }),
  );
  try {
    return await Promise.race([ended, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The finding of an error that should not be. */
export function crashOf(thrown: unknown): Finding {
  const what = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return { kind: 'crash', what: what.slice(0, 1_500) };
}

/** The finding of work that does not end. */
export const hanging: Finding = { kind: 'hang', what: `no end within ${hangMs / 1_000} s` };
