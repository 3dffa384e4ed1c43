/** Drawn faults as real runs: some of each kind are right, and the judge can tell one that is not. */
import { drawFaults } from '../../bench/scorecard/conversation/draw-faults';
import { judgeDrawn } from '../../bench/scorecard/conversation/judge-drawn';
import {
  playDrawn,
  scoreConversation,
} from '../../bench/scorecard/conversation/score-conversation';

test('drawn faults end as they are declared to', async () => {
  const { summary, rows } = await scoreConversation(76, 4);
  expect(summary).toMatchObject({ seed: 4, faults: 76, wrong: [] });
  const added = rows.flatMap(({ fault }) => fault?.added ?? []);
  expect(added.length).toBe(summary['recovered']);
  expect(added.some(({ calls, seconds }) => calls === 1 && seconds >= 1.4)).toBe(true);
});

test('a fault that was declared otherwise is reported with what it did', async () => {
  const [fault] = drawFaults(1, 1);
  if (fault === undefined) throw new Error('there is a fault');
  const strike = { type: 'call', name: 'wrong key', stays: 'once' } as const;
  const drawn = { ...fault, strike, chain: 'one route', effect: 'keyed' } as const;
  const [[staged, seen] = []] = await playDrawn([drawn]);
  if (staged === undefined || seen === undefined) throw new Error('it was played');
  expect(judgeDrawn(staged, seen).wrong).toBeUndefined();
  const recovers = { ...staged, fault: { ...drawn, chain: 'two routes' } as const };
  expect(judgeDrawn(recovers, seen).wrong?.got).toMatch(
    /ended as failed: .*; \d+ of \d+ items were not booked; .*added calls instead of 1/,
  );
  staged.ledger.set(1, new Set(['one key', 'another']));
  expect(judgeDrawn(staged, seen).wrong?.got).toContain('item 1 was booked 2 times');
});
