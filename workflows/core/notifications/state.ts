/** The slice of notifications. */
import type { NotifyInput } from './ports';

/** A notification in flight. */
export interface NotificationInFlight {
  readonly callId: string;
  /** Identity of what waits. */
  readonly about: string;
  readonly input: NotifyInput;
}

/** Notifications of a run. */
interface NotificationState {
  readonly count: number;
  readonly inFlight: readonly NotificationInFlight[];
}

/** The slice. */
export interface NotificationsSlice {
  readonly notifications: NotificationState;
}

/** Nothing was sent. */
export const initialNotifications: NotificationsSlice = {
  notifications: { count: 0, inFlight: [] },
};
