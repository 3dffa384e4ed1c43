/** Turns what Temporal's client throws into a `ClientError` that says what to do. */
import {
  isGrpcServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import {
  ApplicationFailure,
  NamespaceNotFoundError,
  ValueError,
  WorkflowNotFoundError,
} from '@temporalio/common';
import { ClientError, reasonOf } from './client-error';

/** The gRPC status codes that the client distinguishes. */
const grpcCodes = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** What was being done, for the message. */
export interface Undertaking {
  readonly address: string;
  readonly namespace: string;
  /** Workflow id. */
  readonly runId?: string;
}

/** What was thrown, its cause, the cause of that, and so on. */
function causesOf(thrown: unknown, depth = 0): readonly unknown[] {
  if (!(thrown instanceof Error) || thrown.cause === undefined || depth >= 5) return [thrown];
  return [thrown, ...causesOf(thrown.cause, depth + 1)];
}

function grpcCodeOf(thrown: unknown): number | undefined {
  return causesOf(thrown).find(isGrpcServiceError)?.code;
}

/** Whether an answer was larger than this connection takes (gRPC: 4 MB unless it says otherwise). */
export function isTooLarge(thrown: unknown): boolean {
  return grpcCodeOf(thrown) === grpcCodes.resourceExhausted;
}

/** Whether the server did not answer in time. */
export function isDeadlineExceeded(thrown: unknown): boolean {
  return (
    thrown instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    grpcCodeOf(thrown) === grpcCodes.deadlineExceeded
  );
}

/** Whether the server refuses an update because the workflow's tasks fail. */
export function isTaskFailing(thrown: unknown): boolean {
  return grpcCodeOf(thrown) === grpcCodes.failedPrecondition;
}

/**
 * Whether the server refused an update because a workflow task ended without mentioning it.
 *
 * No workflow code has seen it, so it may be sent again. It happens now and then, when many updates arrive at once.
 * Source of the type: the server's `service/history/workflow/update/errors_failures.go`.
 */
export function isUnprocessed(thrown: unknown): boolean {
  return causesOf(thrown).some(
    (cause) => cause instanceof ApplicationFailure && cause.type === 'UnprocessedUpdate',
  );
}

/** Whether the workflow or one run of it is unknown, has ended, or is past its retention. */
export function isNotFound(thrown: unknown): boolean {
  return thrown instanceof WorkflowNotFoundError || grpcCodeOf(thrown) === grpcCodes.notFound;
}

/** The innermost message: the server's or the workflow's own words. */
function innermost(thrown: unknown): string {
  const error = causesOf(thrown).findLast((cause) => cause instanceof Error) ?? thrown;
  return isGrpcServiceError(error) ? error.details : reasonOf(error);
}

/** Nobody answers there. */
export function unreachable(
  { address }: Pick<Undertaking, 'address'>,
  thrown: unknown,
): ClientError {
  return new ClientError(
    'unreachable',
    `Temporal does not answer at ${address}: ${innermost(thrown)}. Start a server there, or give another address (TEMPORAL_ADDRESS, with TEMPORAL_TLS=true if it wants TLS).`,
    { cause: thrown },
  );
}

/** The data converter of this client cannot read what the workers wrote. */
export function unreadableHistory(runId: string, thrown: unknown): ClientError {
  return new ClientError(
    'converter-mismatch',
    `The history of "${runId}" cannot be read here: ${reasonOf(thrown)}. Give connect() the encryption or dataConverter of its workers (for commands: HOLDFAST_ENCRYPTION_KEYS or HOLDFAST_DATA_CONVERTER), and use their release of Holdfast.`,
    { cause: thrown },
  );
}

/** Does what reads a history that is already here. Errors: `ClientError` for one that holds what no run of this release writes. */
export function readingHistory<Result>(runId: string, work: () => Result): Result {
  try {
    return work();
  } catch (thrown) {
    throw thrown instanceof ClientError ? thrown : unreadableHistory(runId, thrown);
  }
}

/** What failed where memos are decoded: the server's own words, or that this client cannot read what `of` has. */
export function decodingFailure(of: string, thrown: unknown): unknown {
  const isOfServer = isNotFound(thrown) || grpcCodeOf(thrown) !== undefined;
  if (isOfServer || thrown instanceof NamespaceNotFoundError) return thrown;
  return unreadableHistory(of, thrown);
}

/** Whether it is what the SDK says of a payload in an encoding that no converter of the client has, or what `createEncryption`'s codec does. */
function isUnreadable(thrown: unknown): boolean {
  if (thrown instanceof ValueError) return thrown.message.startsWith('Unknown encoding');
  return thrown instanceof Error && thrown.name === 'EncryptionKeyError';
}

/** Reads what was thrown; a `ClientError` and what nobody can explain stay as they are. */
export function asClientError(thrown: unknown, undertaking: Undertaking): unknown {
  if (thrown instanceof ClientError) return thrown;
  const { namespace, runId } = undertaking;
  if (thrown instanceof WorkflowExecutionAlreadyStartedError)
    return new ClientError(
      'run-exists',
      `There is a run "${thrown.workflowId}" already. Choose another id (runId, --id), or in code ask for the existing run (ifExists: 'use').`,
      { cause: thrown },
    );
  if (thrown instanceof WorkflowUpdateFailedError)
    return new ClientError('refused', innermost(thrown), { cause: thrown });
  if (isUnreadable(thrown)) return unreadableHistory(runId ?? namespace, thrown);
  const isNamespace = thrown instanceof NamespaceNotFoundError;
  if (isNamespace || isNotFound(thrown))
    return isNamespace || runId === undefined
      ? new ClientError(
          'unreachable',
          `Temporal at ${undertaking.address} has no namespace "${namespace}". Give another (TEMPORAL_NAMESPACE), or create it: \`temporal operator namespace create --namespace ${namespace}\`.`,
          { cause: thrown },
        )
      : new ClientError(
          'run-not-found',
          `There is no run "${runId}" in namespace "${namespace}" (or its retention is over). \`holdfast list\` shows the runs.`,
          { cause: thrown },
        );
  return fromGrpc(thrown, undertaking);
}

function fromGrpc(thrown: unknown, undertaking: Undertaking): unknown {
  const said = innermost(thrown);
  const code: number = grpcCodeOf(thrown) ?? 0;
  switch (code) {
    case grpcCodes.unavailable:
    case grpcCodes.deadlineExceeded:
    case grpcCodes.resourceExhausted:
      return unreachable(undertaking, thrown);
    case grpcCodes.permissionDenied:
    case grpcCodes.unauthenticated:
      return new ClientError(
        'unreachable',
        `Temporal at ${undertaking.address} refused the credentials for namespace "${undertaking.namespace}": ${said}. Check TEMPORAL_API_KEY, TEMPORAL_TLS_* and TEMPORAL_NAMESPACE.`,
        { cause: thrown },
      );
    case grpcCodes.invalidArgument:
      return /search attribute|Holdfast(Status|Agent|Provider|Reason|Iteration)/i.test(said)
        ? new ClientError(
            'setup-needed',
            `Namespace "${undertaking.namespace}" does not know Holdfast's search attributes (${said}). Run \`holdfast setup\` once, or connect with searchAttributes: false.`,
            { cause: thrown },
          )
        : new ClientError('invalid-input', `Temporal refused the request: ${said}`, {
            cause: thrown,
          });
    default:
      return thrown;
  }
}
