/** What OpenAI refuses on the Responses wire, in its own words where public reports quote them. */
import type { JsonObject } from '../../../workflows/core/json';
import { isList, listOf, numberOf, objectOf, stringOf } from '../json-read';
import type { Refusals } from '../openai/openai-rules';
import {
  belowMinimum,
  emptyArray,
  firstOf,
  imageRules,
  missing,
  nameRules,
  reasoningModelRules,
  refusal,
  stringRules,
  toolRules,
  unknownField,
  unsupportedWord,
  wrongType,
} from '../openai/openai-rules';
import { sealSubject } from './responses-items';
import type { VendorError } from '../step';
import type { ValidationContext } from '../wire';

/** Longest `call_id` and item id (quoted by public reports as 64). */
const maxIdCharacters = 64;
/** Characters of one text ("string too long. Expected a string with maximum length 10485760"). */
const maxTextCharacters = 10_485_760;
/** Smallest `max_output_tokens` (API reference). */
const minOutputTokens = 16;

const knownFields: readonly string[] = [
  'model',
  'input',
  'instructions',
  'stream',
  'stream_options',
  'store',
  'include',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'max_output_tokens',
  'max_tool_calls',
  'temperature',
  'top_p',
  'top_logprobs',
  'reasoning',
  'text',
  'truncation',
  'metadata',
  'user',
  'service_tier',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'previous_response_id',
  'conversation',
  'prompt',
  'background',
  'context_management',
];

/** Chat parameters that have another name here. */
const movedFields: Readonly<Record<string, string>> = {
  messages: 'input',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
};

interface ItemRules {
  /** What the item's own id begins with. */
  readonly idPrefix: string;
  readonly fields: readonly string[];
}

const itemRules: Readonly<Record<string, ItemRules>> = {
  message: { idPrefix: 'msg', fields: ['type', 'id', 'role', 'content', 'status', 'phase'] },
  function_call: {
    idPrefix: 'fc',
    fields: ['type', 'id', 'call_id', 'name', 'arguments', 'status', 'namespace'],
  },
  function_call_output: {
    idPrefix: 'fc',
    fields: ['type', 'id', 'call_id', 'output', 'status'],
  },
  reasoning: {
    idPrefix: 'rs',
    fields: ['type', 'id', 'summary', 'content', 'encrypted_content', 'status'],
  },
};

const inputParts: readonly string[] = ['input_text', 'input_image', 'input_file'];
const outputParts: readonly string[] = ['output_text', 'refusal'];
const roles: readonly string[] = ['assistant', 'system', 'developer', 'user'];

/** The input as items: a bare string is one user message, and `type: "message"` may be left out. */
export function inputItems(body: JsonObject): readonly JsonObject[] {
  const input = body['input'];
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return listOf(input).map((entry) => {
    const item = objectOf(entry);
    return item['type'] === undefined && item['role'] !== undefined
      ? { ...item, type: 'message' }
      : item;
  });
}

function* knownFieldRules(field: string): Refusals {
  const moved = movedFields[field];
  if (moved !== undefined) {
    yield refusal(
      `Unsupported parameter: '${field}'. In the Responses API, this parameter has moved to '${moved}'. Try again with the new parameter. See the API documentation for more information: https://platform.openai.com/docs/api-reference/responses/create.`,
      field,
      'unsupported_parameter',
    );
  }
  if (!knownFields.includes(field)) yield unknownField(field);
}

function* fieldRules(body: JsonObject): Refusals {
  if (typeof body['model'] !== 'string') yield missing('model');
  for (const field of Object.keys(body)) yield* knownFieldRules(field);
  const previous = body['previous_response_id'];
  if (typeof previous === 'string') {
    yield refusal(
      `Previous response with id '${previous}' not found.`,
      'previous_response_id',
      'previous_response_not_found',
    );
  }
  if (body['input'] === undefined) yield missing('input');
  if (typeof body['input'] !== 'string' && !isList(body['input'])) {
    yield wrongType('input', 'one of a string or array of input items', body['input']);
  }
  if (isList(body['input']) && body['input'].length === 0) yield emptyArray('input');
  const limit = numberOf(body['max_output_tokens']);
  if (limit !== undefined && limit < minOutputTokens) {
    yield belowMinimum('max_output_tokens', minOutputTokens, limit);
  }
  yield* reasoningModelRules(body);
}

function* messageRules(item: JsonObject, at: string): Refusals {
  const role = stringOf(item['role']);
  if (!roles.includes(role)) yield unsupportedWord(at, role, roles);
  const { content } = item;
  if (content === undefined) yield missing(`${at}.content`);
  if (typeof content === 'string') {
    if (content.length > maxTextCharacters)
      yield* stringRules(content, `${at}.content`, maxTextCharacters);
    return;
  }
  if (!isList(content)) yield wrongType(`${at}.content`, 'a string or array', content);
  const supported = role === 'assistant' ? outputParts : inputParts;
  for (const [index, entry] of listOf(content).entries()) {
    yield* partRules(objectOf(entry), `${at}.content[${index}]`, supported);
  }
}

function* partRules(part: JsonObject, at: string, supported: readonly string[]): Refusals {
  const type = stringOf(part['type']);
  if (!supported.includes(type)) yield unsupportedWord(at, type, supported);
  const field = type === 'refusal' ? 'refusal' : 'text';
  if ((type.endsWith('text') || type === 'refusal') && typeof part[field] !== 'string') {
    yield missing(`${at}.${field}`);
  }
  if (type === 'input_image') {
    yield* imageRules(stringOf(part['image_url']), part['detail'], `${at}.image_url`);
  }
}

function* callRules(item: JsonObject, at: string): Refusals {
  yield* stringRules(item['call_id'], `${at}.call_id`, maxIdCharacters);
  if (item['type'] === 'function_call_output') {
    const { output } = item;
    if (output === undefined) yield missing(`${at}.output`);
    if (typeof output !== 'string' && !isList(output)) {
      yield wrongType(`${at}.output`, 'one of a string or array of objects', output);
    }
    if (stringOf(output).length > maxTextCharacters)
      yield* stringRules(output, `${at}.output`, maxTextCharacters);
    return;
  }
  yield* nameRules(item['name'], `${at}.name`);
  if (item['arguments'] === undefined) yield missing(`${at}.arguments`);
  if (typeof item['arguments'] !== 'string') {
    yield wrongType(`${at}.arguments`, 'a string', item['arguments']);
  }
}

/** Sealed without a name, or before another reasoning item. */
function isSealedElse(sealed: string, id: string, { isSealed }: ValidationContext): boolean {
  return isSealed(sealed, id === '' ? undefined : sealSubject(id, 'reasoning'));
}

function* reasoningRules(
  item: JsonObject,
  at: string,
  next: JsonObject | undefined,
  context: ValidationContext,
): Refusals {
  const id = stringOf(item['id']);
  const sealed = item['encrypted_content'];
  if (!isList(item['summary'])) yield missing(`${at}.summary`);
  if (typeof sealed !== 'string') {
    yield {
      ...refusal(
        `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
        'input',
        null,
      ),
      status: 404,
    };
  }
  const ledToItem = context.isSealed(stringOf(sealed), sealSubject(id, 'item'));
  if (!ledToItem && !isSealedElse(stringOf(sealed), id, context)) {
    const what = id === '' ? `${stringOf(sealed).slice(0, 4)}...` : `for item ${id}`;
    yield refusal(
      `The encrypted content ${what} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
      null,
      'invalid_encrypted_content',
    );
  }
  const follows =
    next !== undefined && (next['type'] === 'function_call' || next['role'] === 'assistant');
  if (!follows && (ledToItem || next?.['type'] !== 'reasoning')) {
    yield refusal(
      `Item '${id}' of type 'reasoning' was provided without its required following item.`,
      'input',
      null,
    );
  }
}

function* idRules(item: JsonObject, at: string, prefix: string): Refusals {
  const { id } = item;
  if (id === undefined || id === null) return;
  yield* stringRules(id, `${at}.id`, maxIdCharacters);
  if (!stringOf(id).startsWith(prefix)) {
    yield refusal(
      `Invalid '${at}.id': '${stringOf(id)}'. Expected an ID that begins with '${prefix}'.`,
      `${at}.id`,
      'invalid_value',
    );
  }
}

function* oneItemRules(
  items: readonly JsonObject[],
  index: number,
  context: ValidationContext,
): Refusals {
  const item = items[index] ?? {};
  const at = `input[${index}]`;
  const type = stringOf(item['type']);
  const rules = itemRules[type];
  if (rules === undefined) {
    yield unsupportedWord(at, type, Object.keys(itemRules));
    return;
  }
  const unknown = Object.keys(item).find((field) => !rules.fields.includes(field));
  if (unknown !== undefined) yield unknownField(`${at}.${unknown}`);
  yield* idRules(item, at, rules.idPrefix);
  if (type === 'message') yield* messageRules(item, at);
  else if (type === 'reasoning') yield* reasoningRules(item, at, items[index + 1], context);
  else yield* callRules(item, at);
}

function* pairingRules(items: readonly JsonObject[]): Refusals {
  const idsOf = (type: string): readonly string[] =>
    items.filter((item) => item['type'] === type).map((item) => stringOf(item['call_id']));
  const called = idsOf('function_call');
  const answered = idsOf('function_call_output');
  const orphan = answered.find((id) => !called.includes(id));
  if (orphan !== undefined) {
    yield refusal(
      `No tool call found for function call output with call_id ${orphan}.`,
      'input',
      null,
    );
  }
  const open = called.find((id) => !answered.includes(id));
  if (open !== undefined) {
    yield refusal(`No tool output found for function call ${open}.`, 'input', null);
  }
  const twiceCalled = called.find((id, index) => called.indexOf(id) < index);
  if (twiceCalled !== undefined) {
    yield refusal(`Duplicate function call id ${twiceCalled}.`, 'input', null);
  }
  const twiceAnswered = answered.find((id, index) => answered.indexOf(id) < index);
  if (twiceAnswered !== undefined) {
    yield refusal(`Duplicate function_call_output for call_id ${twiceAnswered}.`, 'input', null);
  }
}

function* duplicateRules(items: readonly JsonObject[]): Refusals {
  const seen = new Set<string>();
  for (const item of items) {
    const id = stringOf(item['id']);
    if (id !== '' && seen.has(id)) {
      yield refusal(
        `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
        'input',
        null,
      );
    }
    seen.add(id);
  }
}

function* allRules(body: JsonObject, context: ValidationContext): Refusals {
  yield* fieldRules(body);
  yield* toolRules(body, false);
  const items = inputItems(body);
  for (const index of items.keys()) yield* oneItemRules(items, index, context);
  yield* duplicateRules(items);
  yield* pairingRules(items);
}

/** The vendor's refusal of a request body, or nothing. */
export function validateResponses(
  body: JsonObject,
  context: ValidationContext,
): VendorError | undefined {
  return firstOf(allRules(body, context));
}
