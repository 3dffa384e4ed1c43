/** The activity `notify`: delivers a notification through each notifier, and reports which ones failed. */
import { Context } from '@temporalio/activity';
import type { NotifyInput, NotifyResult } from '../workflows/core/notifications/ports';
import { defined } from '../workflows/core/json';
import type { ShownArguments } from '../workflows/core/secrets/ports';
import { shellWord } from '../workflows/core/view/shell-word';
import type { ActivitiesConfig } from './definitions/activities-config';
import type { ActivityDeps } from './definitions/activity-deps';
import { storeOf } from './definitions/activity-deps';
import { interruption, withHeartbeat } from './lifecycle/activity-lifecycle';
import { applicationFailure } from './lifecycle/error-mapping';
import type { Notification, Notifier } from './definitions/notifier';
import { NotifierError } from './definitions/notifier';
import { withoutSecrets } from './untrusted/known-secrets';
import { sanitizeText } from './untrusted/sanitizer';
import type { Store } from './stores/store';
import { contentHash } from './stores/content-hash';

/** Milliseconds after which an undelivered notification is given up: five minutes before its activity ends (ADR 0027). */
const patienceMs = 55 * 60_000;

/** Longest pause between two tries in milliseconds; the first is a second, doubled each time (ADR 0027). */
const longestPauseMs = 60_000;

/** Characters of a sanitized text. */
const textChars = 1_000;
const lineChars = 200;

function answerCommand(runId: string, { kind, itemId }: NotifyInput['notice']): string {
  const run = shellWord(runId);
  switch (kind) {
    case 'approval':
      return `holdfast approve ${run} ${shellWord(itemId)}`;
    case 'question':
      return `holdfast answer ${run} --question ${shellWord(itemId)} TEXT`;
    case 'escalation':
      return `holdfast answer ${run} TEXT`;
  }
}

function linkTo(base: string | undefined, namespace: string, runId: string): { link?: string } {
  if (base === undefined) return {};
  const path = ['namespaces', namespace, 'workflows', runId].map(encodeURIComponent).join('/');
  return { link: `${base.replace(/(?<!\/)\/+$/, '')}/${path}` };
}

/** The arguments without what only this process knows to be secret. They are not cut here: each field is bounded by itself. */
function withKnownSecretsHidden(shown: ShownArguments): ShownArguments {
  const fields = shown.fields.map((field) => ({ ...field, value: withoutSecrets(field.value) }));
  return { ...shown, fields };
}

/** What is delivered: the notice, sanitized, with how to answer. */
function notificationOf(
  { notice, idempotencyKey }: Pick<NotifyInput, 'notice' | 'idempotencyKey'>,
  place: { readonly runId: string; readonly namespace: string; readonly webUiUrl?: string },
): Notification {
  const { runId, namespace, webUiUrl } = place;
  const clean = (text: string): string => sanitizeText(text, { maxChars: textChars });
  const lines = (texts: readonly string[]): readonly string[] =>
    texts.map((text) => sanitizeText(text, { maxChars: lineChars }));
  const { arguments: shown, ...told } = notice;
  return {
    ...told,
    ...(shown === undefined ? {} : { arguments: withKnownSecretsHidden(shown) }),
    id: `msg_${contentHash(idempotencyKey).slice(0, 27)}`,
    goal: clean(notice.goal),
    asked: clean(notice.asked),
    ...defined({ lastError: notice.lastError && clean(notice.lastError) }),
    worked: lines(notice.worked),
    didNotWork: lines(notice.didNotWork),
    runId,
    namespace,
    answerWith: answerCommand(runId, notice),
    ...(shown?.isPart === true
      ? { showWith: `holdfast show ${shellWord(runId)} --arguments ${shellWord(notice.itemId)}` }
      : {}),
    ...linkTo(webUiUrl, namespace, runId),
  };
}

/** Whether a notifier has delivered already. If the store is down, false: a duplicate is better than silence. */
async function isDelivered(store: Store, key: string): Promise<boolean> {
  try {
    const known = await store.beginTool({
      key,
      tool: 'notify',
      inputDigest: contentHash(key),
      startedAtMs: Context.current().info.currentAttemptScheduledTimestampMs,
    });
    return known.type === 'finished';
  } catch {
    return false;
  }
}

async function noteDelivered(store: Store, key: string): Promise<void> {
  try {
    await store.finishTool(key, '"delivered"');
  } catch {
    // A repeat carries the same id.
  }
}

/** Delivers a notification through one notifier; returns why it could not. */
async function deliver(
  store: Store,
  notifier: Notifier | undefined,
  { name, key }: { readonly name: string; readonly key: string },
  notification: Notification,
): Promise<NotifierError | undefined> {
  if (notifier === undefined)
    return new NotifierError(`this worker has no notifier "${name}"`, { permanent: true });
  if (await isDelivered(store, key)) return undefined;
  try {
    await notifier.notify(notification, Context.current().cancellationSignal);
  } catch (thrown) {
    if (thrown instanceof NotifierError) return thrown;
    const text = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
    return new NotifierError(text);
  }
  await noteDelivered(store, key);
  return undefined;
}

function pauseMs(errors: readonly NotifierError[], attempt: number): number {
  const asked = errors.map(({ retryAfterMs }) => retryAfterMs ?? 0);
  return Math.max(Math.min(1_000 * 2 ** (attempt - 1), longestPauseMs), ...asked);
}

/**
 * Notifies people.
 *
 * Contract: at least once per notifier, exactly once while the store is available; each repeat has the same id. A notifier that
 * fails permanently, or for an hour, is named in the result.
 * Errors: ApplicationFailure `tool_infrastructure`, which Temporal retries, while a notifier may still deliver.
 */
export async function notify(
  deps: ActivityDeps,
  { notifiers = [], webUiUrl }: Pick<ActivitiesConfig, 'notifiers' | 'webUiUrl'>,
  input: NotifyInput,
): Promise<NotifyResult> {
  return withHeartbeat(
    () => undefined,
    async () => {
      const { info } = Context.current();
      const store = storeOf(deps, input.storeId);
      const notification = notificationOf(input, {
        runId: info.workflowExecution?.workflowId ?? 'unknown',
        namespace: info.namespace,
        ...defined({ webUiUrl }),
      });
      const outcomes = await Promise.all(
        input.notifiers.map(async (name) => {
          const key = `${input.idempotencyKey}/${name}`;
          const notifier = notifiers.find((one) => one.name === name);
          const error = await deliver(store, notifier, { name, key }, notification);
          return defined({ name, error });
        }),
      );
      const interrupted = interruption();
      if (interrupted !== undefined) throw interrupted;
      const failed = outcomes.flatMap(({ name, error }) => (error ? [{ name, error }] : []));
      const retryable = failed.filter(({ error }) => !error.permanent);
      const waitedMs = info.currentAttemptScheduledTimestampMs - info.scheduledTimestampMs;
      if (retryable.length > 0 && waitedMs < patienceMs) {
        const message = retryable.map(({ name, error }) => `${name}: ${error.message}`).join('; ');
        const errors = retryable.map(({ error }) => error);
        throw applicationFailure(
          { kind: 'infra', code: 'tool_infrastructure', message },
          { delayMs: pauseMs(errors, info.attempt) },
        );
      }
      return {
        delivered: outcomes.flatMap(({ name, error }) => (error ? [] : [name])),
        failed: failed.map(({ name, error }) => ({
          notifier: name,
          message: sanitizeText(error.message, { maxChars: lineChars }),
        })),
      };
    },
  );
}
