/** The notifiers of a worker, checked at its start. */
import type { AgentSnapshot } from '../../workflows/core/run/ports';
import type { PersonNotice } from '../../workflows/core/people/ports';
import { defined } from '../../workflows/core/json';
import { UserError } from '../lifecycle/user-error';
import type { Notifier } from '../definitions/notifier';

/** Kinds of waits that people can be told of. */
const noticeKinds: readonly PersonNotice['kind'][] = ['escalation', 'question', 'approval'];

/** Who is told of what. */
export interface NotifierOptions {
  /** Default: nobody. */
  readonly notifiers?: readonly Notifier[];
  /** Which waits are told of. Default: all. */
  readonly notifyOn?: readonly PersonNotice['kind'][];
  /** Address of Temporal's Web UI, such as `https://temporal.example.com`, for links to runs. */
  readonly webUiUrl?: string;
}

/** A worker's notifiers by name. */
export interface WorkerNotifiers {
  readonly byName: ReadonlyMap<string, Notifier>;
  readonly on: readonly PersonNotice['kind'][];
  readonly webUiUrl?: string;
}

/**
 * Checks the notifiers.
 *
 * Errors: `UserError` for a name that is given twice or unusable, and an unknown kind of wait.
 */
export function workerNotifiers({
  notifiers = [],
  notifyOn = noticeKinds,
  webUiUrl,
}: NotifierOptions): WorkerNotifiers {
  const byName = new Map<string, Notifier>();
  for (const notifier of notifiers) {
    const { name } = notifier;
    if (!/^[\w.-]{1,40}$/.test(name))
      throw new UserError(
        `Notifier name ${JSON.stringify(name)} is not usable; use 1 to 40 letters, digits, "_", "-" and ".".`,
      );
    if (byName.has(name))
      throw new UserError(`Notifier "${name}" is given twice; names must be unique.`);
    byName.set(name, notifier);
  }
  const unknown = notifyOn.find((kind) => !noticeKinds.includes(kind));
  if (unknown !== undefined)
    throw new UserError(`notifyOn has "${unknown}"; use ${noticeKinds.join(', ')}.`);
  if (webUiUrl !== undefined && !URL.canParse(webUiUrl))
    throw new UserError(
      `webUiUrl is "${webUiUrl}"; give an address such as http://localhost:8233.`,
    );
  return { byName, on: notifyOn, ...defined({ webUiUrl }) };
}

/** The notifiers as a run carries them. */
export function notifiersOfRun({ byName, on }: WorkerNotifiers): Pick<AgentSnapshot, 'notifiers'> {
  return byName.size === 0 ? {} : { notifiers: { names: [...byName.keys()], on } };
}
