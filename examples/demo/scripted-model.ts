/** Plays the demo's model on the vendor emulator: sound decisions, behind an API that fails and with bad habits. */
import { reply, fault } from '../../testing/emulator/script';
import type { ReplyStep, Step } from '../../testing/emulator/script';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import type { ScriptRule } from '../../testing/emulator/script-queue';
import type { JsonObject } from '../../workflows/core/json';
import type { AnsweredCall, Move, Stage } from './scripted-mind';
import { nextMove } from './scripted-mind';

function answeredCalls(request: RecordedRequest): readonly AnsweredCall[] {
  const results = new Map(request.toolResults.map(({ id, content }) => [id, content]));
  return request.toolCalls.flatMap(({ id, name, argumentsText }) => {
    const result = results.get(id);
    // The runtime sends back only input that it has parsed as an object.
    const input = JSON.parse(argumentsText) as JsonObject;
    return result === undefined ? [] : [{ name, input, result }];
  });
}

function wellDone({ text, name, input }: Move): ReplyStep {
  return reply.toolCalls([{ name, input }], { text });
}

/** What goes wrong when the model first comes to a stage, on the vendor's side or its own. */
const mishaps: { readonly [At in Stage]?: (move: Move) => Step } = {
  'look-round': (move) =>
    fault.overloadedInStream({ during: wellDone(move), afterCharacters: move.text.length }),
  search: (move) =>
    reply.rawToolArguments(move.name, JSON.stringify(move.input).slice(0, -4), { text: move.text }),
  fix: () =>
    reply.toolCalls([{ name: 'apply_patch', input: { patch: '*** Begin Patch' } }], {
      text: 'A patch is quicker.',
    }),
  'prove-again': (move) =>
    fault.cutStream({ during: wellDone(move), afterCharacters: move.text.length }),
};

/** The primary has an outage from here on. */
const outageAt: Stage = 'read-source';

/**
 * A script for the emulator that plays the model on every API.
 *
 * Each mishap happens once; from `outageAt` on, Anthropic's API answers only 529.
 */
export function scriptedModel(): ScriptRule {
  const struck = new Set<Stage>();
  let isOutage = false;
  return (request) => {
    const move = nextMove(answeredCalls(request));
    isOutage ||= move.stage === outageAt;
    if (isOutage && request.wire === 'anthropic') return fault.http(529);
    const mishap = mishaps[move.stage];
    if (mishap === undefined || struck.has(move.stage)) return wellDone(move);
    struck.add(move.stage);
    return mishap(move);
  };
}
