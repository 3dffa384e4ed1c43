/** A second reader of streams, as plain as can be: does the stream say that it is whole, and which arguments may it have sent? */
import type { WireName } from '../../../testing/emulator/wire';

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Data of every event that is JSON. */
function dataOf(text: string): readonly Fields[] {
  const events: Fields[] = [];
  let lines: string[] = [];
  for (const line of [...text.split(/\r\n|\n|\r/), '']) {
    // Nothing belongs to a Chat Completions stream after this.
    if (line === 'data: [DONE]') break;
    if (line.startsWith('data:')) lines.push(line.slice(5).replace(/^ /, ''));
    if (line !== '' || lines.length === 0) continue;
    try {
      events.push(fieldsOf(JSON.parse(lines.join('\n'))));
    } catch {
      // What is no JSON says nothing.
    }
    lines = [];
  }
  return events;
}

/** Whether the vendor's closing event is there. */
export function saysItIsWhole(wire: WireName, text: string): boolean {
  return dataOf(text).some((event) => {
    switch (wire) {
      case 'anthropic':
        return event['type'] === 'message_stop';
      case 'responses':
        return event['type'] === 'response.completed' || event['type'] === 'response.incomplete';
      case 'chat':
        return listOf(event['choices']).some(
          (choice) => typeof fieldsOf(choice)['finish_reason'] === 'string',
        );
    }
  });
}

/** A piece of arguments, and the call that it belongs to. */
type Piece = readonly [call: string, text: string];

/** The call or block of a piece; one without a number belongs to the newest (compatible servers leave it out). */
function placeOf(index: unknown, newest: number): number {
  return typeof index === 'number' ? index : newest;
}

function piecesIn(wire: WireName, event: Fields, newest: number): readonly Piece[] {
  const piece = (call: unknown, text: unknown): readonly Piece[] =>
    typeof text === 'string' ? [[JSON.stringify(call), text]] : [];
  switch (wire) {
    case 'anthropic':
      return event['type'] === 'content_block_delta'
        ? piece(placeOf(event['index'], newest), fieldsOf(event['delta'])['partial_json'])
        : [];
    case 'responses':
      return event['type'] === 'response.function_call_arguments.delta'
        ? piece(event['output_index'] ?? event['item_id'], event['delta'])
        : [];
    case 'chat':
      return callsIn(event).flatMap((call) =>
        piece(placeOf(call['index'], newest), fieldsOf(call['function'])['arguments']),
      );
  }
}

/** Pieces of calls in an event of Chat Completions. */
function callsIn(event: Fields): readonly Fields[] {
  return listOf(event['choices']).flatMap((choice) =>
    listOf(fieldsOf(fieldsOf(choice)['delta'])['tool_calls']).map(fieldsOf),
  );
}

/** The newest block or call after an event: one that begins has a number, or is the next. */
function newestAfter(event: Fields, newest: number): number {
  const begun =
    event['type'] === 'content_block_start'
      ? [event['index']]
      : callsIn(event)
          .filter((call) => typeof fieldsOf(call['function'])['name'] === 'string')
          .map((call) => call['index']);
  return begun.reduce<number>((before, index) => placeOf(index, before + 1), newest);
}

/** Whole arguments, wherever an event has them: as a text or, on Anthropic's wire, as an object. */
function wholesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]: [string, unknown]) => {
    if (key === 'arguments' && typeof part === 'string') return [part];
    const own = key === 'input' || key === 'arguments' ? [JSON.stringify(part)] : [];
    return [...own, ...wholesIn(part)];
  });
}

/** Whether the stream can be read so that it sent these arguments. */
export function mayHaveSent(wire: WireName, text: string, argumentsText: string): boolean {
  const events = dataOf(text);
  let newest = -1;
  const pieces = events.flatMap((event) => {
    newest = newestAfter(event, newest);
    return piecesIn(wire, event, newest);
  });
  const byCall = new Map<string, string>();
  for (const [call, piece] of pieces) byCall.set(call, (byCall.get(call) ?? '') + piece);
  // A call whose pieces are all blank takes no arguments.
  if (argumentsText === '{}' && [...byCall.values()].includes('')) return true;
  const all = pieces.map(([, piece]) => piece).join('');
  const sent = [...byCall.values(), all, ...pieces.map(([, piece]) => piece), ...wholesIn(events)];
  return sent.some((each) => each === argumentsText || each.trim() === argumentsText.trim());
}
