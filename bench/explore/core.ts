/** The core that is explored: that of this build, or a copy of it with a planted fault. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { verdictOnAnswer, verdictOnDecision } from '../../workflows/core/people/verdicts';
import type { restoreRunState } from '../../workflows/core/run/restore';
import type { initialTransition, transition } from '../../workflows/core/run/transition';
import type { statusMarkdown } from '../../workflows/core/view/markdown';
import type { pendingItems } from '../../workflows/core/view/pending';
import type { statusView } from '../../workflows/core/view/status';

/** What the explorer calls. */
export interface Core {
  readonly initialTransition: typeof initialTransition;
  readonly transition: typeof transition;
  readonly restoreRunState: typeof restoreRunState;
  readonly pendingItems: typeof pendingItems;
  readonly statusView: typeof statusView;
  readonly statusMarkdown: typeof statusMarkdown;
  readonly verdictOnAnswer: typeof verdictOnAnswer;
  readonly verdictOnDecision: typeof verdictOnDecision;
}

const load = createRequire(__filename);

/** Directory of this build's core. */
export const coreDirectory = join(__dirname, '../../workflows/core');

const modules = [
  'run/transition',
  'run/restore',
  'view/pending',
  'view/status',
  'view/markdown',
  'people/verdicts',
];

/** The core in a directory. Contract: it has the modules of `workflows/core`. */
export function loadCore(directory = coreDirectory): Core {
  const exports = modules.map((name) => load(join(directory, name)) as Partial<Core>);
  return Object.assign({}, ...exports) as Core;
}
