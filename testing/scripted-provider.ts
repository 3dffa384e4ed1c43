/** A provider without a network, for tests and benchmarks of agents: answers from a script, and refuses to improvise. */
import { InfraException } from '../activities/lifecycle/infra-exception';
import type { ModelReply, ModelRequest, Provider } from '../activities/providers/provider';
import type { InfraError } from '../workflows/core/failure';
import { noUsage } from '../workflows/core/budget/spend';

/** One piece of the model's reply: text, or tool calls. */
type ScriptedReply =
  | { readonly text: string }
  | { readonly toolCalls: readonly { readonly name: string; readonly input: object }[] };

/** What a request is answered with: a reply, or a failure of the provider. */
export type ScriptedStep = ScriptedReply | { readonly failure: Omit<InfraError, 'kind'> };

/** A provider that follows a script and counts its requests. */
export interface ScriptedProvider extends Provider {
  readonly requests: readonly ModelRequest[];
  /** Throws if steps are left. */
  assertDrained(): void;
}

function replyOf(model: string, step: ScriptedReply): ModelReply {
  const isText = 'text' in step;
  return {
    model,
    blocks: isText ? [{ type: 'text', text: step.text }] : [],
    toolCalls: isText
      ? []
      : step.toolCalls.map((call, index) => ({
          vendorId: `scripted_${index}`,
          name: call.name,
          argumentsText: JSON.stringify(call.input),
        })),
    stopReason: isText ? 'end' : 'tool-use',
    usage: noUsage,
  };
}

function unplanned(index: number): InfraException {
  return new InfraException({
    code: 'config_invalid',
    message: `The script has no step for request ${index + 1}. Plan one, or find out why it was sent.`,
  });
}

/**
 * Makes a provider that answers in the order of its script, or by a rule.
 *
 * Contract: an unplanned request fails the run; call `assertDrained` at the end of a test.
 */
export function scriptedProvider(
  name: string,
  script: readonly ScriptedStep[] | ((request: ModelRequest, index: number) => ScriptedStep),
): ScriptedProvider {
  const requests: ModelRequest[] = [];
  const stepAt = (request: ModelRequest, index: number): ScriptedStep | undefined =>
    typeof script === 'function' ? script(request, index) : script[index];
  return {
    name,
    vendor: name,
    requests,
    problem: () => undefined,
    // An agent under test keeps the settings of its real routes.
    routeProblem: () => undefined,
    send: (request) => {
      const index = requests.length;
      requests.push(request);
      const step = stepAt(request, index);
      if (step === undefined) return Promise.reject(unplanned(index));
      if ('failure' in step) return Promise.reject(new InfraException(step.failure));
      return Promise.resolve(replyOf(request.model, step));
    },
    classifyError: (thrown) => ({
      kind: 'infra',
      code: 'unknown',
      message: thrown instanceof Error ? thrown.message : String(thrown),
    }),
    assertDrained: () => {
      if (typeof script !== 'function' && requests.length < script.length)
        throw new Error(`${script.length - requests.length} steps of ${name} were never asked for`);
    },
  };
}
