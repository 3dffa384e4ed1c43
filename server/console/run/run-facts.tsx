/** Where a run is, in a few lines. */
import type { JSX } from 'preact';
import { costText } from '../../../workflows/core/budget/spend';
import type { Run } from '../api/gateway';
import { runHref } from '../api/place';
import { Ago, Status } from '../parts/notices';
import { countText, safeText, spanText } from '../parts/words';

/** The run that started this one as its subagent: its id is the beginning of this one's. */
function parentOf(runId: string): string | undefined {
  const end = runId.lastIndexOf('/');
  return end < 0 ? undefined : runId.slice(0, end);
}

/** The facts. */
export function RunFacts({ run }: { readonly run: Run }): JSX.Element {
  const { status, agent, actingAgent, goal, doing, ending, startedAtMs, closedAtMs } = run;
  const parent = parentOf(run.runId);
  return (
    <section aria-label="State of the run" class="state">
      <p>
        <Status status={status} /> {safeText(agent)}
        {actingAgent === undefined ? '' : `, now ${safeText(actingAgent)}`}
        {parent !== undefined && (
          <>
            {' '}
            · started by <a href={runHref(parent)}>{safeText(parent)}</a>
          </>
        )}
      </p>
      <p class="goal">{safeText(goal)}</p>
      <p>{safeText(ending ?? doing)}</p>
      <dl class="figures">
        <Figure label="Iteration">
          {countText(run.iteration)}
          {run.maxIterations !== undefined && ` of ${countText(run.maxIterations)}`}
        </Figure>
        <Figure label="Cost">{costText(run.cost)}</Figure>
        <Figure label="Tokens">{tokensText(run)}</Figure>
        <Figure label="Tool calls">{callsText(run)}</Figure>
        <Figure label={closedAtMs === undefined ? 'Started' : 'Took'}>
          {closedAtMs === undefined ? (
            <>
              <Ago atMs={startedAtMs} /> ago
            </>
          ) : (
            spanText(closedAtMs - startedAtMs)
          )}
        </Figure>
      </dl>
    </section>
  );
}

function Figure({
  label,
  children,
}: {
  readonly label: string;
  readonly children: JSX.Element['props']['children'];
}): JSX.Element {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function tokensText({ usage }: Run): string {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = usage;
  const sent = inputTokens + cacheReadTokens + cacheWriteTokens;
  return `${countText(sent)} in, ${countText(outputTokens)} out`;
}

function callsText({ toolCallsSucceeded, toolCallsFailed }: Run): string {
  const failed = toolCallsFailed === 0 ? '' : `, ${countText(toolCallsFailed)} failed`;
  return `${countText(toolCallsSucceeded)}${failed}`;
}
