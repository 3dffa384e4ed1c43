/** Situations that only a person can resolve, and situations that nothing can resolve. */
import { z } from 'zod';
import { reply } from '../../../testing/emulator/script';
import type { StuckCase } from './stuck-case';
import { calls, clueless, fails, plans, tool } from './stuck-case';

const query = z.object({ query: z.string() });

/** A model that goes round until it reads what a person answers. */
function untilTold(answer: string, name: string, question: string): StuckCase['model'] {
  return (view) =>
    view.text.includes(answer) ? reply.text('Now I know.') : calls(name, { query: question });
}

const ambiguous: readonly StuckCase[] = [
  ['tools', 'the CLI tools', 0.9],
  ['the report', 'the one of March', 0.7],
  ['the server', 'staging', 0.3],
].map(([what, answer, confidence], seed) => ({
  id: `ambiguous goal ${seed + 1}`,
  right: 'escalates',
  goal: `Check ${String(what)}.`,
  tools: [tool('look_up', 'Looks something up.', query, () => 'several match: say which')],
  model: untilTold(String(answer), 'look_up', String(what)),
  planner: (prompt) =>
    prompt.includes('say which')
      ? plans('escalate', Number(confidence), { escalationMessage: `Which of ${String(what)}?` })
      : clueless(),
  answer: String(answer),
}));

const locked: readonly StuckCase[] = (['auth_failed', 'auth_failed', 'tool_denied'] as const).map(
  (code, seed) => ({
    id: `${code === 'tool_denied' ? 'permission denied' : 'auth missing'} ${seed + 1}`,
    right: 'escalates',
    goal: 'Read the ledger.',
    tools: [tool('ledger', 'Reads the ledger.', query, () => fails(`no access (${seed})`, code))],
    model: untilTold('the ledger is closed this week', 'ledger', 'all'),
    // The runtime's own rules must know that no other parameter helps.
    planner: clueless,
    answer: 'Leave it: the ledger is closed this week.',
  }),
);

const impossible: readonly StuckCase[] = ['unicorns', 'perpetual motion'].map((what) => ({
  id: `impossible task: ${what}`,
  right: 'gives-up',
  goal: `Find ${what}.`,
  tools: [tool('hunt', 'Hunts for something.', query, () => 'nothing of the kind exists')],
  model: () => calls('hunt', { query: what }),
  planner: (prompt) =>
    prompt.includes('nothing of the kind exists')
      ? plans('give-up', 0.9, {}, `There are no ${what}.`)
      : clueless(),
}));

/** Eight situations. */
export const peopleCases: readonly StuckCase[] = [...ambiguous, ...locked, ...impossible];
