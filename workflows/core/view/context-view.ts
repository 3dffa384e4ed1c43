/** How full the window is, for people. */
import type { Sized } from '../context/size';
import { contextBounds } from '../context/size';
import type { FailoverSlice } from '../failover/state';

/** Size of the conversation against its window. */
export interface ContextView {
  /** Input tokens of the last request, as the vendor counted. */
  readonly tokens: number;
  readonly windowTokens: number;
  /** Compactions so far. */
  readonly compactions: number;
}

/** The size of a run's conversation; undefined before the first reply. */
export function contextView(state: Sized & FailoverSlice): ContextView | undefined {
  const route = state.snapshot?.chain[state.lastRouteIndex ?? 0];
  if (route === undefined || state.contextTokens <= 0) return undefined;
  const { windowTokens } = contextBounds(state, route);
  return { tokens: state.contextTokens, windowTokens, compactions: state.context.compactions };
}

/** `51200 of 64000 tokens (80 %), 2 compactions`. */
export function contextText({ tokens, windowTokens, compactions }: ContextView): string {
  const share = Math.round((100 * tokens) / Math.max(windowTokens, 1));
  const times = compactions === 1 ? '1 compaction' : `${compactions} compactions`;
  return `${tokens} of ${windowTokens} tokens (${share} %)${compactions === 0 ? '' : `, ${times}`}`;
}
