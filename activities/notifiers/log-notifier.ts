/** Writes notifications to the worker's log, for development and for people who watch it. */
import { log } from '@temporalio/activity';
import type { Notifier } from '../definitions/notifier';

/** A notifier that needs no receiver. */
export function logNotifier(name = 'log'): Notifier {
  return {
    name,
    notify(notification) {
      const { runId, kind, asked, answerWith, id } = notification;
      log.warn(`run ${runId} waits for a person (${kind}): ${asked}. Answer with: ${answerWith}`, {
        notificationId: id,
      });
      return Promise.resolve();
    },
  };
}
