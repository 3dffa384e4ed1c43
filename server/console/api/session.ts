/** Who uses the console: the token of this tab, until it is closed. It is in no address, no cookie, and no other tab. */
import type { components } from '../../../examples/gateway-api';

/** A token that the gateway knew. */
export interface Session {
  readonly token: string;
  /** The person, for the record of what they decide; empty if they gave no name. */
  readonly by: string;
  readonly caller: components['schemas']['Caller'];
}

const key = 'holdfast';

/** The session of this tab. */
export function savedSession(): Session | undefined {
  const saved = sessionStorage.getItem(key);
  return saved === null ? undefined : (JSON.parse(saved) as Session);
}

/** Keeps the session in this tab; `undefined` forgets it. */
export function saveSession(session: Session | undefined): void {
  if (session === undefined) sessionStorage.removeItem(key);
  else sessionStorage.setItem(key, JSON.stringify(session));
}
