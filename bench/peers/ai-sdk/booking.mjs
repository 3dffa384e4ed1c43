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
      // A refusal and a service that is broken for good are not retried; everything else is.
      if (response.status === 409 || response.status === 507)
        throw ApplicationFailure.nonRetryable(text);
      throw new Error(text);
    },
  };
}
