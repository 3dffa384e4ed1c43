/** The peers' comparison as people and programs read it. */
import type { JsonObject } from '../../../workflows/core/json';
import { shareText } from '../../wilson';
import { areaOf, peerAreas } from './counterparts';
import type { JudgedPeer, PeerVerdict } from './judge-peer';
import type { PeersScore } from './score-peers';

type Judged = readonly (JudgedPeer | undefined)[];

const isRecovered = ({ verdict }: JudgedPeer): boolean => verdict.startsWith('recovered');

/** Good: recovered where that was possible, else stopped with no request that could not help. */
function isGood(judged: JudgedPeer): boolean {
  return judged.right === 'recovers' ? isRecovered(judged) : judged.verdict === 'stopped';
}

function cell(judged: Judged): string {
  const met = judged.filter((each) => each !== undefined);
  if (met.length === 0) return 'no counterpart';
  const also = (['recovered at a price', 'stopped late', 'went on', 'wrong'] as const).flatMap(
    (verdict) => {
      const count = met.filter((each) => each.verdict === verdict).length;
      return count === 0 ? [] : [`${count} ${verdict}`];
    },
  );
  const good = met.filter(isGood).length;
  return [`${good}/${met.length}, ${shareText(good, met.length)}`, ...also].join('; ');
}

/** The table in Markdown: a row for each area, a column for each engine. */
export function peersTable({ faults, byEngine }: PeersScore): string {
  const engines = Object.entries(byEngine);
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    row(['Faults', ...engines.map(([name]) => name)]),
    row(['---', ...engines.map(() => '---')]),
    ...peerAreas.map((area) =>
      row([
        area,
        ...engines.map(([, judged]) =>
          cell(
            judged.filter(
              (_each, index) => faults[index] !== undefined && areaOf(faults[index]) === area,
            ),
          ),
        ),
      ]),
    ),
    row(['all that it can meet', ...engines.map(([, judged]) => cell(judged))]),
  ].join('\n');
}

/** What `--peers --json` prints last. */
export function peersSummary({ seed, faults, byEngine }: PeersScore): JsonObject {
  const summaryOf = (judged: Judged): JsonObject => {
    const met = judged.filter((each) => each !== undefined);
    const count = (...verdicts: readonly PeerVerdict[]): number =>
      met.filter(({ verdict }) => verdicts.includes(verdict)).length;
    const recovered = met.filter(isRecovered);
    return {
      met: met.length,
      noCounterpart: judged.length - met.length,
      recoverable: met.filter(({ right }) => right === 'recovers').length,
      recovered: recovered.filter(({ right }) => right === 'recovers').length,
      stoppedReadably: count('stopped'),
      stoppedLate: count('stopped late'),
      wentOn: count('went on'),
      wrong: met.filter(({ verdict }) => verdict === 'wrong').map(({ id, said }) => ({ id, said })),
      addedCalls: met.reduce((sum, { addedCalls }) => sum + addedCalls, 0),
    };
  };
  return {
    seed,
    faults: faults.length,
    byEngine: Object.fromEntries(
      Object.entries(byEngine).map(([engine, judged]) => [engine, summaryOf(judged)]),
    ),
  };
}
