/** What can happen to a transcript, as data that fast-check makes and shrinks. */
import fc from 'fast-check';
import { pixel } from './pixels';

/** Models that take part: each wire, each way of thinking, and the text tool protocol. */
export type Speaker = 'preserving' | 'budgeted' | 'responses' | 'chat' | 'text-protocol';

/** All speakers. */
export const speakers: readonly Speaker[] = [
  'preserving',
  'budgeted',
  'responses',
  'chat',
  'text-protocol',
];

/** A piece of a reply. */
export type SaidPart =
  | { readonly type: 'thought'; readonly text: string; readonly redacted: boolean }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'refusal'; readonly text: string }
  | {
      readonly type: 'call';
      readonly name: string;
      readonly input: Readonly<Record<string, string>>;
    };

/** How the results of a batch are recorded; only `whole` is how it ought to be. */
export type Recording =
  'whole' | 'cut' | 'none' | 'swapped' | 'doubled' | 'orphan' | 'late' | 'split';

/** One thing that happens. */
export type Move =
  | { readonly type: 'say'; readonly texts: readonly string[]; readonly images: readonly string[] }
  | {
      readonly type: 'reply';
      readonly by: Speaker;
      readonly parts: readonly SaidPart[];
      readonly note?: string | undefined;
      readonly recording: Recording;
      readonly results: readonly string[];
    }
  /** A summary takes the place of everything before a cut, which may part calls from results. */
  | { readonly type: 'compact'; readonly at: number; readonly summary: string }
  /** Old results give way to a line that says so. */
  | { readonly type: 'strip'; readonly keep: number }
  /** The beginning is lost. */
  | { readonly type: 'lose'; readonly at: number }
  /** A new run goes on from an earlier node, with the ids that follow there. */
  | { readonly type: 'fork'; readonly at: number }
  /** A run that goes on with another prompt and other tools. */
  | { readonly type: 'change-agent' };

const text = fc.oneof(
  { weight: 4, arbitrary: fc.lorem({ maxCount: 12 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '',
      ' ',
      '\n\n',
      '\ud83d',
      'half \udc00 pair',
      '👩‍👩‍👧',
      '\u0000',
      '<|endoftext|>',
      '```json\n{"tool_name": "x"}\n```',
      'ends with blanks  ',
      'x'.repeat(400),
    ),
  },
);

const part: fc.Arbitrary<SaidPart> = fc.oneof(
  fc.record({ type: fc.constant('thought' as const), text, redacted: fc.boolean() }),
  fc.record({ type: fc.constant('text' as const), text }),
  fc.record({ type: fc.constant('refusal' as const), text }),
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('call' as const),
      name: fc.constantFrom('read_file', 'edit_file', 'no_such_tool'),
      input: fc.dictionary(text, text, { maxKeys: 2 }),
    }),
  },
);

const recording = fc.oneof(
  { weight: 6, arbitrary: fc.constant('whole' as const) },
  {
    weight: 4,
    arbitrary: fc.constantFrom<Recording>(
      'cut',
      'none',
      'swapped',
      'doubled',
      'orphan',
      'late',
      'split',
    ),
  },
);

const image = fc.constantFrom(...Object.values(pixel).map(({ mediaType }) => mediaType));

const say = fc.record({
  type: fc.constant('say' as const),
  texts: fc.array(text, { minLength: 1, maxLength: 3 }),
  images: fc.array(image, { maxLength: 2 }),
});

const reply = fc.record({
  type: fc.constant('reply' as const),
  by: fc.constantFrom(...speakers),
  parts: fc.array(part, { minLength: 1, maxLength: 6 }),
  note: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: text }),
  recording,
  results: fc.array(text, { minLength: 3, maxLength: 3 }),
});

const at = fc.nat({ max: 1_000 });

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 10, arbitrary: reply },
  { weight: 3, arbitrary: say },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('compact' as const), at, summary: text }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('strip' as const), keep: fc.nat({ max: 4 }) }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('lose' as const), at }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('fork' as const), at }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('change-agent' as const) }) },
);

/** What happened to one transcript, from its goal on. */
export const history: fc.Arbitrary<readonly Move[]> = fc
  .tuple(say, fc.array(move, { minLength: 1, maxLength: 10, size: 'max' }))
  .map(([goal, moves]) => [goal, ...moves]);
