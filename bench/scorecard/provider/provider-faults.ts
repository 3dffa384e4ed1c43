/** All rows of the provider section. */
import { accountFaults } from './account-faults';
import { dialectFaults } from './dialect-faults';
import { loadFaults } from './load-faults';
import type { ProviderFault } from './provider-fault';
import { mixedFaults } from './mixed-faults';
import { publicCases } from './public-cases';
import { refusalFaults } from './refusal-faults';
import { quietFaults } from './quiet-faults';
import { replyFaults } from './reply-faults';
import { requestFaults } from './request-faults';
import { silenceFaults } from './silence-faults';
import { streamFaults } from './stream-faults';

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
