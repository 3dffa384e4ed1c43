/** What happens on the connection: replies as the wire streams them, errors, and faults within a stream. */
import type { Action } from './delivery';
import { writesOf } from './delivery';
import type { Delivery, ReplyStep, VendorError } from './step';
import type { Frame, ReplyContext, Wire } from './wire';

/** What a plan is made from. */
export interface PlanContext {
  readonly wire: Wire;
  readonly requestId: string;
  readonly replyContext: (reply: ReplyStep) => ReplyContext;
}

/** A fault instead of a reply, or within one. */
export interface FaultStep {
  readonly type: 'fault';
  /** What it is, for people. */
  readonly name: string;
  /** What the model works on, and bills, until the fault strikes. */
  readonly reply?: ReplyStep;
  /** What happens on the connection. @internal */
  readonly plan: (context: PlanContext) => readonly Action[];
}

/** One scripted answer. */
export type Step = ReplyStep | FaultStep;

/** Options that place a fault in a stream. At most one of the positions; default is right after the opening event. */
export interface StreamFaultOptions {
  /** The reply that the fault strikes; default a text (`afterText`, then some more). */
  readonly during?: ReplyStep;
  readonly afterEvents?: number;
  /** After this many characters of text, reasoning, and tool arguments. */
  readonly afterCharacters?: number;
  /** The model has sent exactly this (or, with `during`, this many characters) when the fault strikes. */
  readonly afterText?: string;
  /** Before the vendor's first closing event: all content is out, nothing says that it is whole. */
  readonly beforeClosing?: boolean;
}

/** A clean end of the body. */
export const eof: Action = { type: 'end', how: 'eof' };

/** The head of an event stream. */
export const sseHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

/** The head of an answer, with what the vendor always adds. */
export function head(
  { wire, requestId }: PlanContext,
  status: number,
  headers: Readonly<Record<string, string>>,
): Action {
  return { type: 'head', status, headers: { ...wire.headers(requestId), ...headers } };
}

/** One write. */
export function written(content: string | Buffer): Action {
  return { type: 'write', bytes: Buffer.from(content) };
}

/** An HTTP error with the vendor's body. */
export function planError(
  context: PlanContext,
  error: VendorError,
  headers: Readonly<Record<string, string>> = {},
): readonly Action[] {
  return [
    head(context, error.status, { 'content-type': 'application/json', ...headers }),
    written(JSON.stringify(error.body ?? context.wire.errorBody(error, context.requestId))),
    eof,
  ];
}

/** The events of a stream as writes. */
export function framesToActions(frames: readonly Frame[], how: Delivery): readonly Action[] {
  return frames.flatMap((frame) => writesOf(frame.text, frame.produced, how));
}

function opening(context: PlanContext, { headersAfterMs }: Delivery): readonly Action[] {
  const late: readonly Action[] =
    headersAfterMs === undefined ? [] : [{ type: 'wait', ms: headersAfterMs }];
  return [...late, head(context, 200, sseHeaders)];
}

/** A whole reply. */
export function planReply(context: PlanContext, reply: ReplyStep): readonly Action[] {
  const frames = context.wire.frames(reply, context.replyContext(reply));
  return [...opening(context, reply.delivery), ...framesToActions(frames, reply.delivery), eof];
}

/** Index of the first frame that comes after the fault's position. */
function indexOf(frames: readonly Frame[], options: StreamFaultOptions): number {
  if (options.beforeClosing === true) return frames.findIndex((frame) => frame.closing === true);
  if (options.afterEvents !== undefined) return options.afterEvents;
  let left = options.afterCharacters ?? options.afterText?.length;
  if (left === undefined) return 1;
  for (const [index, { produced }] of frames.entries()) {
    left -= produced?.length ?? 0;
    if (left <= 0 && produced !== undefined) return index + 1;
  }
  return frames.length;
}

/** A reply that breaks: its stream up to the position, then what `strike` makes of the events that are left. */
export function planBrokenReply(
  context: PlanContext,
  reply: ReplyStep,
  options: StreamFaultOptions,
  strike: (context: PlanContext, rest: readonly Frame[], how: Delivery) => readonly Action[],
): readonly Action[] {
  const how = reply.delivery;
  const frames = context.wire.frames(reply, context.replyContext(reply));
  const index = indexOf(frames, options);
  return [
    ...opening(context, how),
    ...framesToActions(frames.slice(0, index), how),
    ...strike(context, frames.slice(index), how),
  ];
}
