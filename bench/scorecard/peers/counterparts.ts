/** Faults by area, and which of them a peer has a counterpart for: something that its documentation offers against them. */
import type { DrawnFault } from '../conversation/drawn-fault';
import { rightOf } from '../conversation/judge-drawn';

/** Areas of the table. */
export const peerAreas = [
  'vendor fails once',
  'vendor fails for all tries',
  'vendor refuses for good',
  "model's mistake",
  'tool fails',
  'second vendor has to answer',
  'window is smaller than thought',
] as const;

/** The area of a fault. */
export function areaOf(drawn: DrawnFault): (typeof peerAreas)[number] {
  const { strike, chain } = drawn;
  switch (strike.type) {
    case 'overflow':
      return 'window is smaller than thought';
    case 'tool':
      return 'tool fails';
    case 'call': {
      const alone = rightOf({ ...drawn, chain: 'one route' });
      if (strike.stays === 'for all tries')
        return chain === 'two routes'
          ? 'second vendor has to answer'
          : 'vendor fails for all tries';
      if (alone.type === 'stops')
        return chain === 'two routes' && rightOf(drawn).type === 'recovers'
          ? 'second vendor has to answer'
          : 'vendor refuses for good';
      return mistakes.has(strike.name) ? "model's mistake" : 'vendor fails once';
    }
  }
}

const mistakes = new Set([
  'cut arguments',
  'invalid arguments',
  'missing parameter',
  'unknown tool',
  'empty reply',
]);

/** None of the peers documents a second vendor in one run, or a conversation that is made smaller. */
export function counterpartOf(drawn: DrawnFault): boolean {
  const area = areaOf(drawn);
  return area !== 'second vendor has to answer' && area !== 'window is smaller than thought';
}
