/** A worker whose runs tell people, by webhook, Slack and log, that they wait for one of them. */
import type { Activities, AgentDefinition, Provider, Store } from '../activities/index';
import { createActivities, logNotifier, slackNotifier, webhookNotifier } from '../activities/index';

/** What every worker has. */
interface WorkerParts {
  readonly store: Store;
  readonly providers: readonly Provider[];
  readonly agents: readonly AgentDefinition[];
}

/** Where people are told; the addresses and the secret come from your own configuration. */
interface Receivers {
  readonly webhookUrl: string;
  readonly webhookSecret: string;
  readonly slackUrl: string;
}

/** Activities that tell people. */
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
