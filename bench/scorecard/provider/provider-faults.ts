/** All rows of the provider section. */
import { accountFaults } from './faults/account-faults';
import { dialectFaults } from './faults/dialect-faults';
import { loadFaults } from './faults/load-faults';
import type { ProviderFault } from './provider-fault';
import { mixedFaults } from './faults/mixed-faults';
import { publicCases } from './faults/public-cases';
import { refusalFaults } from './faults/refusal-faults';
import { quietFaults } from './faults/quiet-faults';
import { replyFaults } from './faults/reply-faults';
import { requestFaults } from './faults/request-faults';
import { silenceFaults } from './faults/silence-faults';
import { streamFaults } from './faults/stream-faults';

/** All rows; no two have the same id. */
export function providerFaults(): readonly ProviderFault[] {
  return [
    ...accountFaults(),
    ...requestFaults(),
    ...refusalFaults(),
    ...loadFaults(),
    ...streamFaults(),
    ...silenceFaults(),
    ...quietFaults(),
    ...replyFaults(),
    ...dialectFaults(),
    ...mixedFaults(),
    ...publicCases(),
  ];
}
