/** The list of runs: status, what each waits for, cost and age; filtered and page by page. */
import type { JSX } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import type { ConsoleWorld } from './api/console-context';
import { useConsole, useLoaded } from './api/console-context';
import type { RunSummary } from './api/gateway';
import { dataOf } from './api/gateway';
import { hrefOf, runHref } from './api/place';
import { Ago, PageHeading, ProblemNotice, Status } from './parts/notices';
import { fieldText, moneyText, safeText } from './parts/words';

/** Runs of a page. */
const pageSize = 50;
const refreshMs = 5_000;
const statuses = ['running', 'waiting', 'completed', 'stopped', 'failed', 'cancelled'] as const;
type StatusWord = (typeof statuses)[number];

/** Which runs; empty texts for all. */
interface Filter {
  readonly status: string;
  readonly agent: string;
}

function load({ api }: ConsoleWorld, { status, agent }: Filter, cursor: string | undefined) {
  const query = {
    limit: pageSize,
    ...(status === '' ? {} : { status: status as StatusWord }),
    ...(agent === '' ? {} : { agent }),
    ...(cursor === undefined ? {} : { cursor }),
  };
  return dataOf(api.GET('/v1/runs', { params: { query } }));
}

/** The runs of this address' filter. */
export function RunsPage({ query }: { readonly query: URLSearchParams }): JSX.Element {
  const world = useConsole();
  const status = query.get('status') ?? '';
  const agent = query.get('agent') ?? '';
  /** Cursors of the pages up to this one; the first has none. */
  const [cursors, setCursors] = useState<readonly string[]>([]);
  useEffect(() => {
    setCursors([]);
  }, [status, agent]);
  const cursor = cursors.at(-1);
  const loaded = useLoaded(
    useCallback(() => load(world, { status, agent }, cursor), [world, status, agent, cursor]),
    refreshMs,
  );
  const { value, problem } = loaded;
  return (
    <>
      <PageHeading title="Runs" />
      <FilterForm status={status} agent={agent} />
      <ProblemNotice problem={problem} />
      {value === undefined && problem === undefined && <p class="hint">Loading …</p>}
      {value?.runs.length === 0 && <p>No runs.</p>}
      {value !== undefined && value.runs.length > 0 && <RunTable runs={value.runs} />}
      <Pager
        number={cursors.length + 1}
        next={value?.next}
        onMove={(next) => {
          setCursors(next === undefined ? cursors.slice(0, -1) : [...cursors, next]);
        }}
      />
    </>
  );
}

function FilterForm({ status, agent }: Filter): JSX.Element {
  const apply = (form: HTMLFormElement): void => {
    location.hash = hrefOf('runs', {
      status: fieldText(form, 'status'),
      agent: fieldText(form, 'agent'),
    });
  };
  return (
    <form
      class="filter"
      aria-label="Filter"
      onSubmit={(event) => {
        event.preventDefault();
        apply(event.currentTarget);
      }}
    >
      <label>
        Status
        <select
          name="status"
          value={status}
          onChange={(event) => {
            const { form } = event.currentTarget;
            if (form !== null) apply(form);
          }}
        >
          <option value="">all</option>
          {statuses.map((word) => (
            <option key={word}>{word}</option>
          ))}
        </select>
      </label>
      <label>
        Agent
        <input name="agent" defaultValue={agent} placeholder="all" maxLength={100} />
      </label>
      <button type="submit">Filter</button>
    </form>
  );
}

function RunTable({ runs }: { readonly runs: readonly RunSummary[] }): JSX.Element {
  return (
    <table class="runs">
      <caption class="unseen">Runs</caption>
      <thead>
        <tr>
          <th scope="col">Run</th>
          <th scope="col">Status</th>
          <th scope="col" class="number wide">
            Iteration
          </th>
          <th scope="col" class="number">
            Cost
          </th>
          <th scope="col" class="number">
            Age
          </th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <RunRow key={run.runId} run={run} />
        ))}
      </tbody>
    </table>
  );
}

function RunRow({ run }: { readonly run: RunSummary }): JSX.Element {
  const { runId, agent, tenant, status, reason, iteration, usd, startedAtMs } = run;
  const isOfAll = useConsole().session.caller.tenant === undefined;
  return (
    <tr>
      <th scope="row">
        <a href={runHref(runId)}>{safeText(runId)}</a>
        <span class="hint">
          {safeText(agent)}
          {isOfAll && tenant !== undefined ? ` · ${tenant}` : ''}
        </span>
      </th>
      <td>
        <Status status={status} />
        {reason !== undefined && <span class="hint">{safeText(reason)}</span>}
      </td>
      <td class="number wide">{iteration}</td>
      <td class="number">{moneyText(usd)}</td>
      <td class="number">
        <Ago atMs={startedAtMs} />
      </td>
    </tr>
  );
}

/** Moves to the next page by its cursor, or back. */
function Pager({
  number,
  next,
  onMove,
}: {
  readonly number: number;
  readonly next: string | undefined;
  readonly onMove: (next?: string) => void;
}): JSX.Element | null {
  if (number === 1 && next === undefined) return null;
  return (
    <nav class="pager" aria-label="Pages of the list">
      <button
        type="button"
        disabled={number === 1}
        onClick={() => {
          onMove();
        }}
      >
        Previous
      </button>
      <span>Page {number}</span>
      <button
        type="button"
        disabled={next === undefined}
        onClick={() => {
          onMove(next);
        }}
      >
        Next
      </button>
    </nav>
  );
}
