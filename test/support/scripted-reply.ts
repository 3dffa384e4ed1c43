/** A scripted model's reply: what the model call's activity makes of it. */
import type { AgentError } from '../../workflows/core/failure';
import { shortHash } from '../../workflows/core/errors/fingerprint';
import type { JsonObject } from '../../workflows/core/json';
import type { AssistantMessage } from '../../workflows/core/message';
import type { CallLikeness, ProposedToolCall } from '../../workflows/core/tools/ports';
import type {
  CallModelInput,
  CallModelResult,
  StopReason,
} from '../../workflows/core/model-call/ports';

/** A tool call that the scripted model makes. */
export interface ScriptedCall {
  readonly name: string;
  readonly input?: JsonObject;
  /** The input is too long to travel inline. */
  readonly byReference?: boolean;
  readonly error?: AgentError;
  /** A refused call in the model's own words. */
  readonly said?: string;
  readonly needsApproval?: boolean;
  readonly editedFile?: string;
  readonly alike?: CallLikeness;
  /** Uses of privileged parameters. */
  readonly privileged?: readonly string[];
}

/** A reply of the scripted model; a plain answer if it makes no call. */
export interface ScriptedReply {
  readonly stopReason?: StopReason;
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  readonly error?: AgentError;
  /** The error is a call that was written as text. */
  readonly wroteCall?: true;
  /** The request offered `read_output`. */
  readonly offersReadOutput?: true;
  readonly healedRetries?: readonly string[];
  /** Tokens of the request as the vendor counted. Default: ten a message, of which the run learns nothing. */
  readonly contextTokens?: number;
}

/** The calls that a reply proposes, and why it stopped. */
export function callsOf(
  input: CallModelInput,
  { calls = [], stopReason = calls.length > 0 ? 'tool-use' : 'end' }: ScriptedReply,
): Pick<CallModelResult, 'stopReason' | 'toolCalls'> {
  const runs = stopReason === 'end' || stopReason === 'tool-use';
  const toolCalls = runs ? calls.map((call, index) => proposed(input, call, index)) : [];
  return { stopReason, toolCalls };
}

function proposed(input: CallModelInput, call: ScriptedCall, index: number): ProposedToolCall {
  const toolCallId = `${input.idPrefix}_${input.iteration}_${index}`;
  return {
    toolCallId,
    name: call.name,
    ...(call.error === undefined
      ? call.byReference === true
        ? { inputBlob: 'input-blob' }
        : { input: call.input ?? {} }
      : { error: call.error, ...(call.said === undefined ? {} : { said: call.said }) }),
    ...(call.editedFile === undefined ? {} : { editedFile: call.editedFile }),
    ...(call.alike === undefined ? {} : { alike: call.alike }),
    ...(call.needsApproval === true ? { approvalDigest: `digest-${toolCallId}` } : {}),
    ...(call.privileged === undefined
      ? {}
      : {
          privileged: {
            digest: `digest-${toolCallId}`,
            parameters: call.privileged.map((use) => ({ name: use.slice(0, 5), use })),
          },
        }),
    fingerprint: shortHash(`${call.name} ${JSON.stringify(call.input ?? {})}`),
  };
}

/** What the model call's activity keeps of a reply. */
export function keptMessage(
  input: CallModelInput,
  stopReason: StopReason,
  text: string,
  calls: readonly ProposedToolCall[],
  error: AgentError | undefined,
): AssistantMessage | undefined {
  if (stopReason !== 'end' && stopReason !== 'tool-use' && stopReason !== 'pause') return undefined;
  if (error !== undefined) return undefined;
  if (calls.length > 0 && calls.every((call) => call.error !== undefined)) return undefined;
  const blocks: AssistantMessage['blocks'] = [
    ...(text.trim() === '' ? [] : [{ type: 'text', text } as const]),
    ...calls.map(
      ({ toolCallId, name, input: given }) =>
        ({ type: 'tool-call', toolCallId, name, input: given ?? {} }) as const,
    ),
  ];
  if (blocks.length === 0) return undefined;
  return { role: 'assistant', vendor: 'scripted', model: `route-${input.routeIndex}`, blocks };
}
