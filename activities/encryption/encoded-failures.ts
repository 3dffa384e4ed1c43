/** Failures whose message and stack are payloads, so that a codec encrypts them. The SDK loads this file by its path, in workflows too. */
import { DefaultFailureConverter } from '@temporalio/common';

/** The name that the SDK looks for. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
