/** All incidents. */
import type { Incident } from './incident';
import { stopIncidents } from './stop-incidents';
import { waitIncidents } from './wait-incidents';

export const incidents: readonly Incident[] = Object.entries({
  ...waitIncidents,
  ...stopIncidents,
}).map(([id, incident]) => ({ id, ...incident }));
