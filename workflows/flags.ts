/**
 * Changes of the workflow's behavior that runs in flight must not see. A run keeps the flags of the code that started it, in its
 * snapshot; the core asks `hasFlag` and gets them as data. CONTRIBUTING, "Changing a workflow safely", says when to add one.
 */

/** One change. */
interface Flag {
  /** What the workflow does differently with the flag. */
  readonly change: string;
  /** First version with the flag. */
  readonly since: string;
  /** When flag and old behavior may be removed. */
  readonly removable: string;
}

/** The flags by name. */
const flags: Readonly<Record<string, Flag>> = {
  'asks-again': {
    change:
      'A repeated effect, and an answer before the work, are asked about once (R-TOOL-14, R-ERR-9).',
    since: '0.4.0',
    removable: 'once no run in flight is older than 0.4.0',
  },
};

/** Names of the flags that this version knows: recorded in the snapshot of each run that it starts. */
export const flagNames: readonly string[] = Object.keys(flags);
