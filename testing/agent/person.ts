/** What people do in a script, when the run waits for them. */
import type { JsonObject } from '../../workflows/core/json';
import { defined } from '../../workflows/core/json';

/** One act of a person in a script of `testAgent`; made by a builder of `person`. */
export interface PersonStep {
  readonly type: 'person';
  readonly act:
    | { readonly does: 'approve'; readonly tool?: string; readonly input?: JsonObject }
    | { readonly does: 'reject'; readonly tool?: string; readonly reason: string }
    | { readonly does: 'answer'; readonly text: string }
    | { readonly does: 'say'; readonly text: string }
    | { readonly does: 'wait'; readonly ms: number };
}

/** Builders of what people do. Each is due when the run waits for a person; only `say` is not. */
export const person = {
  /** Approves what waits, the call of `tool` if several do; with `input`, the same tool with other arguments. */
  approve: (options: { readonly tool?: string; readonly input?: JsonObject } = {}): PersonStep => ({
    type: 'person',
    act: { does: 'approve', ...defined(options) },
  }),

  /** Rejects what waits; the model reads the reason. */
  reject: (reason: string, options: { readonly tool?: string } = {}): PersonStep => ({
    type: 'person',
    act: { does: 'reject', reason, ...defined(options) },
  }),

  /** Answers the question that waits, or lets an escalated run go on. */
  answer: (text: string): PersonStep => ({ type: 'person', act: { does: 'answer', text } }),

  /** Says something while the model gives the reply before this step; the model reads it with its next request. */
  say: (text: string): PersonStep => ({ type: 'person', act: { does: 'say', text } }),

  /** Does nothing for so many milliseconds of the server's time, which are skipped: reminders come, and waits expire. */
  wait: (ms: number): PersonStep => ({ type: 'person', act: { does: 'wait', ms } }),
};
