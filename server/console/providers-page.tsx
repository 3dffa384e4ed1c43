/** The health of every route that runs have used. */
import type { JSX } from 'preact';
import { useCallback } from 'preact/hooks';
import { useConsole, useLoaded } from './api/console-context';
import type { RouteHealth } from './api/gateway';
import { dataOf } from './api/gateway';
import { Ago, PageHeading, ProblemNotice } from './parts/notices';
import { safeText, spanText } from './parts/words';

const refreshMs = 5_000;

/** The page. */
export function ProvidersPage(): JSX.Element {
  const { api } = useConsole();
  const { value, problem } = useLoaded(
    useCallback(() => dataOf(api.GET('/v1/providers')), [api]),
    refreshMs,
  );
  return (
    <>
      <PageHeading title="Providers" />
      <ProblemNotice problem={problem} />
      {value?.providers.length === 0 && <p>No run has called a model yet.</p>}
      {value !== undefined && value.providers.length > 0 && (
        <table>
          <caption class="unseen">Health of providers</caption>
          <thead>
            <tr>
              <th scope="col">Route</th>
              <th scope="col">Health</th>
              <th scope="col" class="wide">
                Last success
              </th>
              <th scope="col">Last failure</th>
            </tr>
          </thead>
          <tbody>
            {value.providers.map((route) => (
              <RouteRow key={route.route} health={route} />
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

/** One route: how it is, since when, and when it is asked again. */
function RouteRow({ health }: { readonly health: RouteHealth }): JSX.Element {
  const { route, status, errorCount, cooldownUntilMs, lastSuccessAtMs } = health;
  const cooldownMs = cooldownUntilMs - Date.now();
  return (
    <tr>
      <th scope="row">{safeText(route)}</th>
      <td>
        <span class={`status ${status}`}>{status}</span>
        {cooldownMs > 0 && <span class="hint">asked again in {spanText(cooldownMs)}</span>}
      </td>
      <td class="wide">
        {lastSuccessAtMs === undefined ? 'never' : <>{<Ago atMs={lastSuccessAtMs} />} ago</>}
      </td>
      <td>
        <LastFailure health={health} />
        {errorCount > 0 && <span class="hint">{errorCount} since the last success</span>}
      </td>
    </tr>
  );
}

function LastFailure({ health }: { readonly health: RouteHealth }): JSX.Element {
  const { lastErrorReason, lastError, lastFailureAtMs } = health;
  if (lastFailureAtMs === undefined) return <>never</>;
  return (
    <>
      {safeText(lastErrorReason ?? 'failed')} <Ago atMs={lastFailureAtMs} /> ago
      {lastError !== undefined && <span class="hint">{safeText(lastError)}</span>}
    </>
  );
}
