/** What OpenAI refuses on the Responses wire, in its own words where public reports quote them. */
import { z } from 'zod';
import type { JsonObject } from '../../../workflows/core/json';
import { listOf, objectOf, stringOf } from '../json-read';
import type { Refusals } from '../openai/openai-shapes';
import {
  anything,
  detailShape,
  fileFields,
  firstOf,
  functionShape,
  imageShape,
  nameShape,
  refusal,
  repeated,
  shapeRules,
  sharedRules,
  toolsShape,
  unknownField,
} from '../openai/openai-shapes';
import { sealSubject } from './responses-items';
import type { VendorError } from '../step';
import type { ValidationContext } from '../wire';

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

/** Quoted by public reports as 64. */
const idShape = z.string().min(1).max(64);
/** "string too long. Expected a string with maximum length 10485760". */
const textShape = z.string().max(10_485_760);

/** What every item may have; its own id begins with the prefix of its type. */
const itemFields = <Type extends string>(type: Type, idPrefix: string) => ({
  type: z.literal(type),
  id: idShape.startsWith(idPrefix).nullish(),
  status: anything,
});

function messageShape<Role extends string>(
  roles: readonly Role[],
  ...parts: readonly [z.ZodObject<{ type: z.ZodLiteral }>, ...z.ZodObject<{ type: z.ZodLiteral }>[]]
) {
  return z.strictObject({
    ...itemFields('message', 'msg'),
    role: z.literal(roles),
    content: z.union([textShape, z.array(z.discriminatedUnion('type', parts))]),
    phase: anything,
  });
}

const itemShape = z.discriminatedUnion('type', [
  z.discriminatedUnion('role', [
    messageShape(
      ['assistant'],
      z.object({ type: z.literal('output_text'), text: z.string() }),
      z.object({ type: z.literal('refusal'), refusal: z.string() }),
    ),
    messageShape(
      ['system', 'developer', 'user'],
      z.object({ type: z.literal('input_text'), text: z.string() }),
      z.object({ type: z.literal('input_image'), image_url: imageShape, detail: detailShape }),
      z.object({ type: z.literal('input_file'), ...fileFields }),
    ),
  ]),
  z.strictObject({
    ...itemFields('function_call', 'fc'),
    call_id: idShape,
    name: nameShape,
    arguments: z.string(),
    namespace: anything,
  }),
  z.strictObject({
    ...itemFields('function_call_output', 'fc'),
    call_id: idShape,
    output: z.union([textShape, z.array(z.unknown())]),
  }),
  z.strictObject({
    ...itemFields('reasoning', 'rs'),
    summary: z.array(z.unknown()),
    content: anything,
    encrypted_content: anything,
  }),
]);

const bodyShape = z.looseObject({
  model: z.string(),
  input: z.union([z.string(), z.array(itemShape).min(1)]),
  // API reference.
  max_output_tokens: z.number().min(16).optional(),
  tools: toolsShape(functionShape).optional(),
});

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

function* fieldRules(body: JsonObject): Refusals {
  for (const field of Object.keys(body)) {
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
  const previous = body['previous_response_id'];
  if (typeof previous === 'string') {
    yield refusal(
      `Previous response with id '${previous}' not found.`,
      'previous_response_id',
      'previous_response_not_found',
    );
  }
}

/** Sealed without a name, or before another reasoning item. */
function isSealedElse(sealed: string, id: string, { seal }: ValidationContext): boolean {
  return seal.isSealed(sealed, id === '' ? undefined : sealSubject(id, 'reasoning'));
}

function* reasoningRules(
  item: JsonObject,
  next: JsonObject | undefined,
  context: ValidationContext,
): Refusals {
  const id = stringOf(item['id']);
  const sealed = item['encrypted_content'];
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
  const ledToItem = context.seal.isSealed(stringOf(sealed), sealSubject(id, 'item'));
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
  const twiceCalled = repeated(called);
  if (twiceCalled !== undefined) {
    yield refusal(`Duplicate function call id ${twiceCalled}.`, 'input', null);
  }
  const twiceAnswered = repeated(answered);
  if (twiceAnswered !== undefined) {
    yield refusal(`Duplicate function_call_output for call_id ${twiceAnswered}.`, 'input', null);
  }
}

function* duplicateRules(items: readonly JsonObject[]): Refusals {
  const twice = repeated(items.map((item) => stringOf(item['id'])).filter(Boolean));
  if (twice !== undefined) {
    yield refusal(
      `Duplicate item found with id ${twice}. Remove duplicate items from your input and try again.`,
      'input',
      null,
    );
  }
}

function* allRules(body: JsonObject, context: ValidationContext): Refusals {
  yield* fieldRules(body);
  const items = inputItems(body);
  yield* shapeRules(bodyShape, Array.isArray(body['input']) ? { ...body, input: items } : body);
  yield* sharedRules(
    body,
    listOf(body['tools']).map((tool) => objectOf(tool)['name']),
  );
  for (const [index, item] of items.entries())
    if (item['type'] === 'reasoning') yield* reasoningRules(item, items[index + 1], context);
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
