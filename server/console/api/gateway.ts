/** The gateway's API with the types of its own document, and its errors as one class. */
import type { Client } from 'openapi-fetch';
import createClient from 'openapi-fetch';
import type { components, paths } from '../../../examples/gateway-api';

type Schemas = components['schemas'];
export type RunSummary = Schemas['RunSummary'];
export type Run = Schemas['Run'];
export type PendingItem = Schemas['PendingItem'];
export type Explanation = Schemas['Explanation'];
export type RouteHealth = Schemas['ProviderList']['providers'][number];

/** A client of the API. */
export type Api = Client<paths>;

/** Why a request failed. `status` is 0 where the gateway did not answer. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
  ) {
    super(detail);
  }
}

/** The API for a token. */
export function apiFor(token: string): Api {
  return createClient<paths>({
    baseUrl: location.origin,
    headers: { authorization: `Bearer ${token}` },
  });
}

/** The problem in the body of a response that is no success. */
export function problemIn(status: number, body: unknown): Problem {
  const { code = 'unknown', detail = `The gateway answered ${status}.` } = (body ?? {}) as Partial<
    Schemas['Problem']
  >;
  return new Problem(status, code, detail);
}

/** What was thrown, as a problem. */
export function problemOf(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  return new Problem(0, 'unreachable', 'The gateway does not answer. The page tries again.');
}

/** The data of an answer; `undefined` where it has none. Errors: `Problem`. */
export async function dataOf<Data>(
  answer: Promise<{ readonly data?: Data; readonly error?: unknown; readonly response: Response }>,
): Promise<Data> {
  const { data, error, response } = await answer;
  if (!response.ok) throw problemIn(response.status, error);
  return data as Data;
}
