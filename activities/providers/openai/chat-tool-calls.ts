/** Assembles streamed tool calls of servers that omit ids, indexes or both, without ever joining two calls. */
import { isDeepStrictEqual } from 'node:util';
import type { RawToolCall } from '../provider';
import { requireRoom } from '../stream/answer-bounds';
import { BrokenStream, rawToolCall } from '../stream/stream-assembly';
import { asNumber, asText, isRecord, parsedJson, property } from '../untrusted-json';

interface OpenCall {
  index: number | undefined;
  id: string;
  name: string;
  argumentsText: string;
  /** The last piece of the arguments. */
  lastPiece: string;
  /** Each piece of the arguments began with the one before. */
  isCumulative: boolean;
  /** The arguments came as an object, which is whole. */
  isObject: boolean;
  extra: unknown;
}

/** Gathers the tool calls of one reply. */
export class ChatToolCalls {
  private readonly calls: OpenCall[] = [];

  /**
   * Takes one entry of `delta.tool_calls`; returns whether it carried anything.
   *
   * A piece belongs to the open call of its index (or id, or the last call if it names neither), unless it must begin another
   * call: it has a name and another id, or a name after arguments that are complete.
   *
   * Errors: `BrokenStream` for a piece beside other calls that belongs to none: one of them would run without it.
   */
  accept(piece: unknown): boolean {
    refuseUnreadable(piece);
    const index = asNumber(property(piece, 'index'));
    const id = asText(property(piece, 'id'));
    const called = property(piece, 'function');
    const name = asText(property(called, 'name'));
    const given = property(called, 'arguments');
    const argumentsText = argumentText(given);
    const extra = property(piece, 'extra_content');
    const found = this.callOf(index, id, name);
    if (found === undefined && name === '' && id === '' && this.calls.length > 0)
      throw new BrokenStream('a piece came for a tool call that never began');
    const call = found === undefined || beginsAnother(found, id, name) ? this.begin(index) : found;
    if (call.id === '') call.id = id;
    if (call.name === '') call.name = name;
    if (extra !== undefined) call.extra = extra;
    if (argumentsText !== '') addPiece(call, argumentsText, isRecord(given));
    return name !== '' || argumentsText !== '';
  }

  /** The calls in the order in which they began. */
  rawCalls(): readonly RawToolCall[] {
    return this.calls.map((call) => rawToolCall(call.id, call.name, wholeArguments(call)));
  }

  /** Whether the arguments of every call are there as JSON. Blank ones are not: their pieces may be yet to come. */
  areWhole(): boolean {
    return this.calls.every((call) => isRecord(parsedJson(wholeArguments(call))));
  }

  /** What must be sent back with each call, by position. */
  extras(): readonly { readonly index: number; readonly content: unknown }[] {
    return this.calls.flatMap((call, index) =>
      isRecord(call.extra) ? [{ index, content: call.extra }] : [],
    );
  }

  private callOf(index: number | undefined, id: string, name: string): OpenCall | undefined {
    if (index !== undefined) {
      const same = this.calls.findLast((call) => call.index === index);
      return same ?? this.unnumbered(index, id, name);
    }
    if (id !== '') {
      const sameId = this.calls.find((call) => call.id === id);
      if (sameId !== undefined || name !== '') return sameId;
    }
    return name === '' || id === '' ? this.calls.at(-1) : undefined;
  }

  /** A call that began without a number, and goes on with one: under its id, or if it is the last one and a number is all there is. */
  private unnumbered(index: number, id: string, name: string): OpenCall | undefined {
    const sameId = this.calls.find((call) => id !== '' && call.id === id);
    const found = sameId ?? (name === '' && id === '' ? this.calls.at(-1) : undefined);
    if (found === undefined || found.index !== undefined) return undefined;
    found.index = index;
    return found;
  }

  private begin(index: number | undefined): OpenCall {
    requireRoom(this.calls.length);
    const call: OpenCall = {
      index,
      id: '',
      name: '',
      argumentsText: '',
      lastPiece: '',
      isCumulative: true,
      isObject: false,
      extra: undefined,
    };
    this.calls.push(call);
    return call;
  }
}

function beginsAnother(open: OpenCall, id: string, name: string): boolean {
  if (name === '' || open.name === '') return false;
  if (id !== '' && open.id !== '') return id !== open.id;
  return name !== open.name || parsedJson(open.argumentsText) !== undefined;
}

/** Errors: `BrokenStream` for an object beside pieces that are not the same arguments. */
function addPiece(call: OpenCall, piece: string, isObject: boolean): void {
  if (call.argumentsText !== '' && (isObject || call.isObject)) {
    if (!isDeepStrictEqual(parsedJson(call.argumentsText), parsedJson(piece)))
      throw new BrokenStream('arguments of a tool call came in pieces and as an object');
    return;
  }
  call.isObject = isObject;
  call.isCumulative &&= piece.startsWith(call.lastPiece);
  call.argumentsText += piece;
  call.lastPiece = piece;
}

/**
 * The arguments, unless their pieces are no JSON together, and the last one is all of them: some servers send with each piece what
 * came before, or the whole once more at the end. Nothing else is repaired.
 *
 * Source: NousResearch/hermes-agent#35592, Soju06/codex-lb#284, lidge-jun/opencodex#361, microsoft/autogen#6843.
 */
function wholeArguments({ argumentsText, lastPiece, isCumulative }: OpenCall): string {
  if (lastPiece === argumentsText || !isRecord(parsedJson(lastPiece))) return argumentsText;
  if (parsedJson(argumentsText) !== undefined) return argumentsText;
  const before = argumentsText.slice(0, -lastPiece.length);
  return isCumulative || isRecord(parsedJson(before)) ? lastPiece : argumentsText;
}

/** Whether anything in it has the name of a call's arguments. */
export function holdsArguments(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holdsArguments);
  if (!isRecord(value)) return false;
  const isSaid = value['arguments'] !== undefined && value['arguments'] !== null;
  return isSaid || Object.values(value).some(holdsArguments);
}

/** Errors: `BrokenStream` for an entry that has something else where its arguments should be: a part of them is lost. */
function refuseUnreadable(entry: unknown): void {
  const called = property(entry, 'function');
  const isCall = called === undefined || called === null || isRecord(called);
  const isLost = isRecord(called)
    ? called['arguments'] === undefined && Object.entries(called).some(isStrange)
    : holdsArguments(entry);
  if (!isRecord(entry) || !isCall || isLost)
    throw new BrokenStream('a piece of a tool call cannot be read');
}

/** A property of a called function that may be a piece of its arguments. */
function isStrange([name, value]: readonly [string, unknown]): boolean {
  if (name === 'name' || name === 'description') return false;
  return isRecord(value) || asText(value) !== '';
}

/** Some servers send the arguments as an object. Errors: `BrokenStream` for what is neither: a part of them is lost. */
function argumentText(value: unknown): string {
  const isNothing = value === undefined || value === null;
  if (!isNothing && !isRecord(value) && typeof value !== 'string')
    throw new BrokenStream('the arguments of a tool call are no text');
  return isRecord(value) ? JSON.stringify(value) : asText(value);
}
