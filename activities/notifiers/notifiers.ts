/** The feature notifiers: people are notified when a run waits for one of them. */
import type { PersonNotice } from '../../workflows/core/notifications/ports';
import type { ActivitiesConfig } from '../definitions/activities-config';
import type { Feature } from '../definitions/activity-deps';
import type { Notifier } from '../definitions/notifier';
import { UserError } from '../lifecycle/user-error';
import { notify } from '../notify';

/** Kinds of waits that people can be notified about. */
const noticeKinds: readonly PersonNotice['kind'][] = ['escalation', 'question', 'approval'];

/**
 * Checks the notifiers.
 *
 * Errors: `UserError` for a name that is given twice or unusable, and an unknown kind of wait.
 */
function checkedNotifiers({
  notifiers = [],
  notifyOn = noticeKinds,
  webUiUrl,
}: ActivitiesConfig): ReadonlyMap<string, Notifier> {
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
  return byName;
}

/** Checks a worker's notifiers, names them to runs, and delivers. */
export const notifiers: Feature = {
  hooks: (config) => {
    const names = [...checkedNotifiers(config).keys()];
    const { notifyOn = noticeKinds } = config;
    return names.length === 0 ? {} : { notifiersOfRun: { names, on: notifyOn } };
  },
  activities: (deps, config) => ({ notify: (input) => notify(deps, config, input) }),
};
