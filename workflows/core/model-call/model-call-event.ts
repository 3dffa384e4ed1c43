/** What comes back of a model call, as an event: one reading for the workflow and for the client's fold of history. */
import type { CallModelResult, ModelCallHeldBack } from './ports';
import type { UnstampedEvent } from '../run/protocol';

/** The event of a model call's result. */
export function modelCallEvent(
  callId: string,
  result: CallModelResult | ModelCallHeldBack,
): UnstampedEvent {
  return 'heldBack' in result
    ? { type: 'model-call-held-back', callId, result }
    : { type: 'model-call-completed', callId, result };
}
