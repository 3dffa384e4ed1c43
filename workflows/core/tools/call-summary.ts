/** A tool call in a few words. */
import type { ProposedToolCall } from './ports';

/** Name and label of a call, as people read it. */
export function callSummary(call: ProposedToolCall): string {
  return call.label === undefined ? call.name : `${call.name} ${call.label}`;
}
