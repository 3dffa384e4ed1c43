/** Sizes of what an activity's input and result take up in a run's history. */
import type { WorkflowHandle } from '@temporalio/client';

/** One payload of an activity in a history. */
export interface ActivityPayload {
  /** Such as `callModel input`. */
  readonly what: string;
  readonly bytes: number;
}

type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;

interface Payloads {
  readonly payloads?: readonly { readonly data?: Uint8Array | null }[] | null;
}

function bytesOf(payloads: Payloads | null | undefined): number {
  return (payloads?.payloads ?? []).reduce((sum, { data }) => sum + (data?.length ?? 0), 0);
}

/** Every input, result and failure of an activity, in order. */
export function activityPayloads({ events }: History): readonly ActivityPayload[] {
  const names = new Map<string, string>();
  return (events ?? []).flatMap((event): ActivityPayload[] => {
    const scheduled = event.activityTaskScheduledEventAttributes;
    const completed = event.activityTaskCompletedEventAttributes;
    const failed = event.activityTaskFailedEventAttributes;
    if (scheduled) {
      const name = scheduled.activityType?.name ?? '';
      names.set(String(event.eventId), name);
      return [{ what: `${name} input`, bytes: bytesOf(scheduled.input) }];
    }
    const nameOf = (id: unknown): string => names.get(String(id)) ?? 'activity';
    if (completed) {
      const what = `${nameOf(completed.scheduledEventId)} result`;
      return [{ what, bytes: bytesOf(completed.result) }];
    }
    if (!failed) return [];
    const details = failed.failure?.applicationFailureInfo?.details;
    return [{ what: `${nameOf(failed.scheduledEventId)} failure`, bytes: bytesOf(details) }];
  });
}
