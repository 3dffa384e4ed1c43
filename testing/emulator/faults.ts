/** Turns a scripted step into what happens on the connection. */
import { defined } from '../../workflows/core/json';
import type { Action } from './delivery';
import { writesOf } from './delivery';
import type {
  Delivery,
  FaultStep,
  RawPiece,
  ReplyStep,
  StreamAct,
  StreamPosition,
  VendorError,
} from './step';
import type { Frame, ReplyContext, Wire } from './wire';
import { producedText } from './wire';

/** What a plan is made from. */
export interface PlanContext {
  readonly wire: Wire;
  readonly requestId: string;
  /** The request asked for a stream. */
  readonly stream: boolean;
  readonly replyContext: (reply: ReplyStep) => ReplyContext;
}

const sseHead = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

function head(
  context: PlanContext,
  status: number,
  headers: Readonly<Record<string, string>>,
): Action {
  return {
    type: 'head',
    status,
    headers: { ...context.wire.headers(context.requestId), ...headers },
  };
}

function text(content: string): Action {
  return { type: 'write', bytes: Buffer.from(content) };
}

/** An HTTP error with the vendor's body. */
export function planError(
  context: PlanContext,
  error: VendorError,
  more: { readonly headers?: Readonly<Record<string, string>> } = {},
): readonly Action[] {
  return [
    head(context, error.status, {
      'content-type': 'application/json',
      ...more.headers,
    }),
    text(JSON.stringify(context.wire.errorBody(error, context.requestId))),
    { type: 'end', how: 'eof' },
  ];
}

/** Index of the first frame that comes after the position. */
function indexOf(frames: readonly Frame[], at: StreamPosition): number {
  switch (at.type) {
    case 'start':
      return 1;
    case 'after-events':
      return Math.min(at.count, frames.length);
    case 'before-closing': {
      const closing = frames.findIndex((frame) => frame.closing === true);
      return closing < 0 ? frames.length : closing;
    }
    case 'after-characters': {
      let left = at.count;
      const index = frames.findIndex((frame) => {
        left -= frame.produced?.length ?? 0;
        return left <= 0 && frame.produced !== undefined;
      });
      return index < 0 ? frames.length : index + 1;
    }
  }
}

function framesToActions(frames: readonly Frame[], how: Delivery): readonly Action[] {
  return frames.flatMap((frame) => writesOf(frame.text, frame.produced, how));
}

function swapped(frames: readonly Frame[]): readonly Frame[] {
  const [first, second, ...rest] = frames;
  return first === undefined || second === undefined ? frames : [second, first, ...rest];
}

function pings(context: PlanContext, act: Extract<StreamAct, { type: 'pause' }>): Action[] {
  if (act.pingEveryMs === undefined) return [{ type: 'wait', ms: act.forMs }];
  const count = Math.floor(act.forMs / act.pingEveryMs);
  const every = act.pingEveryMs;
  return Array.from({ length: count }, (): Action[] => [
    text(context.wire.pingText),
    { type: 'wait', ms: every },
  ]).flat();
}

const eof: Action = { type: 'end', how: 'eof' };

function striking(actions: readonly Action[]): readonly Action[] {
  return actions.map((action) => ({ ...action, strikes: true }));
}

function actActions(
  act: StreamAct,
  rest: readonly Frame[],
  how: Delivery,
  context: PlanContext,
): readonly Action[] {
  switch (act.type) {
    case 'end':
      return [{ type: 'end', how: act.how }];
    case 'error': {
      const frame = context.wire.errorFrame(act.error, context.requestId);
      return [...striking(framesToActions([frame], how)), { type: 'end', how: act.then }];
    }
    case 'stall':
      return [
        {
          type: 'stall',
          pingText: context.wire.pingText,
          ...defined({ pingEveryMs: act.pingEveryMs }),
        },
      ];
    case 'pause':
      return [...striking(pings(context, act)), ...framesToActions(rest, how), eof];
    case 'insert':
      return [...striking(writesOf(act.text, undefined, how)), ...framesToActions(rest, how), eof];
    case 'malformed': {
      const inserted = writesOf(context.wire.dataLine(act.data), undefined, how);
      return [...striking(inserted), ...framesToActions(rest, how), eof];
    }
    case 'storm': {
      const one = act.kind === 'ping' ? context.wire.pingText : ': keep-alive\n\n';
      return [...striking([text(one.repeat(act.count))]), ...framesToActions(rest, how), eof];
    }
    case 'swap':
      return [
        ...striking(framesToActions(swapped(rest).slice(0, 2), how)),
        ...framesToActions(rest.slice(2), how),
        eof,
      ];
  }
}

function late(how: Delivery): readonly Action[] {
  return how.headersAfterMs === undefined ? [] : [{ type: 'wait', ms: how.headersAfterMs }];
}

/** Replies come whole or streamed, as the request asked. */
export function planReply(context: PlanContext, reply: ReplyStep): readonly Action[] {
  const replyContext = context.replyContext(reply);
  if (!context.stream) {
    const body = JSON.stringify(context.wire.whole(reply, replyContext));
    return [
      ...late(reply.delivery),
      head(context, 200, { 'content-type': 'application/json' }),
      ...writesOf(body, producedText(reply), { ...reply.delivery, crlf: false }),
      eof,
    ];
  }
  return [
    ...late(reply.delivery),
    head(context, 200, sseHead),
    ...framesToActions(context.wire.frames(reply, replyContext), reply.delivery),
    eof,
  ];
}

function planStreamFault(
  context: PlanContext,
  step: Extract<FaultStep, { type: 'stream-fault' }>,
): readonly Action[] {
  if (!context.stream) return planWholeFault(context, step);
  const how = step.reply.delivery;
  const frames = context.wire.frames(step.reply, context.replyContext(step.reply));
  const index = indexOf(frames, step.at);
  return [
    ...late(how),
    head(context, 200, sseHead),
    ...framesToActions(frames.slice(0, index), how),
    ...actActions(step.act, frames.slice(index), how, context),
  ];
}

/** The nearest thing to a stream's fault for a request without `stream`: half the body, an HTTP error, silence. */
function planWholeFault(
  context: PlanContext,
  step: Extract<FaultStep, { type: 'stream-fault' }>,
): readonly Action[] {
  const { act, reply } = step;
  if (act.type === 'error') return planError(context, act.error);
  if (act.type !== 'end' && act.type !== 'stall') return planReply(context, reply);
  const body = JSON.stringify(context.wire.whole(reply, context.replyContext(reply)));
  return [
    head(context, 200, { 'content-type': 'application/json' }),
    text(body.slice(0, Math.floor(body.length / 2))),
    act.type === 'end' ? { type: 'end', how: act.how } : { type: 'stall', pingText: '' },
  ];
}

function rawAction(piece: RawPiece): Action {
  switch (piece.type) {
    case 'text':
      return text(piece.text);
    case 'hex':
      return { type: 'write', bytes: Buffer.from(piece.hex, 'hex') };
    case 'wait':
      return { type: 'wait', ms: piece.ms };
  }
}

/** Faults as they happen on the connection. */
export function planFault(context: PlanContext, step: FaultStep): readonly Action[] {
  switch (step.type) {
    case 'stream-fault':
      return planStreamFault(context, step);
    case 'connection-fault': {
      const last: Action =
        step.how === 'stall' ? { type: 'stall', pingText: '' } : { type: 'end', how: step.how };
      return step.at === 'before-headers' ? [last] : [head(context, 200, sseHead), last];
    }
    case 'http-fault': {
      const wait: readonly Action[] = step.delayMs > 0 ? [{ type: 'wait', ms: step.delayMs }] : [];
      if (step.body === undefined && step.bodyText === undefined) {
        return [...wait, ...planError(context, step.error, { headers: step.headers })];
      }
      const type = step.body === undefined ? 'text/html' : 'application/json';
      const content = step.bodyText ?? JSON.stringify(step.body);
      return [
        ...wait,
        head(context, step.status, { 'content-type': type, ...step.headers }),
        text(content),
        eof,
      ];
    }
    case 'raw':
      return [
        { type: 'head', status: step.status, headers: step.headers },
        ...step.pieces.map(rawAction),
        step.end.type === 'end'
          ? { type: 'end', how: step.end.how }
          : {
              type: 'stall',
              pingText: context.wire.pingText,
              ...defined({ pingEveryMs: step.end.pingEveryMs }),
            },
      ];
  }
}
