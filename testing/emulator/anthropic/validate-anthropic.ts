/** What Anthropic refuses on the Messages wire, in its own words where public reports quote them. */
import type { JsonObject, JsonValue } from '../../../workflows/core/json';
import {
  contentProblems,
  isToolBlock,
  messagesWithBlocks,
  type PlacedMessage,
} from './validate-anthropic-content';
import { refusesAdaptiveThinking, refusesFixedThinking } from './claude-models';
import { isList, isObject, listOf, numberOf, objectOf, stringOf } from '../json-read';
import type { VendorError } from '../step';
import type { ValidationContext } from '../wire';

/** Top-level fields that the API knows (API reference; the SDK's `MessageCreateParams`). */
const knownFields: readonly string[] = [
  'model',
  'messages',
  'max_tokens',
  'system',
  'tools',
  'tool_choice',
  'stream',
  'stop_sequences',
  'metadata',
  'thinking',
  'service_tier',
  'container',
  'context_management',
  'mcp_servers',
  'output_config',
  'output_format',
  'inference_geo',
  'cache_control',
  'diagnostics',
  'speed',
  'user_profile_id',
  'workspace_id',
];

/** Sampling fields, which API version 2026-10-21 refuses even at their defaults (vendor's migration guide). */
const samplingFields: readonly string[] = ['temperature', 'top_p', 'top_k'];
const versionWithoutSampling = '2026-10-21';

/** Most cache breakpoints per request (prompt caching guide). */
const maxBreakpoints = 4;
/** Smallest thinking budget (extended thinking guide). */
const minThinkingTokens = 1024;
const toolName = /^[a-zA-Z0-9_-]{1,128}$/;
const thinkingGuide =
  'Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking';

type Problems = Generator<string>;

function* fieldProblems(body: JsonObject, { counts, headers }: ValidationContext): Problems {
  const isNew = headers['anthropic-version'] === versionWithoutSampling;
  const known = isNew ? knownFields : [...knownFields, ...samplingFields];
  for (const field of ['model', ...(counts ? [] : ['max_tokens']), 'messages']) {
    if (body[field] === undefined) yield `${field}: Field required`;
  }
  for (const field of Object.keys(body)) {
    if (!known.includes(field)) yield `${field}: Extra inputs are not permitted`;
  }
  if (typeof body['model'] !== 'string') yield 'model: Input should be a valid string';
  yield* numberProblems(body, counts);
}

function* numberProblems(body: JsonObject, counts: boolean): Problems {
  const maxTokens = numberOf(body['max_tokens']);
  if (!counts && (maxTokens === undefined || !Number.isInteger(maxTokens))) {
    yield 'max_tokens: Input should be a valid integer';
  }
  if (maxTokens !== undefined && maxTokens < 1) {
    yield 'max_tokens: Input should be greater than or equal to 1';
  }
  const temperature = numberOf(body['temperature']) ?? 1;
  if (temperature < 0 || temperature > 1) yield 'temperature: range: 0..1';
}

function* roleProblems(messages: JsonValue | undefined): Problems {
  if (!isList(messages)) {
    yield 'messages: Input should be a valid list';
    return;
  }
  if (messages.length === 0) yield 'messages: at least one message is required';
  for (const [index, entry] of messages.entries()) {
    const message = objectOf(entry);
    const role = stringOf(message['role']);
    if (role === 'system') {
      yield "role 'system' is not supported on this model";
    }
    if (role !== 'user' && role !== 'assistant') {
      yield `messages.${index}.role: Input should be 'user' or 'assistant'`;
    }
    const extra = Object.keys(message).find((key) => key !== 'role' && key !== 'content');
    if (extra !== undefined) yield `messages.${index}.${extra}: Extra inputs are not permitted`;
  }
  if (objectOf(messages[0])['role'] !== 'user') {
    yield 'messages: first message must use the "user" role';
  }
  if (objectOf(messages.at(-1))['role'] === 'assistant') {
    yield 'This model does not support assistant message prefill. The conversation must end with a user message.';
  }
}

function* pairingProblems(messages: readonly PlacedMessage[]): Problems {
  const seen = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const calls = message.blocks.filter((block) => block.type === 'tool_use');
    for (const call of calls) {
      const id = stringOf(call.block['id']);
      if (seen.has(id)) yield `${call.place}: \`tool_use\` ids must be unique`;
      seen.add(id);
    }
    const previous = messages[index - 1];
    yield* resultProblems(message, previous);
    const answered = leadingResultIds(messages[index + 1]);
    const missing = calls
      .map((call) => stringOf(call.block['id']))
      .filter((id) => !answered.includes(id));
    if (missing.length > 0) {
      yield (
        `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. ` +
        'Each `tool_use` block must have a corresponding `tool_result` block in the next message.'
      );
    }
  }
}

/** Results count only where they come before any other content of their message. */
function leadingResultIds(message: PlacedMessage | undefined): readonly string[] {
  if (message?.role !== 'user') return [];
  const first = message.blocks.findIndex((block) => block.type !== 'tool_result');
  const results = first < 0 ? message.blocks : message.blocks.slice(0, first);
  return results.map((result) => stringOf(result.block['tool_use_id']));
}

function* resultProblems(message: PlacedMessage, previous: PlacedMessage | undefined): Problems {
  const called = (previous?.blocks ?? [])
    .filter((block) => block.type === 'tool_use')
    .map((block) => stringOf(block.block['id']));
  const answered = new Set<string>();
  for (const { block, place, type } of message.blocks) {
    if (type !== 'tool_result') continue;
    const id = stringOf(block['tool_use_id']);
    if (!called.includes(id)) {
      yield (
        `${place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
        'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.'
      );
    }
    if (answered.has(id)) {
      yield `${place}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`;
    }
    answered.add(id);
  }
}

function* budgetProblems(body: JsonObject, budget: number | undefined): Problems {
  if (budget === undefined) {
    yield 'thinking.enabled.budget_tokens: Field required';
    return;
  }
  if (budget < minThinkingTokens) {
    yield `thinking.enabled.budget_tokens: Input should be greater than or equal to ${minThinkingTokens}`;
  }
  if ((numberOf(body['max_tokens']) ?? 0) <= budget) {
    yield `\`max_tokens\` must be greater than \`thinking.budget_tokens\`. ${thinkingGuide}`;
  }
  if ((numberOf(body['temperature']) ?? 1) !== 1) {
    yield `\`temperature\` may only be set to 1 when thinking is enabled. ${thinkingGuide}`;
  }
}

function* bindingProblems(
  thinking: JsonObject,
  headers: Readonly<Record<string, string>>,
): Problems {
  const betas = headers['anthropic-beta'] ?? '';
  if (thinking['block_binding'] !== undefined && !betas.includes('thinking-binding-controls')) {
    yield 'thinking.block_binding: Extra inputs are not permitted';
  }
}

function* thinkingProblems(
  body: JsonObject,
  messages: readonly PlacedMessage[],
  headers: Readonly<Record<string, string>>,
): Problems {
  const thinking = objectOf(body['thinking']);
  const model = stringOf(body['model']);
  if (thinking['type'] === 'adaptive' && refusesAdaptiveThinking(model)) {
    yield 'adaptive thinking is not supported on this model';
  }
  if (thinking['type'] === 'enabled' && refusesFixedThinking(model)) {
    yield '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.';
  }
  yield* bindingProblems(thinking, headers);
  if (thinking['type'] !== 'enabled') return;
  yield* budgetProblems(body, numberOf(thinking['budget_tokens']));
  const index = messages.findLastIndex((message) => message.role === 'assistant');
  const first = messages[index]?.blocks[0];
  const isOpen = messages[index]?.blocks.some((block) => block.type === 'tool_use') === true;
  if (first !== undefined && isOpen && !first.type.endsWith('thinking')) {
    yield (
      `${first.place}.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.type}\`. ` +
      'When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). ' +
      `We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`. ${thinkingGuide}`
    );
  }
}

function* schemaProblems(schema: JsonValue | undefined, place: string): Problems {
  if (!isObject(schema)) {
    yield `${place}: Field required`;
    return;
  }
  if (schema['type'] === undefined) yield `${place}.type: Field required`;
  if (schema['type'] !== 'object') yield `${place}.type: Input should be 'object'`;
  if (['oneOf', 'allOf', 'anyOf'].some((key) => schema[key] !== undefined)) {
    yield `${place}: input_schema does not support oneOf, allOf, or anyOf at the top level`;
  }
}

function* toolProblems(body: JsonObject): Problems {
  const tools = listOf(body['tools']).map(objectOf);
  for (const [index, tool] of tools.entries()) {
    if ((tool['type'] ?? 'custom') !== 'custom') continue;
    const place = `tools.${index}.custom`;
    if (tool['name'] === undefined) yield `${place}.name: Field required`;
    if (!toolName.test(stringOf(tool['name']))) {
      yield `${place}.name: String should match pattern '${toolName.source}'`;
    }
    yield* schemaProblems(tool['input_schema'], `${place}.input_schema`);
  }
  const names = tools.map((tool) => stringOf(tool['name']));
  if (new Set(names).size < names.length) yield 'tools: Tool names must be unique.';
  const choice = objectOf(body['tool_choice']);
  if (choice['type'] === 'tool' && !names.includes(stringOf(choice['name']))) {
    yield `Tool '${stringOf(choice['name'])}' not found in provided tools`;
  }
}

function countBreakpoints(value: JsonValue | undefined): number {
  if (isList(value)) return value.reduce<number>((sum, each) => sum + countBreakpoints(each), 0);
  if (!isObject(value)) return 0;
  const own = isObject(value['cache_control']) ? 1 : 0;
  return own + countBreakpoints(value['content']);
}

function* cacheProblems(body: JsonObject): Problems {
  const found =
    countBreakpoints(body['tools']) +
    countBreakpoints(body['system']) +
    countBreakpoints(body['messages']);
  if (found > maxBreakpoints) {
    yield `A maximum of ${maxBreakpoints} blocks with cache_control may be provided. Found ${found}.`;
  }
}

function* ownerProblems(messages: readonly PlacedMessage[]): Problems {
  const misplaced = messages
    .flatMap((message) => message.blocks.map((block) => ({ ...block, role: message.role })))
    .find((block) => isToolBlock(block.type) && block.role !== ownerOf(block.type));
  if (misplaced !== undefined) {
    yield `${misplaced.place}: \`${misplaced.type}\` blocks can only be in \`${ownerOf(misplaced.type)}\` messages`;
  }
}

function* allProblems(body: JsonObject, context: ValidationContext): Problems {
  yield* fieldProblems(body, context);
  yield* roleProblems(body['messages']);
  yield* toolProblems(body);
  yield* contentProblems(body, context);
  const messages = messagesWithBlocks(body);
  yield* ownerProblems(messages);
  yield* pairingProblems(messages);
  yield* thinkingProblems(body, messages, context.headers);
  yield* cacheProblems(body);
}

function ownerOf(type: string): string {
  return type === 'tool_use' ? 'assistant' : 'user';
}

/** The vendor's refusal of a request body, or nothing. */
export function validateAnthropic(
  body: JsonObject,
  context: ValidationContext,
): VendorError | undefined {
  for (const message of allProblems(body, context)) return { status: 400, message };
  return undefined;
}
