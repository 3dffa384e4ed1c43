/** The activity `callModel`: appends what is pending, sends one request, checks the reply and stores it. */
import { Context } from '@temporalio/activity';
import type { CallModelInput, CallModelResult } from '../workflows/core/ports';
import { decideRetry, retryNudge } from '../workflows/core/stream-recovery';
import type { ActivityDeps, RunDefinition } from './activity-deps';
import { loadDefinition, storeOf } from './activity-deps';
import { interruption, withHeartbeat } from './activity-lifecycle';
import type { AttemptMemory } from './attempt-memory';
import { freshMemory, memoryTextChars, readMemory } from './attempt-memory';
import { applicationFailure } from './error-mapping';
import { InfraException } from './infra-exception';
import { appendPending } from './pending-results';
import type { ModelReply, ModelRequest, Provider } from './providers/provider';
import { renderTextProtocolRequest } from './providers/text-tool-protocol';
import { takeReply } from './reply-intake';

function providerOf(deps: ActivityDeps, name: string): Provider {
  const provider = deps.catalog.provider(name);
  if (provider !== undefined) return provider;
  throw new InfraException({
    code: 'config_invalid',
    message: `This worker has no provider "${name}", which the run's chain names. Deploy a worker that has it.`,
  });
}

function noteOf(input: CallModelInput, memory: AttemptMemory): string | undefined {
  const lastFailure = memory.failures.at(-1);
  const nudge = lastFailure === undefined ? undefined : retryNudge(lastFailure, memory.partialText);
  const parts = [input.note, nudge].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join('\n\n');
}

function requestOf(
  input: CallModelInput,
  { prompt }: RunDefinition,
  messages: ModelRequest['messages'],
  memory: AttemptMemory,
): ModelRequest {
  const { route } = input;
  const note = noteOf(input, memory);
  const request: ModelRequest = {
    model: route.model,
    system: prompt.system,
    messages,
    tools: prompt.tools,
    maxOutputTokens: input.maxOutputTokens ?? route.maxOutputTokens,
    ...(note === undefined ? {} : { note }),
    ...(route.temperature === undefined ? {} : { temperature: route.temperature }),
  };
  return route.toolProtocol === 'text' ? renderTextProtocolRequest(request) : request;
}

/** Fails the attempt as the recovery policy says: repeated by Temporal after a delay, or handed to the core. */
function failAttempt(
  provider: Provider,
  thrown: unknown,
  memory: AttemptMemory,
  input: CallModelInput,
  remember: (memory: AttemptMemory) => void,
  partialText: string,
): never {
  const interrupted = interruption();
  if (interrupted !== undefined) throw interrupted;
  const failure =
    thrown instanceof InfraException ? thrown.failure : provider.classifyError(thrown);
  const named = { ...failure, route: `${input.route.provider}/${input.route.model}` };
  const decision = decideRetry(named, memory.failures.length, input.timing);
  if (decision.type === 'give-up') throw applicationFailure(named);
  remember({ failures: [...memory.failures, named.code], partialText });
  throw applicationFailure(named, { delayMs: decision.delayMs });
}

/** What a send says while it runs. */
interface Sending {
  /** Head of the text so far. */
  partialText: string;
  memory: AttemptMemory;
}

async function send(
  provider: Provider,
  request: ModelRequest,
  input: CallModelInput,
  sending: Sending,
): Promise<ModelReply> {
  const context = Context.current();
  const { firstByteMs, betweenBytesMs } = input.timing;
  try {
    return await provider.send(request, {
      signal: context.cancellationSignal,
      firstByteMs,
      betweenBytesMs,
      onText: (text) => {
        sending.partialText = (sending.partialText + text).slice(-memoryTextChars);
      },
    });
  } catch (thrown) {
    return failAttempt(
      provider,
      thrown,
      sending.memory,
      input,
      (memory) => {
        sending.memory = memory;
        context.heartbeat(memory);
      },
      sending.partialText,
    );
  }
}

/**
 * Calls the model once; Temporal repeats the attempt where `decideRetry` says so.
 *
 * Contract: exactly one HTTP request per attempt; nothing of a broken reply is stored.
 * Errors: ApplicationFailure whose type is a failover reason or a system failure code.
 */
export async function callModel(
  deps: ActivityDeps,
  input: CallModelInput,
): Promise<CallModelResult> {
  const memory = readMemory(Context.current().info.heartbeatDetails ?? freshMemory);
  const sending: Sending = { partialText: '', memory };
  return withHeartbeat(
    () => sending.memory,
    async () => {
      const store = storeOf(deps, input.storeId);
      const definition = await loadDefinition(deps, input.definition);
      const provider = providerOf(deps, input.route.provider);
      const headBefore = await appendPending(store, input);
      const messages = await store.loadTranscript(headBefore);
      const request = requestOf(input, definition, messages, memory);
      const reply = await send(provider, request, input, sending);
      const result = await takeReply(store, definition.agent, input, {
        reply,
        headBefore,
        vendor: provider.vendor,
      });
      return memory.failures.length === 0 ? result : { ...result, healedRetries: memory.failures };
    },
  );
}
