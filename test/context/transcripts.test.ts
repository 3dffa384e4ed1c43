/** Whatever befell a transcript, every vendor takes the request that comes of it, and no result in it is invented. */
import { randomInt } from 'node:crypto';
import { scoreTranscripts } from '../../bench/scorecard/transcripts/score-transcripts';
import { problemsOf } from '../../bench/scorecard/transcripts/judge-history';
import type { Move } from '../../bench/scorecard/transcripts/moves';

/** `npm run scorecard -- --only transcripts` does 10,000. */
test.each([
  ['a fixed seed', 20_261_128, 150],
  ['a new seed', randomInt(1_000_000_000), 100],
])('generated transcripts with %s (%i) pass on every wire', (_name, seed, count) => {
  const { rows } = scoreTranscripts(count, seed);
  expect(rows).toHaveLength(5);
  expect(rows.flatMap(({ wrong }) => (wrong === undefined ? [] : [wrong]))).toEqual([]);
});

const goal: Move = { type: 'say', texts: ['Repair it.'], images: ['image/png'] };
const thought = { type: 'thought', text: 'First I look.', redacted: false } as const;
const call = { type: 'call', name: 'read_file', input: { path: 'a.ts' } } as const;
const reply = (by: 'preserving' | 'budgeted' | 'responses', more: Partial<Move> = {}): Move => ({
  type: 'reply',
  by,
  parts: [thought, call, thought, call],
  recording: 'whole',
  results: ['one', 'two', 'three'],
  ...(more as object),
});

/** Each was refused by a vendor's rule before it was mended, or would be without the repair that the title names. */
test.each<[string, readonly Move[]]>([
  [
    'thoughts between parallel calls, on the vendor that looks at their places',
    [goal, reply('budgeted')],
  ],
  [
    'a thought behind another system prompt and other tools',
    [goal, reply('preserving'), { type: 'change-agent' }],
  ],
  [
    'a thought whose conversation was summarized',
    [
      goal,
      reply('preserving'),
      reply('preserving'),
      { type: 'compact', at: 3, summary: 'So far.' },
    ],
  ],
  [
    'half a character in the summary of a thought',
    [goal, reply('responses', { parts: [{ ...thought, text: 'broken \ud83d' }, call] })],
  ],
  [
    'a thought that led to a blank text',
    [goal, reply('responses', { parts: [thought, { type: 'text', text: '\n\n' }, thought, call] })],
  ],
  ['a batch of which a crash left one result', [goal, reply('responses', { recording: 'cut' })]],
  [
    'a fork whose ids come again',
    [goal, reply('budgeted'), { type: 'fork', at: 3 }, reply('budgeted')],
  ],
  [
    'a change of vendor in the middle of a batch',
    [goal, reply('responses', { recording: 'none' }), reply('budgeted', { recording: 'late' })],
  ],
])('passes on every wire: %s', (_name, moves) => {
  expect(problemsOf(moves)).toEqual([]);
});
