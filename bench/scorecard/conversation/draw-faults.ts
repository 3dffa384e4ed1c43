/** Draws faults by a seed: every kind of strike in turn, everything else by chance. */
import { Dice } from '../tokens/dice';
import { callFaultNames, isTransient } from './call-faults';
import type { Chain, DrawnFault, Strike, Travel } from './drawn-fault';
import { toolFaultNames } from './tool-faults';
import type { ToolEffect } from '../../../workflows/core/tools/ports';
import type { WireName } from '../../../testing/emulator/wire';

const wires: readonly WireName[] = ['anthropic', 'responses', 'chat'];
const travels: readonly Travel[] = [
  'whole events',
  'CRLF',
  'pieces of three bytes',
  'pieces of seven bytes',
];
const chains: readonly Chain[] = ['one route', 'one route that rests', 'two routes'];
const effects: readonly ToolEffect[] = ['read', 'keyed', 'reconcilable', 'irreversible'];

const mostIterations = 6;
const mostAtOnce = 3;

/** All strikes; a round of the dice takes each once. */
function strikes(): readonly Strike[] {
  return [
    ...callFaultNames.map((name): Strike => ({ type: 'call', name, stays: 'once' })),
    ...callFaultNames
      .filter(isTransient)
      .map((name): Strike => ({ type: 'call', name, stays: 'for all tries' })),
    ...toolFaultNames.flatMap((name) =>
      effects.map((effect): Strike => ({ type: 'tool', name, effect })),
    ),
    { type: 'overflow' },
  ];
}

function nameOf(strike: Strike): string {
  switch (strike.type) {
    case 'call':
      return strike.stays === 'once' ? strike.name : `${strike.name} ${strike.stays}`;
    case 'tool':
      return `${strike.effect} tool: ${strike.name}`;
    case 'overflow':
      return 'overflow';
  }
}

function drawn(dice: Dice, strike: Strike, index: number): DrawnFault {
  const iterations = strike.type === 'overflow' ? mostIterations : 1 + dice.below(mostIterations);
  const batches = Array.from({ length: iterations }, () =>
    strike.type === 'overflow' ? 1 : 1 + dice.below(mostAtOnce),
  );
  // A tool fault needs a tool call; the last model call answers.
  const places = strike.type === 'tool' ? iterations : iterations + 1;
  const wire = dice.pick(wires);
  const place = dice.below(places);
  const chain = dice.pick(chains);
  return {
    id: `${index} ${nameOf(strike)}, ${wire}, ${chain}, ${place + 1} of ${iterations + 1}`,
    wire,
    travel: dice.pick(travels),
    chain,
    effect: strike.type === 'tool' ? strike.effect : dice.pick(effects),
    batches,
    place,
    strike,
  };
}

/** So many faults. The same seed and number give the same faults. */
export function drawFaults(count: number, seed: number): readonly DrawnFault[] {
  const dice = new Dice(`faults ${seed}`);
  const all = strikes();
  return Array.from({ length: count }, (_, index) => {
    const strike = all[index % all.length];
    if (strike === undefined) throw new Error('There is no kind of fault.');
    return drawn(dice, strike, index);
  });
}
