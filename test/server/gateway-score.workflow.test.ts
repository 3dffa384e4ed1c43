/** A slice of the scorecard's section: the gateway as a process, killed under its readers and attacked. */
import { onGatewayGround } from '../../bench/scorecard/gateway/gateway-ground';
import {
  gatewayAttacks,
  scoreGatewayAttacks,
} from '../../bench/scorecard/gateway/score-gateway-attacks';
import { judgeIds, scoreStreams } from '../../bench/scorecard/gateway/score-streams';

test('what was lost, doubled, or out of order is counted', () => {
  const all = ['1.4.0', '1.4.1', '1.20.0', '2.3.0'];
  expect(judgeIds(all, all)).toEqual({ lost: 0, doubled: 0, outOfOrder: 0 });
  expect(judgeIds(['1.4.0', '2.3.0', '1.20.0', '1.20.0'], all)).toEqual({
    ...{ lost: 1, doubled: 1, outOfOrder: 1 },
  });
});

test('readers see every event once, in order, over a gateway that is killed', async () => {
  const trial = { clients: 6, runs: 3, kills: 1, iterations: 6 };
  const { rows, ...score } = await onGatewayGround((ground) => scoreStreams(ground, trial));
  expect(rows.flatMap(({ wrong }) => wrong ?? [])).toEqual([]);
  expect(score).toEqual({
    clients: 6,
    events: expect.any(Number) as number,
    lost: 0,
    doubled: 0,
    outOfOrder: 0,
  });
});

test('no attack of a quick kind gets in, and the gateway ends as it should', async () => {
  const quick = gatewayAttacks.filter(({ area }) =>
    ['tenants', 'roles', 'xss', 'csrf'].includes(area),
  );
  expect(quick.length).toBeGreaterThan(50);
  const { rows, ...score } = await onGatewayGround((ground) => scoreGatewayAttacks(ground, quick));
  expect(rows.flatMap(({ wrong }) => wrong ?? [])).toEqual([]);
  expect(score).toEqual({ attacks: quick.length, gotIn: 0, tookDown: 0 });
});
