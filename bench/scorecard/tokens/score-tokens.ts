/** Scores the measure of requests: how far each estimate is from what the vendor then counted. */
import { VendorEmulator } from '../../../testing/emulator/emulator';
import type { JudgedRow, SectionScore } from '../section';
import type { ConversationKind } from './conversation';
import { conversationKinds } from './conversation';
import { MaterialSource } from './materials';
import type { CountedCall, CountedModel } from './play-conversation';
import { playConversation } from './play-conversation';

/** One model of each wire, and the tokenizer that Anthropic had before. */
export const countedModels: readonly CountedModel[] = [
  { wire: 'anthropic', model: 'claude-opus-5-5' },
  { wire: 'anthropic', model: 'claude-opus-4-5' },
  { wire: 'responses', model: 'gpt-5' },
  { wire: 'chat', model: 'gpt-4.1' },
];

/** Largest allowed error after the third call (R-CTX-9). */
const greatestError = 0.05;
/** Calls from which the factors must have been learned. */
const firstJudgedCall = 4;

interface Played {
  readonly model: CountedModel;
  readonly kind: ConversationKind;
  readonly seed: string;
  readonly errors: readonly number[];
}

function errorOf({ estimated, billed }: CountedCall): number {
  return Math.abs(estimated - billed) / billed;
}

function rounded(ratio: number): number {
  return Math.round(ratio * 10_000) / 10_000;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function rowOf({ model, kind, seed, errors }: Played): JudgedRow {
  const worst = Math.max(...errors);
  const id = `${model.wire} ${model.model} ${kind} ${seed}`;
  const expected = `at most ${greatestError * 100} % off`;
  if (worst <= greatestError) return { id, expected };
  return { id, expected, wrong: { id, expected, got: `${(worst * 100).toFixed(1)} % off` } };
}

/** Plays every kind on every model with each seed. */
export async function scoreTokens(
  models: readonly CountedModel[],
  seeds: readonly string[],
  kinds: readonly ConversationKind[] = conversationKinds,
): Promise<SectionScore> {
  const emulator = await VendorEmulator.start({ seed: 'tokens' });
  const texts = new MaterialSource();
  const played: Played[] = [];
  try {
    for (const model of models)
      for (const kind of kinds)
        for (const seed of seeds) {
          const calls = await playConversation(emulator, model, kind, texts, seed);
          const judged = calls.filter(({ call }) => call >= firstJudgedCall);
          played.push({ model, kind, seed, errors: judged.map(errorOf) });
        }
  } finally {
    await emulator.stop();
  }
  const summaryOf = ({ model }: CountedModel): { worst: number; median: number } => {
    const errors = played
      .filter((each) => each.model.model === model)
      .flatMap((each) => each.errors);
    return { worst: rounded(Math.max(...errors)), median: rounded(median(errors)) };
  };
  return {
    rows: played.map(rowOf),
    summary: {
      conversations: played.length,
      judgedCalls: played.reduce((sum, { errors }) => sum + errors.length, 0),
      errorAfterThirdCall: Object.fromEntries(
        models.map((each) => [`${each.wire} ${each.model}`, { ...summaryOf(each) }]),
      ),
    },
  };
}
