/** What Anthropic refuses on the Messages wire, in its own words where public reports quote them. */
import type { JsonObject, JsonValue } from '../../../workflows/core/json';
import { pdfPages, pngEdge } from '../media-rules';
import { blocksOf, isList, isObject, listOf, numberOf, objectOf, stringOf } from '../json-read';
import type { VendorError } from '../step';
import type { ValidationContext } from '../wire';
import { shapeProblems } from './anthropic-shapes';
import {
  hasPreservedThinking,
  refusesAdaptiveThinking,
  refusesEffort,
  refusesFixedThinking,
} from './claude-models';
import { anthropicStrictProblem, askedForm } from '../strict-schemas';
import { checkThinking, prefixOf } from './thinking-seal';

/** A content block and its position. */
interface PlacedBlock {
  readonly type: string;
  readonly block: JsonObject;
  /** `messages.2.content.0` */
  readonly place: string;
}

/** A message as placed blocks. */
interface PlacedMessage {
  readonly role: string;
  readonly blocks: readonly PlacedBlock[];
}

/** Images and documents per request (vision guide). */
const maxImages = 100;
/** Pages of PDFs per request (PDF guide; anthropics/claude-code#6231). */
const maxPages = 100;
/** Pixels of an image's longer side if a request has more than this many images (vision guide). */
const manyImagesEdge = 2_000;
const manyImages = 20;
/** Most cache breakpoints per request (prompt caching guide). */
const maxBreakpoints = 4;
const thinkingGuide =
  'Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking';

type Problems = Generator<string>;

/** All messages of a request as placed blocks. */
function messagesWithBlocks(body: JsonObject): readonly PlacedMessage[] {
  return listOf(body['messages']).map((entry, index) => ({
    role: stringOf(objectOf(entry)['role']),
    blocks: blocksOf(objectOf(entry)['content']).map((block, place) => ({
      type: stringOf(block['type']),
      block,
      place: `messages.${index}.content.${place}`,
    })),
  }));
}

function* roleProblems(messages: readonly PlacedMessage[]): Problems {
  if (messages[0]?.role !== 'user') yield 'messages: first message must use the "user" role';
  const last = messages.at(-1);
  if (last?.role === 'assistant' && openServerUse(last) === undefined) {
    yield 'This model does not support assistant message prefill. The conversation must end with a user message.';
  }
}

/** A use of the vendor's own tool whose result is not in the message: the vendor paused there, and continues from it. */
function openServerUse({ blocks }: PlacedMessage): JsonObject | undefined {
  const answered = blocks.map(({ block }) => stringOf(block['tool_use_id']));
  return blocks.find(
    ({ type, block }) => type === 'server_tool_use' && !answered.includes(stringOf(block['id'])),
  )?.block;
}

/** anthropics/anthropic-sdk-python#1339. */
function* serverToolProblems(messages: readonly PlacedMessage[]): Problems {
  for (const [index, message] of messages.slice(0, -1).entries()) {
    const open = openServerUse(message);
    if (open === undefined) continue;
    const [name, id] = [stringOf(open['name']), stringOf(open['id'])];
    yield `messages.${index}: \`${name}\` tool use with id \`${id}\` was found without a corresponding \`${name}_tool_result\` block`;
  }
}

function* blockProblems({ type, block, place }: PlacedBlock, role: string): Problems {
  const owner = { tool_use: 'assistant', tool_result: 'user' }[type];
  if (owner !== undefined && owner !== role)
    yield `${place}: \`${type}\` blocks can only be in \`${owner}\` messages`;
  if (role === 'user' && listOf(block['citations']).length > 0)
    yield `${place}.text.citations: Citations are not permitted in \`user\` messages`;
  if (role === 'assistant' && type === 'document')
    yield `${place}: \`document\` blocks are not permitted in \`assistant\` messages`;
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

/** Results count only if they precede any other content of their message. */
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

/** What the checks of one message's blocks need to know. */
interface MessageScope {
  readonly context: ValidationContext;
  /** Hash of everything before the message, if the model binds its thinking to it. */
  readonly boundPrefix: () => string | undefined;
  /** Tool calls before the block in its message. */
  readonly callsBefore: number;
  /** The vendor compares the places of thoughts only here. */
  readonly isLatestReply: boolean;
}

function* sealProblems({ block, place, type }: PlacedBlock, scope: MessageScope): Problems {
  const { context } = scope;
  if (type === 'redacted_thinking') {
    if (!context.seal.isSealed(stringOf(block['data']))) {
      yield `${place}: Invalid \`data\` in \`redacted_thinking\` block`;
    }
    return;
  }
  if (type !== 'thinking') return;
  const signature = stringOf(block['signature']);
  const prefix = scope.boundPrefix();
  const text = stringOf(block['thinking']);
  const { callsBefore } = scope;
  const verdict = checkThinking(signature, text, context.seal, prefix ?? '', callsBefore);
  if (verdict === 'moved' && scope.isLatestReply) {
    yield `${place}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`;
  }
  if (verdict === 'foreign') yield `${place}: Invalid \`signature\` in \`thinking\` block`;
  if (verdict === 'bound-elsewhere' && prefix !== undefined) {
    yield (
      `${place}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. ` +
      'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
    );
  }
}

function blocksOfType(blocks: readonly JsonObject[], type: string): readonly JsonObject[] {
  return blocks.flatMap((block) => {
    if (block['type'] === type) return [block];
    return isList(block['content']) ? blocksOfType(blocksOf(block['content']), type) : [];
  });
}

function* mediaProblems(blocks: readonly JsonObject[]): Problems {
  const images = blocksOfType(blocks, 'image');
  const documents = blocksOfType(blocks, 'document');
  if (images.length + documents.length > maxImages)
    yield `Too many images and documents: ${images.length} + ${documents.length} > ${maxImages}`;
  const pages = documents.map(({ source }) => pdfPages(stringOf(objectOf(source)['data'])) ?? 0);
  if (pages.reduce((sum, each) => sum + each, 0) > maxPages)
    yield `A maximum of ${maxPages} PDF pages may be provided.`;
  const isLarge = (image: JsonObject): boolean =>
    pngEdge(stringOf(objectOf(image['source'])['data'])) > manyImagesEdge;
  if (images.length > manyImages && images.some(isLarge))
    yield `At least one of the image dimensions exceed max allowed size for many-image requests: ${manyImagesEdge} pixels`;
}

/** True where thinking whose prefix has changed is refused and not dropped. */
function bindsThinking(body: JsonObject): boolean {
  const binding = objectOf(objectOf(body['thinking'])['block_binding']);
  const drops = binding['prefix_mismatch_behavior'] === 'drop_block';
  return hasPreservedThinking(stringOf(body['model'])) && !drops;
}

function* contentProblems(
  body: JsonObject,
  messages: readonly PlacedMessage[],
  context: ValidationContext,
): Problems {
  const latestReply = messages.findLastIndex(({ role }) => role === 'assistant');
  for (const [index, { role, blocks }] of messages.entries()) {
    const boundPrefix = (): string | undefined =>
      bindsThinking(body) ? prefixOf(body, index) : undefined;
    const isLatestReply = index === latestReply;
    let callsBefore = 0;
    for (const block of blocks) {
      yield* sealProblems(block, { context, boundPrefix, callsBefore, isLatestReply });
      if (block.type === 'tool_use') callsBefore += 1;
      yield* blockProblems(block, role);
    }
  }
  yield* mediaProblems(messages.flatMap(({ blocks }) => blocks.map(({ block }) => block)));
}

function* budgetProblems(body: JsonObject, budget: number): Problems {
  if ((numberOf(body['max_tokens']) ?? 0) <= budget)
    yield `\`max_tokens\` must be greater than \`thinking.budget_tokens\`. ${thinkingGuide}`;
  if ((numberOf(body['temperature']) ?? 1) !== 1)
    yield `\`temperature\` may only be set to 1 when thinking is enabled. ${thinkingGuide}`;
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
  yield* budgetProblems(body, numberOf(thinking['budget_tokens']) ?? 0);
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

function* outputProblems(body: JsonObject): Problems {
  const form = askedForm(body);
  const problem = form && anthropicStrictProblem(form);
  const { effort } = objectOf(body['output_config']);
  if (effort !== undefined && refusesEffort(stringOf(body['model'])))
    yield 'This model does not support the effort parameter.';
  if (problem !== undefined) yield `output_config.format.schema: ${problem}`;
  for (const [index, entry] of listOf(body['tools']).entries()) {
    const tool = objectOf(entry);
    if (tool['strict'] !== true) continue;
    const found = anthropicStrictProblem(objectOf(tool['input_schema']));
    if (found !== undefined) yield `tools.${index}.custom: ${found}`;
  }
}

function* toolProblems(body: JsonObject, messages: readonly PlacedMessage[]): Problems {
  const names = listOf(body['tools']).map((tool) => stringOf(objectOf(tool)['name']));
  if (new Set(names).size < names.length) yield 'tools: Tool names must be unique.';
  const choice = objectOf(body['tool_choice']);
  if (choice['type'] === 'tool' && !names.includes(stringOf(choice['name'])))
    yield `Tool '${stringOf(choice['name'])}' not found in provided tools`;
  const isToolBlock = ({ type }: { type: string }): boolean =>
    type === 'tool_use' || type === 'tool_result';
  if (names.length === 0 && messages.some(({ blocks }) => blocks.some(isToolBlock)))
    yield 'Requests which include `tool_use` or `tool_result` blocks must define tools.';
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

function* allProblems(body: JsonObject, context: ValidationContext): Problems {
  const messages = messagesWithBlocks(body);
  if (messages.some(({ role }) => role === 'system'))
    yield "role 'system' is not supported on this model";
  yield* shapeProblems(body, context);
  yield* roleProblems(messages);
  yield* toolProblems(body, messages);
  yield* outputProblems(body);
  yield* contentProblems(body, messages, context);
  yield* pairingProblems(messages);
  yield* serverToolProblems(messages);
  yield* thinkingProblems(body, messages, context.headers);
  yield* cacheProblems(body);
}

/** The vendor's refusal of a request body, or nothing. */
export function validateAnthropic(
  body: JsonObject,
  context: ValidationContext,
): VendorError | undefined {
  const [message] = allProblems(body, context);
  return message === undefined ? undefined : { status: 400, message };
}
