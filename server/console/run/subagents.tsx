/** The runs that a run started, as a tree whose branches load when they are opened. */
import type { JSX } from 'preact';
import { useCallback, useId, useState } from 'preact/hooks';
import { useConsole, useLoaded } from '../api/console-context';
import type { Api } from '../api/gateway';
import { dataOf } from '../api/gateway';
import { runHref } from '../api/place';
import type { Entry } from '../api/run-events';
import { ProblemNotice } from '../parts/notices';
import { moneyText, safeText } from '../parts/words';
import type { Subagent } from './iterations';
import { RunTimeline } from './iterations';

/** The tree; nothing where the run has no subagents. */
export function Subagents({
  subagents,
}: {
  readonly subagents: readonly Subagent[];
}): JSX.Element | null {
  const titleId = useId();
  if (subagents.length === 0) return null;
  return (
    <section aria-labelledby={titleId} class="subagents">
      <h2 id={titleId}>Subagents</h2>
      <Branch subagents={subagents} />
    </section>
  );
}

function Branch({ subagents }: { readonly subagents: readonly Subagent[] }): JSX.Element {
  return (
    <ul class="tree">
      {subagents.map((subagent) => (
        <Node key={subagent.runId} subagent={subagent} />
      ))}
    </ul>
  );
}

function Node({ subagent }: { readonly subagent: Subagent }): JSX.Element {
  const { runId, agent, task, status, usd } = subagent;
  const [isOpen, setOpen] = useState(false);
  return (
    <li>
      <span class={`status ${status}`}>{status}</span>{' '}
      <a href={runHref(runId)}>{safeText(agent)}</a>{' '}
      <span class="hint">
        {moneyText(usd)} {safeText(task)}
      </span>{' '}
      <button
        type="button"
        class="quiet"
        aria-expanded={isOpen}
        onClick={() => {
          setOpen(!isOpen);
        }}
      >
        Its subagents
      </button>
      {isOpen && <Children runId={runId} />}
    </li>
  );
}

/** The subagents of a run, found in its whole timeline. */
async function load(api: Api, runId: string): Promise<readonly Subagent[]> {
  const timeline = new RunTimeline();
  let after: string | undefined;
  do {
    const query = { limit: 1_000, ...(after === undefined ? {} : { after }) };
    const page = await dataOf(
      api.GET('/v1/runs/{runId}/timeline', { params: { path: { runId }, query } }),
    );
    // The API's document names the fields that all entries have; the core's type has those of each.
    timeline.add({ entries: page.entries as readonly unknown[] as readonly Entry[], deltas: [] });
    after = page.next;
  } while (after !== undefined);
  return timeline.subagents;
}

function Children({ runId }: { readonly runId: string }): JSX.Element {
  const { api } = useConsole();
  const { value, problem } = useLoaded(
    useCallback(() => load(api, runId), [api, runId]),
    0,
  );
  if (value === undefined) return <ProblemNotice problem={problem} />;
  return value.length === 0 ? <p class="hint">It started none.</p> : <Branch subagents={value} />;
}
