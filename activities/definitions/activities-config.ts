/** What a worker gives the composition root of its activities. */
import type { PriceTable, WindowTable } from '../models/model-tables';
import type { Provider } from '../providers/provider';
import type { Store } from '../stores/store';
import type { AgentDefinition } from './agent';
import type { Notification, Notifier } from './notifier';

/** What a worker's activities are made of. */
export interface ActivitiesConfig {
  readonly store: Store;
  readonly providers: readonly Provider[];
  readonly agents: readonly AgentDefinition[];
  /** What models cost, before the built-in list: by the beginning of a model's name, or of `provider/model`. */
  readonly prices?: PriceTable;
  /** Windows of models in tokens, before the built-in list: by the beginning of a model's name. */
  readonly windows?: WindowTable;
  /** Default: none, and nobody is notified. */
  readonly notifiers?: readonly Notifier[];
  /** Waits that people are notified of. Default: all. */
  readonly notifyOn?: readonly Notification['kind'][];
  /** Address of Temporal's Web UI, such as `https://temporal.example.com`, for links to runs. */
  readonly webUiUrl?: string;
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly clock?: () => number;
}
