/** The activity `notify` as the core sees it. */
import type { DefinitionReference } from '../message';
import type { ShownArguments } from '../secrets/ports';

/** The notice that a run waits for a person. All of it is bounded and sanitized. */
export interface PersonNotice {
  readonly kind: 'escalation' | 'question' | 'approval';
  /** Id of the question or approval that the answer names. */
  readonly itemId: string;
  readonly agent: string;
  readonly goal: string;
  /** What is asked. */
  readonly asked: string;
  /** Of an approval: the arguments of the call, on which the person decides. */
  readonly arguments?: ShownArguments;
  readonly lastError?: string;
  /** What was tried, newest last. */
  readonly worked: readonly string[];
  readonly didNotWork: readonly string[];
  readonly iteration: number;
  readonly route?: string;
  readonly sinceMs: number;
}

/** Input of the activity that notifies people. */
export interface NotifyInput extends DefinitionReference {
  /** Names of the worker's notifiers. */
  readonly notifiers: readonly string[];
  /** Stable over attempts, workers and segments, so that receivers recognize repeats. */
  readonly idempotencyKey: string;
  readonly notice: PersonNotice;
}

/** Who was notified, and who could not be. */
export interface NotifyResult {
  readonly delivered: readonly string[];
  readonly failed: readonly { readonly notifier: string; readonly message: string }[];
}
