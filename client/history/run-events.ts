/** What `events` takes and gives: a run's timeline from an id on, and with it the text of model calls in progress. */
import { z } from 'zod';
import { defined } from '../../workflows/core/json';
import type { LiveTextSource } from '../../workflows/core/model-call/live-text';
import { check, optionsOf } from '../check-input';
import { ClientError } from '../client-error';
import { withText } from './live-text';
import type { PieceWithText } from './live-text';
import { foldRun } from './read-history';
import type { RunAccess } from '../run-access';
import { attemptEach } from '../run-access';

/** How much of a timeline, and until when. */
export interface EventOptions {
  /** Id of the last entry that is known: the timeline goes on behind it. Default: from its beginning. */
  readonly after?: string | undefined;
  /** Continues until the run ends. Default: with `text`, else the timeline ends with what is there now. */
  readonly follow?: boolean;
  /** Ends the timeline, quietly. */
  readonly signal?: AbortSignal | undefined;
}

const entryId = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})$/;

const optionsSchema = optionsOf('events', {
  after: z
    .string({ error: '`after` must be the id of an entry' })
    .regex(entryId, {
      error: ({ input }) =>
        `\`after\` is ${JSON.stringify(String(input).slice(0, 60))}, which is no id of an entry; take the \`id\` of one that \`events\` gave, such as "1.17.0"`,
    })
    .optional(),
  follow: z.boolean({ error: '`follow` must be true or false' }).optional(),
  signal: z.instanceof(AbortSignal, { error: '`signal` must be an AbortSignal' }).optional(),
  text: z.boolean({ error: '`text` must be true or false' }).optional(),
}).refine(({ text, follow }) => text !== true || follow !== false, {
  error:
    '`text` needs `follow`: text is there only while it arrives; leave `follow` out, or `text`',
});

type Place = readonly [segment: number, event: number, index: number];

function placeOf(id: string): Place {
  const [segment = 0, event = 0, index = 0] = id.split('.').map(Number);
  return [segment, event, index];
}

function isAfter(id: string, [segment, event, index]: Place): boolean {
  const place = placeOf(id);
  if (place[0] !== segment) return place[0] > segment;
  return place[1] === event ? place[2] > index : place[1] > event;
}

/**
 * A run's timeline, piece by piece, each with the text that came before it. `ofAnyStore`: a run that lives in another store than
 * the client's has no text, and is not refused.
 *
 * Errors: `invalid-input` before anything is read, and for the text of a run that lives in another store; as `foldRun`.
 */
export async function* runEvents(
  access: RunAccess,
  given: EventOptions & { readonly text?: true } = {},
  ofAnyStore = false,
): AsyncGenerator<PieceWithText, void> {
  const { after, text = false, follow = text, signal } = check(optionsSchema, given);
  const { client, runId } = access;
  const source = text ? storeFor(access) : undefined;
  const place = after === undefined ? undefined : placeOf(after);
  // Ends a question for news that is still open when the reader leaves.
  const leave = new AbortController();
  const stop = AbortSignal.any([leave.signal, ...(signal === undefined ? [] : [signal])]);
  const reading = { follow, signal: stop, ...defined({ fromSegment: place?.[0] }) };
  const pieces = attemptEach(access, foldRun(client, runId, reading));
  const { namespace } = client.options;
  const whole =
    source === undefined ? pieces : withText(pieces, { source, namespace, runId, ofAnyStore });
  try {
    for await (const piece of whole) yield behind({ deltas: [], ...piece }, place);
  } finally {
    leave.abort();
  }
}

function storeFor({ runId, store }: RunAccess): LiveTextSource {
  if (store !== undefined) return store;
  throw new ClientError(
    'invalid-input',
    `The text of run "${runId}" is in the store of its workers, and this client has no store. Give it one, connect({ …, store: await openStore(url) }), or leave \`text\` out.`,
  );
}

function behind(piece: PieceWithText, place: Place | undefined): PieceWithText {
  if (place === undefined) return piece;
  return { ...piece, entries: piece.entries.filter(({ id }) => isAfter(id, place)) };
}
