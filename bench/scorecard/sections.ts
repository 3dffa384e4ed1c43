/** The sections of the scorecard, in the order in which they run. */
import { scoreAttacks } from './attacks/score-attacks';
import { scoreConversation, usualFaults } from './conversation/score-conversation';
import { scoreEffects } from './effects/score-effects';
import { scoreEncryption } from './encryption/score-encryption';
import { scoreGateway } from './gateway/score-gateway';
import { scoreLearning } from './learning/score-learning';
import { readCallTraces } from './loops/call-trace';
import { scoreLoops } from './loops/score-loops';
import { ampleTrial, scoreBudget, tightTrial } from './budget/score-budget';
import { scoreKills } from './budget/score-kills';
import { scoreProviderFaults } from './provider/score-provider-faults';
import { providerFaults } from './provider/provider-faults';
import { scoreSanitize } from './sanitise/score-sanitise';
import type { ScorecardSection, SectionScore } from './section';
import { scoreStuck } from './stuck/score-stuck';
import { countedModels, scoreTokens } from './tokens/score-tokens';
import { scoreWhy } from './why/score-why';
import { barTranscripts, scoreTranscripts } from './transcripts/score-transcripts';

/** The rows and the summaries of two parts of a section. */
function together(parts: readonly SectionScore[]): SectionScore {
  return {
    rows: parts.flatMap(({ rows }) => rows),
    summary: Object.assign({}, ...parts.map(({ summary }) => summary)) as SectionScore['summary'],
  };
}

/** All sections. */
export const sections: readonly ScorecardSection[] = [
  {
    name: 'provider',
    about: 'faults of a model provider: status x body x wire x moment',
    score: () => scoreProviderFaults(providerFaults()),
  },
  {
    name: 'conversation',
    about: 'faults drawn by the seed: kind x place in the conversation x wire x chain x effect',
    score: (seed) => scoreConversation(usualFaults, seed),
  },
  {
    name: 'tokens',
    about: 'estimated against billed tokens: model x content',
    score: () => scoreTokens(countedModels, ['a', 'b', 'c']),
  },
  {
    name: 'loops',
    about: 'labeled call traces: loops, polling, outages',
    score: () => scoreLoops(readCallTraces()),
  },
  {
    name: 'effects',
    about: "workers killed and stalled at every point of a tool's life, over the four effects",
    score: () => scoreEffects(),
  },
  {
    name: 'learning',
    about: 'the same failing tool calls with patterns off and on, and a planted bad pattern',
    score: () => scoreLearning(),
  },
  {
    name: 'transcripts',
    about: 'generated transcripts against every vendor: 10,000 with a new seed',
    score: (seed = Date.now() % 1_000_000_000) =>
      Promise.resolve(scoreTranscripts(barTranscripts, seed)),
  },
  {
    name: 'sanitise',
    about: 'secrets and injections through every sink: prompts, history, logs, store',
    score: () => scoreSanitize(),
  },
  {
    name: 'encryption',
    about: 'words planted in every text of a run, searched in every byte that is kept',
    score: () => scoreEncryption(),
  },
  {
    name: 'attacks',
    about: 'hostile models, tools, servers, vendors, callers, and rows, each in its own way',
    score: () => scoreAttacks(),
  },
  {
    name: 'budget',
    about:
      'fifty subagents under one budget, and calls killed or cut in the middle: does the ledger match the bill',
    score: async () => together([await scoreBudget([tightTrial, ampleTrial]), await scoreKills()]),
  },
  {
    name: 'stuck',
    about: 'forty situations in which a run is stuck: recovered, escalated, given up',
    score: () => scoreStuck(),
  },
  {
    name: 'why',
    about: 'seeded incidents on real workers: does holdfast why name cause and next step',
    score: () => scoreWhy(),
  },
  {
    name: 'gateway',
    about: 'event streams of 200 clients while the gateway is killed, and attacks on it',
    score: () => scoreGateway(),
  },
];
