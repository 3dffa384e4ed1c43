/** A client of server-sent events, as the standard has it: fields, comments, the last id, and connecting again. */

/** An event. */
export interface ServerEvent {
  /** `message` where the server names none. */
  readonly name: string;
  readonly id?: string;
  readonly data: unknown;
}

interface Block {
  readonly event?: ServerEvent;
  readonly retryMs?: number;
  readonly isHeartbeat: boolean;
}

function parse(block: string): Block {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    const before = fields.get(name);
    fields.set(name, before === undefined || name !== 'data' ? value : `${before}\n${value}`);
  }
  const data = fields.get('data');
  const retry = fields.get('retry');
  const id = fields.get('id');
  return {
    isHeartbeat: fields.has(''),
    ...(retry === undefined ? {} : { retryMs: Number(retry) }),
    ...(data === undefined
      ? {}
      : {
          event: {
            name: fields.get('event') ?? 'message',
            data: JSON.parse(data) as unknown,
            ...(id === undefined ? {} : { id }),
          },
        }),
  };
}

/** How a connection is made. */
export interface EventsRequest {
  readonly url: string;
  readonly token: string;
  readonly lastEventId?: string;
  readonly signal?: AbortSignal;
  readonly onHeartbeat?: () => void;
}

/** The events of one connection, until it ends; nothing where the server says that nothing more comes. */
export async function* readEvents(request: EventsRequest): AsyncGenerator<ServerEvent, void> {
  const { url, token, lastEventId, signal, onHeartbeat } = request;
  const response = await fetch(url, {
    headers: {
      authorization: `Bearer ${token}`,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    },
    ...(signal === undefined ? {} : { signal }),
  });
  if (response.status === 204) return;
  if (!response.ok || response.body === null)
    throw new Error(`${response.status} ${await response.text()}`);
  let held = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (held + text).split('\n\n');
    held = blocks.pop() ?? '';
    for (const block of blocks) {
      const { event, isHeartbeat } = parse(block);
      if (isHeartbeat) onHeartbeat?.();
      if (event !== undefined) yield event;
    }
  }
}
