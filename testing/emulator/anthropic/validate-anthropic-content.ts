/** What Anthropic refuses inside messages: blocks, texts, images, seals. */
import type { JsonObject, JsonValue } from '../../../workflows/core/json';
import { hasPreservedThinking } from './claude-models';
import { imageMediaTypes, isBase64, pngEdge, sniffedMediaType } from '../image-rules';
import { blocksOf, isList, isObject, listOf, objectOf, stringOf } from '../json-read';
import { checkThinking, prefixOf } from './thinking-seal';
import type { ValidationContext } from '../wire';

/** A content block and where it stands. */
interface PlacedBlock {
  readonly type: string;
  readonly block: JsonObject;
  /** `messages.2.content.0` */
  readonly place: string;
}

/** A message as placed blocks. */
export interface PlacedMessage {
  readonly role: string;
  readonly blocks: readonly PlacedBlock[];
}

/** Bytes of one image's base64 text (API errors quote 5 MB of the encoded text). */
const maxImageBytes = 5_242_880;
/** Images and documents per request (vision guide). */
const maxImages = 100;
/** Pixels of an image's longer side, and the same where a request has more than so many images (vision guide). */
const maxEdge = 8_000;
const manyImagesEdge = 2_000;
const manyImages = 20;
const toolUseId = /^[a-zA-Z0-9_-]+$/;
const toolName = /^[a-zA-Z0-9_-]{1,128}$/;

/** Fields of each block that the API takes in a request (API reference). */
const knownFields: Readonly<Record<string, readonly string[]>> = {
  text: ['type', 'text', 'cache_control', 'citations'],
  image: ['type', 'source', 'cache_control'],
  document: ['type', 'source', 'cache_control', 'citations', 'context', 'title'],
  thinking: ['type', 'thinking', 'signature'],
  redacted_thinking: ['type', 'data'],
  tool_use: ['type', 'id', 'name', 'input', 'cache_control', 'caller', 'toolset_name'],
  tool_result: ['type', 'tool_use_id', 'content', 'is_error', 'cache_control', 'toolset_name'],
};

type Problems = Generator<string>;

/** True for the blocks that pair calls with results. */
export function isToolBlock(type: string): boolean {
  return type === 'tool_use' || type === 'tool_result';
}

function placed(content: JsonValue | undefined, place: string): readonly PlacedBlock[] {
  return blocksOf(content).map((block, index) => ({
    type: stringOf(block['type']),
    block,
    place: `${place}.content.${index}`,
  }));
}

/** All messages of a request as placed blocks. */
export function messagesWithBlocks(body: JsonObject): readonly PlacedMessage[] {
  return listOf(body['messages']).map((entry, index) => ({
    role: stringOf(objectOf(entry)['role']),
    blocks: placed(objectOf(entry)['content'], `messages.${index}`),
  }));
}

function* textProblems(text: JsonValue | undefined, scope: string): Problems {
  if (typeof text !== 'string') yield `${scope}: text: Input should be a valid string`;
  if (text === '') yield `${scope}: text content blocks must be non-empty`;
  if (stringOf(text).trim() === '') {
    yield `${scope}: text content blocks must contain non-whitespace text`;
  }
}

function* imageProblems(source: JsonObject, place: string): Problems {
  if (source['type'] !== 'base64') return;
  const at = `${place}.image.source.base64`;
  const mediaType = stringOf(source['media_type']);
  const data = stringOf(source['data']);
  if (!imageMediaTypes.includes(mediaType)) {
    yield `${at}.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`;
  }
  if (data.length > maxImageBytes) {
    yield `${at}: image exceeds 5 MB maximum: ${data.length} bytes > ${maxImageBytes} bytes`;
  }
  if (pngEdge(data) > maxEdge) {
    yield `${at}.data: At least one of the image dimensions exceed max allowed size: ${maxEdge} pixels`;
  }
  if (!isBase64(data)) yield `${at}.data: Invalid base64 data`;
  const sniffed = sniffedMediaType(data);
  if (sniffed === undefined) yield 'Could not process image';
  if (sniffed !== mediaType) {
    yield `${at}.data: Image does not match the provided media type ${mediaType}`;
  }
}

function* toolUseProblems({ block, place }: PlacedBlock): Problems {
  const at = `${place}.tool_use`;
  for (const field of ['id', 'name', 'input']) {
    if (block[field] === undefined) yield `${at}.${field}: Field required`;
  }
  if (!toolUseId.test(stringOf(block['id']))) {
    yield `${at}.id: String should match pattern '${toolUseId.source}'`;
  }
  if (!toolName.test(stringOf(block['name']))) {
    yield `${at}.name: String should match pattern '${toolName.source}'`;
  }
  if (!isObject(block['input'])) yield `${at}.input: Input should be a valid dictionary`;
}

function* toolResultProblems({ block, place }: PlacedBlock): Problems {
  const at = `${place}.tool_result`;
  if (!toolUseId.test(stringOf(block['tool_use_id']))) {
    yield `${at}.tool_use_id: String should match pattern '${toolUseId.source}'`;
  }
  const content = block['content'] ?? '';
  const isEmpty = content === '' || (isList(content) && content.length === 0);
  if (block['is_error'] === true && isEmpty) {
    yield `${at}: content cannot be empty if \`is_error\` is true`;
  }
  for (const inner of isList(content) ? placed(content, at) : []) yield* innerProblems(inner);
}

function* innerProblems({ type, block, place }: PlacedBlock): Problems {
  if (type === 'text') yield* textProblems(block['text'], 'messages');
  else if (type === 'image') yield* imageProblems(objectOf(block['source']), place);
  else if (type !== 'document' && type !== 'search_result') {
    yield `${place}: Input tag '${type}' found using 'type' does not match any of the expected tags: 'document', 'image', 'search_result', 'text'`;
  }
}

/** What the checks of one message's blocks need to know. */
interface MessageScope {
  readonly context: ValidationContext;
  /** Hash of everything before the message, where the model binds its thinking to it. */
  readonly boundPrefix: () => string | undefined;
  /** Tool calls before the block in its message. */
  readonly callsBefore: number;
  /** The vendor compares the places of thoughts only here. */
  readonly isLatestReply: boolean;
}

function* sealProblems({ block, place, type }: PlacedBlock, scope: MessageScope): Problems {
  const { context } = scope;
  if (type === 'redacted_thinking') {
    if (!context.isSealed(stringOf(block['data']))) {
      yield `${place}: Invalid \`data\` in \`redacted_thinking\` block`;
    }
    return;
  }
  const signature = stringOf(block['signature']);
  if (block['signature'] === undefined) yield `${place}.thinking.signature: Field required`;
  const prefix = scope.boundPrefix();
  const text = stringOf(block['thinking']);
  const { callsBefore } = scope;
  const verdict = checkThinking(signature, text, context.isSigned, prefix ?? '', callsBefore);
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

function* citationProblems(each: PlacedBlock, role: string): Problems {
  if (role === 'user' && listOf(each.block['citations']).length > 0) {
    yield `${each.place}.text.citations: Citations are not permitted in \`user\` messages`;
  }
  if (role === 'assistant' && each.type === 'document') {
    yield `${each.place}: \`document\` blocks are not permitted in \`assistant\` messages`;
  }
}

function* blockProblems(each: PlacedBlock, scope: MessageScope): Problems {
  const known = knownFields[each.type];
  if (known === undefined) {
    yield `${each.place}: Input tag '${each.type}' found using 'type' does not match any of the expected tags: ${Object.keys(
      knownFields,
    )
      .map((type) => `'${type}'`)
      .join(', ')}`;
    return;
  }
  const extra = Object.keys(each.block).find((field) => !known.includes(field));
  if (extra !== undefined) {
    yield `${each.place}.${each.type}.${extra}: Extra inputs are not permitted`;
  }
  switch (each.type) {
    case 'text':
      yield* textProblems(each.block['text'], 'messages');
      break;
    case 'image':
      yield* imageProblems(objectOf(each.block['source']), each.place);
      break;
    case 'tool_use':
      yield* toolUseProblems(each);
      break;
    case 'tool_result':
      yield* toolResultProblems(each);
      break;
    case 'thinking':
    case 'redacted_thinking':
      yield* sealProblems(each, scope);
      break;
    default:
  }
}

function imagesIn(blocks: readonly JsonObject[]): readonly JsonObject[] {
  return blocks.flatMap((block) => {
    if (block['type'] === 'image') return [block];
    return isList(block['content']) ? imagesIn(blocksOf(block['content'])) : [];
  });
}

function* manyImagesProblems(images: readonly JsonObject[]): Problems {
  if (images.length > maxImages)
    yield `Too many images and documents: ${images.length} + 0 > ${maxImages}`;
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

/** Everything wrong with the content of system and messages, in order. */
export function* contentProblems(body: JsonObject, context: ValidationContext): Problems {
  if (isList(body['system'])) {
    for (const block of blocksOf(body['system'])) yield* textProblems(block['text'], 'system');
  }
  const messages = messagesWithBlocks(body);
  const latestReply = messages.findLastIndex(({ role }) => role === 'assistant');
  for (const [index, message] of messages.entries()) {
    const content = objectOf(listOf(body['messages'])[index])['content'];
    if (content === undefined) yield `messages.${index}.content: Field required`;
    if (typeof content !== 'string' && !isList(content)) {
      yield `messages.${index}.content: Input should be a valid list`;
    }
    if (content === '' || message.blocks.length === 0) {
      yield `messages.${index}: all messages must have non-empty content except for the optional final assistant message`;
    }
    const boundPrefix = (): string | undefined =>
      bindsThinking(body) ? prefixOf(body, index) : undefined;
    const isLatestReply = index === latestReply;
    let callsBefore = 0;
    for (const block of message.blocks) {
      yield* blockProblems(block, { context, boundPrefix, callsBefore, isLatestReply });
      if (block.type === 'tool_use') callsBefore += 1;
      yield* citationProblems(block, message.role);
    }
  }
  yield* manyImagesProblems(
    imagesIn(messages.flatMap(({ blocks }) => blocks.map(({ block }) => block))),
  );
}
