/** What people do to a run: decide, answer, say something, end it. Only for tokens with the role operate. */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Actor } from '../../client/index';
import type { RunHandle } from '../../client/run-handle';
import type { JsonObject } from '../../workflows/core/json';
import { largeBody } from '../http/large-bodies';
import {
  answerBody,
  approvalParams,
  approveBody,
  editBody,
  messageBody,
  questionParams,
  reasonBody,
  rejectBody,
  runParams,
} from '../schema/requests';
import type { Api, RouteWorld } from './gateway-routes';
import { actorOf, problems, visibleRun } from './gateway-routes';

/** Something that a person does to a run. */
interface Action<Params extends z.ZodType, Body extends z.ZodType> {
  /** Below `/v1/runs/{runId}`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly tag: 'Decide' | 'Steer';
  readonly params: Params;
  readonly body?: Body;
  /** The body may hold images and files. */
  readonly isLarge?: true;
  readonly act: (
    run: RunHandle,
    given: { readonly params: z.output<Params>; readonly body: z.output<Body>; readonly by: Actor },
  ) => Promise<void>;
}

/** Adds the route of an action. */
function addAction<Params extends z.ZodType<{ runId: string }>, Body extends z.ZodType>(
  api: Api,
  world: RouteWorld,
  { path, operationId, summary, tag, params, body, isLarge, act }: Action<Params, Body>,
): void {
  const response = { 204: z.null().describe('Done'), ...problems };
  const schema = { tags: [tag], operationId, summary, params, response };
  api.post(
    `/runs/:runId${path}`,
    {
      ...(isLarge === true ? largeBody : {}),
      schema: body === undefined ? schema : { ...schema, body },
    },
    async (request: FastifyRequest, reply) => {
      // Both have passed their schemas.
      const given = {
        params: request.params as z.output<Params>,
        body: request.body as z.output<Body>,
      };
      const { run } = await visibleRun(world, request.token, given.params.runId);
      const said = z.looseObject({ by: z.string() }).safeParse(request.body).data?.by;
      await act(run, { ...given, by: actorOf(request.token, said) });
      return reply.code(204).send(null);
    },
  );
}

/** Approve, edit, reject, answer. */
export function decisionRoutes(api: Api, world: RouteWorld): void {
  const approval = '/approvals/:approvalId';
  const ofApproval = { tag: 'Decide', params: approvalParams } as const;
  addAction(api, world, {
    ...ofApproval,
    path: `${approval}/approve`,
    operationId: 'approve',
    summary: 'Let an action run exactly as it was shown',
    body: approveBody,
    act: (run, { params, body: { digest }, by }) =>
      run.approve(params.approvalId, { digest, ...by }),
  });
  addAction(api, world, {
    ...ofApproval,
    path: `${approval}/edit`,
    operationId: 'edit',
    summary: 'Let an action run with other arguments; the model reads about them',
    body: editBody,
    // JSON as it came; the client checks its size, and the workers check it against the tool's schema.
    act: (run, { params, body: { digest, input }, by }) =>
      run.approve(params.approvalId, { digest, input: input as JsonObject, ...by }),
  });
  addAction(api, world, {
    ...ofApproval,
    path: `${approval}/reject`,
    operationId: 'reject',
    summary: 'Refuse an action; the model reads the reason',
    body: rejectBody,
    act: (run, { params, body: { digest, reason }, by }) =>
      run.reject(params.approvalId, reason, { digest, ...by }),
  });
  addAction(api, world, {
    path: '/questions/:questionId/answer',
    operationId: 'answer',
    summary: 'Answer a question of the agent, or let an escalated run go on',
    tag: 'Decide',
    params: questionParams,
    body: answerBody,
    isLarge: true,
    act: (run, { params, body, by }) => run.answer(params.questionId, body.answer, by),
  });
}

/** Message, escalate, stop, cancel. */
export function steerRoutes(api: Api, world: RouteWorld): void {
  const ofRun = { tag: 'Steer', params: runParams } as const;
  addAction(api, world, {
    ...ofRun,
    path: '/messages',
    operationId: 'addMessage',
    summary: 'Say something to the model, which reads it with its next call',
    body: messageBody,
    isLarge: true,
    act: (run, { body, by }) => run.addMessage(body.message, by),
  });
  addAction(api, world, {
    ...ofRun,
    path: '/escalate',
    operationId: 'escalate',
    summary: 'Hand the run to a person: it waits for an answer',
    body: reasonBody,
    act: (run, { body, by }) => run.escalate(body.reason, by),
  });
  addAction(api, world, {
    ...ofRun,
    path: '/stop',
    operationId: 'stop',
    summary: 'End the run with what it has so far',
    body: reasonBody,
    act: (run, { body, by }) => run.stop(body.reason, by),
  });
  addAction(api, world, {
    ...ofRun,
    path: '/cancel',
    operationId: 'cancel',
    summary: "Cancel the run by Temporal's own cancellation",
    act: (run) => run.cancel(),
  });
}
