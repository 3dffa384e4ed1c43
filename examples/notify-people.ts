/** A worker whose runs notify people by webhook, Slack, and log when they wait for a person. */
import type { Activities, AgentDefinition, Provider, Store } from '../activities/index';
import { createActivities, logNotifier, slackNotifier, webhookNotifier } from '../activities/index';

/** What every worker has. */
interface WorkerParts {
  readonly store: Store;
  readonly providers: readonly Provider[];
  readonly agents: readonly AgentDefinition[];
}

/** Where notifications go; addresses and secret come from your own configuration. */
interface Receivers {
  readonly webhookUrl: string;
  readonly webhookSecret: string;
  readonly slackUrl: string;
}

/** Activities with notifiers. */
export function notifyingActivities(parts: WorkerParts, receivers: Receivers): Activities {
  return createActivities({
    ...parts,
    notifiers: [
      webhookNotifier({ url: receivers.webhookUrl, secret: receivers.webhookSecret }),
      slackNotifier({ url: receivers.slackUrl }),
      logNotifier(),
    ],
    webUiUrl: 'https://temporal.example.com',
  });
}
