/** Arbitrary transcripts: valid ones as the store keeps them, and damaged ones as a bug might leave them. */
import { pixel } from '../../../bench/scorecard/transcripts/pixels';
import type {
  AssistantMessage,
  Message,
  ToolMessage,
  ToolResultBlock,
  UserMessage,
} from '../../../workflows/core/message';
import { fc } from '../../support/properties';

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom('ok', ' ', '', '\n', '\ud83d', 'half \udc00 pair', '👋', '\u0000'),
);

const user: fc.Arbitrary<UserMessage> = fc
  .array(
    fc.oneof(
      text.map((each) => ({ type: 'text', text: each }) as const),
      fc.constant(pixel.png),
    ),
    { minLength: 1, maxLength: 3 },
  )
  .map((blocks) => ({ role: 'user', blocks }));

const reasoning = fc.record({
  type: fc.constant('reasoning' as const),
  vendor: fc.constantFrom('anthropic', 'openai', 'deepseek', 'gemini'),
  text,
  opaque: fc.constantFrom(
    { signature: 'c2ln' },
    { data: 'ZGF0YQ==' },
    { id: 'rs_1', encryptedContent: 'ZW5j', summary: [] },
    { signature: 'reasoning_content' },
    {},
  ),
});

const said = fc.oneof(
  text.map((each) => ({ type: 'text', text: each }) as const),
  text.map((each) => ({ type: 'refusal', text: each }) as const),
);

const call = fc.record({
  name: fc.constantFrom('read_file', 'edit_file'),
  input: fc.dictionary(text, text, { maxKeys: 2 }),
});

/** How a step's results are recorded. `whole` is the only valid way. */
type Damage = 'whole' | 'missing' | 'swapped' | 'late' | 'orphan';

interface Step {
  readonly isFirst: boolean;
  readonly blocks: readonly AssistantMessage['blocks'][number][];
  readonly calls: readonly { readonly name: string; readonly input: Record<string, string> }[];
  readonly results: readonly string[];
  readonly damage: Damage;
}

function stepArbitrary(damages: readonly Damage[], withReasoning: boolean): fc.Arbitrary<Step> {
  const blocks = withReasoning ? fc.oneof(reasoning, said) : said;
  return fc.record({
    isFirst: fc.boolean(),
    blocks: fc.array(blocks, { maxLength: 3 }),
    calls: fc.array(call, { maxLength: 3 }),
    results: fc.array(text, { minLength: 3, maxLength: 3 }),
    damage: fc.constantFrom(...damages),
  });
}

const model = (isFirst: boolean): Pick<AssistantMessage, 'vendor' | 'model'> =>
  isFirst
    ? { vendor: 'anthropic', model: 'claude-opus-5-5' }
    : { vendor: 'openai', model: 'gpt-5' };

function messagesOf(step: Step, index: number, between: UserMessage): readonly Message[] {
  const ids = step.calls.map((_each, position) => `${'r'.repeat(40)}_${index}_${position}`);
  const assistant: AssistantMessage = {
    role: 'assistant',
    ...model(step.isFirst),
    blocks: [
      ...step.blocks,
      ...step.calls.map((each, position) => ({
        type: 'tool-call' as const,
        toolCallId: ids[position] ?? '',
        ...each,
      })),
    ],
  };
  const results = step.calls.map((each, position) =>
    result(ids[position], each.name, step.results[position]),
  );
  return [assistant, ...recorded(step.damage, results, between)];
}

function result(toolCallId = 'orphan', name = 'read_file', content = ''): ToolResultBlock {
  return { type: 'tool-result', toolCallId, name, content, isError: content.length % 2 === 1 };
}

function recorded(
  damage: Damage,
  results: readonly ToolResultBlock[],
  between: UserMessage,
): readonly Message[] {
  const tool = (each: readonly ToolResultBlock[]): readonly ToolMessage[] =>
    each.length === 0 ? [] : [{ role: 'tool', results: each }];
  switch (damage) {
    case 'whole':
      return tool(results);
    case 'missing':
      return tool(results.slice(1));
    case 'swapped':
      return tool(results.toReversed());
    case 'late':
      return [between, ...tool(results)];
    case 'orphan':
      return tool([...results, result(), ...results]);
  }
}

function transcripts(
  damages: readonly Damage[],
  withReasoning: boolean,
): fc.Arbitrary<readonly Message[]> {
  return fc
    .record({
      first: user,
      steps: fc.array(stepArbitrary(damages, withReasoning), { maxLength: 4 }),
      last: user,
      between: user,
      endsWithUser: fc.boolean(),
    })
    .map(({ first, steps, last, between, endsWithUser }) => [
      first,
      ...steps.flatMap((step, index) => messagesOf(step, index, between)),
      ...(endsWithUser ? [last] : []),
    ]);
}

/** Pairs whole, any text, reasoning of any vendor. */
export const anyTranscript = transcripts(['whole'], true);

/** Results missing, out of order, late, doubled or without a call; no reasoning, whose seals a real vendor would check. */
export const damagedTranscript = transcripts(
  ['whole', 'missing', 'swapped', 'late', 'orphan'],
  false,
);
