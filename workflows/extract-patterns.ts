/** The workflow `extractPatterns`: one extraction of patterns, started by a schedule. */
import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from './core/activities';
import type { ExtractionReport } from './core/learning/ports';

/** An extraction reads a bounded number of observations per tenant; a worker's death costs one attempt. */
const { extractPatterns: extract } = proxyActivities<Activities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '20 seconds',
  retry: {
    initialInterval: '5 seconds',
    backoffCoefficient: 2,
    maximumInterval: '1 minute',
    maximumAttempts: 20,
  },
});

/**
 * Brings the patterns of every tenant up to date.
 *
 * Contract: idempotent; executions that overlap do not disturb each other.
 */
export async function extractPatterns(): Promise<ExtractionReport> {
  return extract();
}
