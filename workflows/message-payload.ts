/** What the worker's converters do. Decodes the payloads of a signal: the SDK would fail the workflow task over an undecodable payload, again and again. */
import type { RawValue, TypeInfo } from '@temporalio/common';
import { rawValueTypeInfo } from '@temporalio/common';
import { getActivator } from '@temporalio/workflow/lib/global-attributes';

/** Whether the worker encodes the messages of failures: then nothing else that is readable to all may hold content, either. */
export function encodesFailures(): boolean {
  const { options } = getActivator().failureConverter as {
    readonly options?: { readonly encodeCommonAttributes?: boolean };
  };
  return options?.encodeCommonAttributes === true;
}

/** Payloads of one message that are left alone; our own messages have one. */
const maxPayloads = 64;

/** Leaves the payloads of a message encoded until its handler runs. */
export const leftRaw: { readonly inputTypes: readonly TypeInfo[] } = {
  inputTypes: Array.from({ length: maxPayloads }, () => rawValueTypeInfo),
};

/**
 * The value of a payload, by the worker's own payload converter; undefined if it cannot be read: an unknown encoding, such
 * as that of a codec which only the sender has, or data that is not what its encoding says.
 */
export function readPayload(raw: RawValue | undefined): unknown {
  if (raw === undefined) return undefined;
  try {
    return getActivator().payloadConverter.fromPayload<unknown>(raw.payload);
  } catch {
    return undefined;
  }
}
