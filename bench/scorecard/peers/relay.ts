/**
 * Answers requests that do not stream, as Temporal's packages send them, from the emulator's streams: the last event of the
 * Responses API holds the whole reply. What breaks the stream breaks the whole answer in the same way.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { LoopbackServer } from '../../loopback';
import { listenOnLoopback } from '../../loopback';

type Fields = Readonly<Record<string, unknown>>;

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** The data of each whole event, in order; `undefined` for data that is no JSON. */
function eventsOf(text: string): readonly (Fields | undefined)[] {
  return text.split('\n\n').flatMap((event) => {
    const data = /^data: (.*)$/m.exec(event)?.[1];
    if (data === undefined) return [];
    try {
      return [JSON.parse(data) as Fields];
    } catch {
      return [undefined];
    }
  });
}

/** The status with which the vendor refuses a request whose stream would have carried this error. */
function statusOf(error: Fields): number {
  const words = `${String(error['type'])} ${String(error['code'])}`;
  if (words.includes('rate_limit')) return 429;
  return words.includes('overloaded') ? 503 : 500;
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** Gives a whole answer for a whole stream, the error of a stream that reports one, and half an answer otherwise. */
function answer(response: ServerResponse, text: string, isCut: boolean): void {
  const events = eventsOf(text);
  const error = events.find((event) => event?.['type'] === 'error')?.['error'] as
    Fields | undefined;
  if (error !== undefined) {
    sendJson(response, statusOf(error), { error });
    return;
  }
  const last = events.at(-1);
  const isWhole =
    last?.['type'] === 'response.completed' || last?.['type'] === 'response.incomplete';
  if (isWhole && !isCut && !events.includes(undefined)) {
    sendJson(response, 200, last['response']);
    return;
  }
  const begun = text === '' ? '' : '{"id":"resp_cut","object":"response","output":[{"type":"mess';
  response.writeHead(200, { 'content-type': 'application/json' });
  if (isCut) response.write(begun, () => response.socket?.resetAndDestroy());
  else response.end(begun);
}

async function relay(
  emulatorUrl: string,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = { ...(JSON.parse(await textOf(incoming)) as Fields), stream: true };
  const authorization = incoming.headers.authorization ?? '';
  const gone = new AbortController();
  response.on('close', () => {
    if (!response.writableEnded) gone.abort();
  });
  const answered = await fetch(`${emulatorUrl}${incoming.url ?? ''}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify(body),
    signal: gone.signal,
  });
  let text = '';
  let isCut = false;
  try {
    const decoder = new TextDecoder();
    for await (const chunk of (answered.body ?? []) as AsyncIterable<Uint8Array>)
      text += decoder.decode(chunk, { stream: true });
  } catch {
    isCut = true;
  }
  const type = answered.headers.get('content-type') ?? '';
  if (type.includes('text/event-stream')) answer(response, text, isCut);
  else response.writeHead(answered.status, { 'content-type': type }).end(text);
}

/** Starts a relay in front of an emulator; its address stands for the emulator's own. */
export async function startRelay(emulatorUrl: string): Promise<LoopbackServer> {
  const server = createServer((incoming, response) => {
    relay(emulatorUrl, incoming, response).catch(() => response.socket?.resetAndDestroy());
  });
  return listenOnLoopback(server);
}
