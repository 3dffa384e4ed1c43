/** One fault of a conversation, drawn by a seed: what strikes, where, how the bytes travel, and what is right. */
import type { ToolEffect } from '../../../workflows/core/tools/ports';
import type { WireName } from '../../../testing/emulator/wire';

/** What spoils a model call. Each is a row in `call-faults.ts`. */
export type CallFaultName =
  | 'rate limit'
  | 'server error'
  | 'bad gateway'
  | 'overloaded'
  | 'gateway timeout'
  | 'request timeout'
  | 'overloaded in the stream'
  | 'server error in the stream'
  | 'rate limit in the stream'
  | 'reset in the stream'
  | 'end without a sign'
  | 'closed socket in the stream'
  | 'no closing event'
  | 'reset before the answer'
  | 'reset after the head'
  | 'empty answer'
  | 'web page'
  | 'malformed event'
  | 'silence'
  | 'wrong key'
  | 'no credit'
  | 'unknown model'
  | 'malformed request'
  | 'filtered request'
  | 'cut arguments'
  | 'invalid arguments'
  | 'missing parameter'
  | 'unknown tool'
  | 'empty reply'
  | 'refusal';

/** What befalls a tool call. Each is a row in `tool-faults.ts`. */
export type ToolFaultName =
  | 'says no'
  | 'throws'
  | 'rate limit of the service'
  | 'connection lost before the effect'
  | 'connection lost after the effect'
  | 'time limit after the effect'
  | 'broken for good';

/** How long the fault of a model call stays. */
type Persistence = 'once' | 'for all tries';

/** What strikes. */
export type Strike =
  | { readonly type: 'call'; readonly name: CallFaultName; readonly stays: Persistence }
  | { readonly type: 'tool'; readonly name: ToolFaultName; readonly effect: ToolEffect }
  | { readonly type: 'overflow' };

/** What the run was given to get over it. */
export type Chain =
  /** One route, whose cooldown is longer than the run may wait. */
  | 'one route'
  /** One route, whose cooldown the run may wait for. */
  | 'one route that rests'
  | 'two routes';

/** How the bytes of the vendor's answers travel. */
export type Travel = 'whole events' | 'CRLF' | 'pieces of three bytes' | 'pieces of seven bytes';

/** A fault with its place. */
export interface DrawnFault {
  readonly id: string;
  readonly wire: WireName;
  readonly travel: Travel;
  readonly chain: Chain;
  /** Effect of the agent's tool. */
  readonly effect: ToolEffect;
  /** Calls of the tool, by iteration; one more model call answers. */
  readonly batches: readonly number[];
  /** Iteration in which it strikes, from 0; the last one is the answer's. */
  readonly place: number;
  readonly strike: Strike;
}

/** What is right, fixed before the run (R-SCORE-1). */
export interface RightOfFault {
  readonly type: 'recovers' | 'stops';
  /** Requests that the fault adds to those of the same run without it; for a stop, all that follow the strike, itself included. */
  readonly calls: number;
  /** Of an overflow: how many it may add at most, since a summary is made in parts. */
  readonly atMost?: true;
  /** Of a stop: words of the cause. */
  readonly says?: RegExp;
}
