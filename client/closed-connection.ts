/**
 * A request that waits for its next attempt when its connection closes fails like any other request.
 *
 * Temporal's retry interceptor tries again from a timer. On a closed channel grpc-js throws there, where nobody catches:
 * the process would end with "Channel has been shut down".
 */
import {
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
  type ConnectionOptions,
  type ConnectionPlugin,
} from '@temporalio/client';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
type Call = ReturnType<Interceptor>;

/** gRPC's CANCELLED, which nothing retries. */
const cancelled = 1;

/** A call that fails at once, with every method of a call that interceptors may use. */
function failedCall(thrown: unknown): Call {
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  const details = `The connection to Temporal is closed: ${reason}`;
  const start: Call['start'] = (metadata, listener) => {
    setImmediate(() => {
      listener?.onReceiveMessage?.(null);
      // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- The enum is grpc-js's, which is no package of ours.
      listener?.onReceiveStatus?.({ code: cancelled, details, metadata });
    });
  };
  const nothing = (): void => undefined;
  const call = {
    start,
    sendMessage: nothing,
    sendMessageWithContext: nothing,
    halfClose: nothing,
    cancelWithStatus: nothing,
    startRead: nothing,
    getPeer: () => 'closed',
    getAuthContext: () => null,
  };
  return call as unknown as Call;
}

const failWhereClosed: Interceptor = (options, nextCall) => {
  try {
    // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- The class is grpc-js's too.
    return nextCall(options) as Call;
  } catch (thrown) {
    return failedCall(thrown);
  }
};

/** For every connection that this package opens: `Connection.connect({ …, plugins: [closedConnection] })`. */
export const closedConnection: ConnectionPlugin = {
  name: 'holdfast-closed-connection',
  configureConnection: (options) => ({
    ...options,
    interceptors: [
      ...(options.interceptors ?? [makeGrpcRetryInterceptor(defaultGrpcRetryOptions())]),
      failWhereClosed,
    ],
  }),
};
