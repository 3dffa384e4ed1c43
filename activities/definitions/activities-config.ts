/** What a worker gives the composition root of its activities. */
import type { PriceTable, WindowTable } from '../models/model-tables';
import type { Provider } from '../providers/provider';
import type { Store } from '../stores/store';
import type { AgentDefinition } from './agent';
import type { Notification, Notifier } from './notifier';
import type { TenantCapTable } from './tenant-caps';

/** What a worker's activities are made of. */
export interface ActivitiesConfig {
  readonly store: Store;
  readonly providers: readonly Provider[];
  readonly agents: readonly AgentDefinition[];
  /** What models cost, before the built-in list: by the beginning of a model's name, or of `provider/model`. */
  readonly prices?: PriceTable;
  /** Windows of models in tokens, before the built-in list: by the beginning of a model's name. */
  readonly windows?: WindowTable;
  /**
   * What all runs of a tenant may use together: US dollars and tokens a UTC day, and runs in progress. By the tenant's name; `*` is
   * for every tenant. Give all workers of a store the same. Default: no caps.
   */
  readonly tenantCaps?: TenantCapTable;
  /** Default: none, and nobody is notified. */
  readonly notifiers?: readonly Notifier[];
  /** Waits that people are notified of. Default: all. */
  readonly notifyOn?: readonly Notification['kind'][];
  /** Address of Temporal's Web UI, such as `https://temporal.example.com`, for links to runs. */
  readonly webUiUrl?: string;
  /**
   * Public keys of the people who may decide on approvals (`holdfast approval-key`). With it, a decision on an approval of any of
   * the agents counts only with a signature by one of the private keys, and programs that tools start cannot decide (ADR 0040).
   * Default: decisions need no signature.
   */
  readonly approvers?: readonly string[];
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly clock?: () => number;
}
