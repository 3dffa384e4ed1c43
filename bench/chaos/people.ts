/** The people of a chaos: they decide what waits for them, through whichever gateway answers. */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { LedgerEntry } from '../scorecard/effects/bank';

/** A gateway as a caller sees it: an address and a token. */
export interface Caller {
  readonly urls: readonly string[];
  readonly token: string;
}

/** Milliseconds for one request, which may meet a link that holds. */
const requestMs = 15_000;
/** Milliseconds between two looks into the inbox, and between two tries of a start. */
const lookEveryMs = 1_500;

const itemSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('approval'), approvalId: z.string(), digest: z.string() }),
  z.object({ type: z.literal('question'), questionId: z.string(), question: z.string() }),
]);
const inboxSchema = z.object({
  waits: z.array(
    z.object({ run: z.object({ runId: z.string() }), item: z.looseObject({ type: z.string() }) }),
  ),
});

async function ask(
  { urls, token }: Caller,
  turn: number,
  route: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const url = urls[turn % urls.length] ?? '';
  const response = await fetch(`${url}/v1${route}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(requestMs),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status}: ${text.slice(0, 500)}`);
  return text === '' ? undefined : JSON.parse(text);
}

/** Starts a run, again and again until a gateway says that it is started; returns its id. */
export async function startThroughGateway(
  caller: Caller,
  key: string,
  request: object,
  isOver: () => boolean,
): Promise<string | undefined> {
  for (let turn = 0; !isOver(); turn += 1) {
    try {
      const started = await ask(caller, turn, '/runs', request, { 'idempotency-key': key });
      return z.object({ runId: z.string() }).parse(started).runId;
    } catch {
      await delay(lookEveryMs);
    }
  }
  return undefined;
}

/** What a person says to a question: about a call, what the bank's ledger says. */
function answerTo(question: string, ledger: readonly LedgerEntry[]): string {
  const callId = /s\d+n\d+-\d+/.exec(question)?.[0];
  if (callId === undefined) return 'Yes, go on.';
  return ledger.some((entry) => entry.callId === callId) ? 'It was paid.' : 'It was not paid.';
}

async function decide(
  caller: Caller,
  turn: number,
  runId: string,
  item: z.infer<typeof itemSchema>,
  ledger: readonly LedgerEntry[],
): Promise<void> {
  const run = `/runs/${encodeURIComponent(runId)}`;
  if (item.type === 'approval') {
    const approval = `${run}/approvals/${encodeURIComponent(item.approvalId)}/approve`;
    await ask(caller, turn, approval, { digest: item.digest });
    return;
  }
  const question = `${run}/questions/${encodeURIComponent(item.questionId)}/answer`;
  await ask(caller, turn, question, { answer: answerTo(item.question, ledger) });
}

/** Decides everything until it is over. */
export async function servePeople(
  caller: Caller,
  ledger: readonly LedgerEntry[],
  isOver: () => boolean,
): Promise<void> {
  for (let turn = 0; !isOver(); turn += 1) {
    try {
      const { waits } = inboxSchema.parse(await ask(caller, turn, '/inbox'));
      for (const { run, item } of waits) {
        const known = itemSchema.safeParse(item).data;
        if (known !== undefined)
          await decide(caller, turn, run.runId, known, ledger).catch(() => undefined);
      }
    } catch {
      // The gateway is gone, or what is behind it; the other one is asked next.
    }
    await delay(lookEveryMs);
  }
}
