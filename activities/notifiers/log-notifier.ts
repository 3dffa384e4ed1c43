/** Writes notifications to the worker's log, for development and for people who watch it. */
import { log } from '@temporalio/activity';
import type { Notifier } from '../definitions/notifier';
import { argumentLines } from './argument-lines';

/** A notifier that writes to the worker's log. */
export function logNotifier(name = 'log'): Notifier {
  return {
    name,
    notify(notification) {
      const { runId, kind, asked, answerWith, id } = notification;
      const what = [asked.replace(/\s+/g, ' '), ...argumentLines(notification)].join('; ');
      log.warn(`run ${runId} waits for a person (${kind}): ${what}. Answer with: ${answerWith}`, {
        notificationId: id,
      });
      return Promise.resolve();
    },
  };
}
