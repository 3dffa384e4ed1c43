/** The feature notifiers: people are notified when a run waits for one of them. */
import type { PersonNotice } from '../../workflows/core/notifications/ports';
import type { ActivitiesConfig } from '../definitions/activities-config';
import type { Feature } from '../definitions/activity-deps';

import { UserError } from '../lifecycle/user-error';
import { notify } from '../notify';

/** Kinds of waits that people can be notified about. */
const noticeKinds: readonly PersonNotice['kind'][] = ['escalation', 'question', 'approval'];

/**
 * Checks the notifiers; returns their names.
 *
 * Errors: `UserError` for a name that is given twice or unusable, and an unknown kind of wait.
 */
function checkedNames({
  notifiers = [],
  notifyOn = noticeKinds,
  webUiUrl,
}: ActivitiesConfig): readonly string[] {
  const names = notifiers.map(({ name }) => name);
  for (const [index, name] of names.entries()) {
    if (!/^[\w.-]{1,40}$/.test(name))
      throw new UserError(
        `Notifier name ${JSON.stringify(name)} is not usable; use 1 to 40 letters, digits, "_", "-" and ".".`,
      );
    if (names.indexOf(name) < index)
      throw new UserError(`Notifier "${name}" is given twice; names must be unique.`);
  }
  const unknown = notifyOn.find((kind) => !noticeKinds.includes(kind));
  if (unknown !== undefined)
    throw new UserError(`notifyOn has "${unknown}"; use ${noticeKinds.join(', ')}.`);
  if (webUiUrl !== undefined && !URL.canParse(webUiUrl))
    throw new UserError(
      `webUiUrl is "${webUiUrl}"; give an address such as http://localhost:8233.`,
    );
  return names;
}

/** Checks a worker's notifiers, names them to runs, and delivers. */
export const notifiers: Feature = {
  hooks: (config) => {
    const names = checkedNames(config);
    const { notifyOn = noticeKinds } = config;
    return names.length === 0 ? {} : { notifiersOfRun: { names, on: notifyOn } };
  },
  activities: (deps, config) => ({ notify: (input) => notify(deps, config, input) }),
};
