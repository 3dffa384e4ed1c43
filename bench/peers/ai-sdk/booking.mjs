import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';

/** The tool as an activity. Its key is the one that Temporal's documentation gives: workflow run and activity. */
export function bookingActivities(serviceUrl) {
  return {
    async book({ item }) {
      const { workflowExecution, activityId } = activityInfo();
      const run = workflowExecution.workflowId.replace(/^.*?-(?=drawn)/, '');
      const key = `${workflowExecution.runId}-${activityId}`;
      const response = await fetch(serviceUrl, {
        method: 'POST',
        body: JSON.stringify({ run, item, key }),
      });
      const text = await response.text();
      if (response.ok) return text;
      // What no repeat changes is not retried; everything else is, as Temporal does by default.
      if ([400, 409, 507].includes(response.status)) throw ApplicationFailure.nonRetryable(text);
      throw new Error(text);
    },
  };
}
