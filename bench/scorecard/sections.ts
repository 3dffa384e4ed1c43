/** The sections of the scorecard, in the order in which they run. */
import { scoreProviderFaults } from './provider/score-provider-faults';
import { providerFaults } from './provider/provider-faults';
import type { ScorecardSection } from './section';

/** All sections. */
export const sections: readonly ScorecardSection[] = [
  {
    name: 'provider',
    about: 'faults of a model provider: status x body x wire x moment',
    score: () => scoreProviderFaults(providerFaults()),
  },
];
