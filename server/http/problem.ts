/** Every error of the gateway, as RFC 9457 has it: what is wrong, as a code for programs and a sentence for people. */
import { STATUS_CODES } from 'node:http';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { ClientError } from '../../client/client-error';
import { shortened } from '../../workflows/core/shortened';
import { safeJson } from './safe-json';

/** The body of an error. */
export const problemSchema = z
  .object({
    type: z.string().describe('`urn:holdfast:problem:` and the code'),
    title: z.string(),
    status: z.int(),
    code: z.string().describe('What a program can switch on'),
    detail: z.string().describe('What to do, for people'),
    errors: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .describe('Each field that is wrong'),
  })
  .meta({ id: 'Problem' });

export type Problem = z.infer<typeof problemSchema>;

/** Thrown for what a caller did wrong, or must wait for. */
export class HttpProblem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
  }
}

/** The run is unknown, is no agent run, or is another tenant's: nobody learns which. */
export function runNotFound(runId: string): HttpProblem {
  return new HttpProblem(
    404,
    'run-not-found',
    `There is no run ${JSON.stringify(shortened(runId, 250))}, or its retention is over. GET /v1/runs lists the runs.`,
  );
}

/** The problem as it is sent. */
export function problemOf(status: number, code: string, detail: string): Problem {
  const title = STATUS_CODES[status] ?? 'Error';
  return { type: `urn:holdfast:problem:${code}`, title, status, code, detail };
}

const unavailable = 'The service cannot do this now. Try again in a moment.';
const otherKeys =
  'This gateway and the workers cannot read each other: their encryption keys or data converters differ. Whoever operates the gateway must give it those of the workers.';
const internal = 'The gateway failed. Its log says why; try again in a moment.';

function isFastifyError(thrown: unknown): thrown is FastifyError {
  return thrown instanceof Error && 'statusCode' in thrown;
}

function problemFrom(thrown: unknown): Problem {
  if (thrown instanceof HttpProblem) return problemOf(thrown.status, thrown.code, thrown.message);
  if (hasZodFastifySchemaValidationErrors(thrown)) {
    const errors = thrown.validation.map(({ instancePath, message = '' }) => ({
      path: instancePath,
      message,
    }));
    const where = errors.map(({ path, message }) => `${path || '/'}: ${message}`).join('; ');
    const detail = `The ${thrown.validationContext ?? 'request'} is not valid: ${shortened(where, 1_000)}. /openapi.json says what it takes.`;
    return { ...problemOf(400, 'invalid-request', detail), errors };
  }
  if (thrown instanceof ClientError) {
    if (thrown.code === 'converter-mismatch') return problemOf(503, thrown.code, otherKeys);
    const { statusCode: status } = thrown;
    // From 500 on, it is about the deployment: callers read no detail.
    const detail = status < 500 ? thrown.message : status === 503 ? unavailable : internal;
    return problemOf(status, thrown.code, detail);
  }
  return isFastifyError(thrown) ? ofFastify(thrown) : problemOf(500, 'internal', internal);
}

function ofFastify({ statusCode: status = 500, message }: FastifyError): Problem {
  if (status === 503) return problemOf(503, 'unavailable', unavailable);
  if (status < 400 || status >= 500) return problemOf(500, 'internal', internal);
  if (status === 415)
    return problemOf(
      415,
      'unsupported-media-type',
      'The body must be JSON, with the header `Content-Type: application/json`.',
    );
  const code = (STATUS_CODES[status] ?? 'bad-request').toLowerCase().replace(/\W+/g, '-');
  return problemOf(status, code, message);
}

/** Sends it. Contract: no stack, no cause, no word about the deployment; what the gateway did wrong is in its log. */
export async function sendProblem(
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const problem = problemFrom(thrown);
  if (problem.status >= 500 && problem.code !== 'not-ready')
    request.log.error({ err: thrown, code: problem.code }, 'request failed');
  const retry = problem.status === 503 ? { 'retry-after': '2' } : {};
  const headers = thrown instanceof HttpProblem ? thrown.headers : {};
  await reply
    .code(problem.status)
    // Also where no other hook ran, as for an address that cannot be read.
    .headers({ 'x-content-type-options': 'nosniff', ...retry, ...headers })
    .type('application/problem+json')
    .serializer(safeJson)
    .send(problem);
}
