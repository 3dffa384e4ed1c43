/** Gemini behind its OpenAI-compatible address: schemas of its own, and signatures of calls. */
import type { JsonObject, JsonValue } from '../../../../workflows/core/json';
import { isList, listOf, objectOf, stringOf } from '../../json-read';
import type { VendorError } from '../../step';
import type { ValidationContext } from '../../wire';
import type { ChatServer, ServerRefusals } from './chat-server';
import { callsOf, functionsOf, isCalling, messagesOf } from './chat-server';

/** Fields of `Schema`. Source: Gemini's API reference, as of the refusals below; what it lacks is refused by name. */
const schemaFields: readonly string[] = [
  ...['type', 'format', 'description', 'nullable', 'enum', 'items', 'maxItems', 'minItems'],
  ...['properties', 'required', 'minProperties', 'maxProperties', 'minLength', 'maxLength'],
  ...['pattern', 'anyOf', 'minimum', 'maximum', 'title', 'default', 'example', 'propertyOrdering'],
];

/** Values of `format`, by type. */
const formats: Readonly<Record<string, readonly string[]>> = {
  string: ['enum', 'date-time'],
  number: ['float', 'double'],
  integer: ['int32', 'int64'],
};

/** Fields of a request that the address does not have. */
const unknownFields: readonly string[] = ['prompt_cache_key', 'store', 'safety_identifier'];

/** Accepted in the place of a signature (ai.google.dev, thought signatures). */
const skipped = 'skip_thought_signature_validator';

function refusal(message: string): VendorError {
  return { status: 400, message, type: 'INVALID_ARGUMENT' };
}

function unknownName(name: string, place: string): VendorError {
  return refusal(
    `Invalid JSON payload received. Unknown name "${name}" at '${place}': Cannot find field.`,
  );
}

/** pizza-bot-app/pizza-bot#62, hashgraph/hedera-agent-kit-js#448, microsoft/azure-devops-mcp#145, directus/directus#27100. */
function* schemaRules(schema: JsonObject, place: string): ServerRefusals {
  for (const name of Object.keys(schema))
    if (!schemaFields.includes(name)) yield unknownName(name, place);
  const { type, enum: values, format, properties, items, anyOf } = schema;
  if (isList(type))
    yield refusal(
      `Invalid JSON payload received. Unknown name "type" at '${place}': Proto field is not repeating, cannot start list.`,
    );
  yield* enumRules(listOf(values), type, place);
  const known = formats[stringOf(type)] ?? [];
  if (format !== undefined && !known.includes(stringOf(format)))
    yield refusal(`${place}.format: only 'enum' and 'date-time' are supported for STRING type`);
  if (type === 'array' && items === undefined) yield refusal(`${place}.items: missing field.`);
  for (const [index, [, each]] of Object.entries(objectOf(properties)).entries())
    yield* schemaRules(objectOf(each), `${place}.properties[${index}].value`);
  if (items !== undefined) yield* schemaRules(objectOf(items), `${place}.items`);
  for (const [index, branch] of listOf(anyOf).entries())
    yield* schemaRules(objectOf(branch), `${place}.any_of[${index}]`);
}

function* enumRules(
  values: readonly JsonValue[],
  type: JsonValue | undefined,
  place: string,
): ServerRefusals {
  if (values.length > 0 && type !== 'string')
    yield refusal(`${place}.enum: only allowed for STRING type`);
  for (const [index, value] of values.entries()) {
    if (typeof value !== 'string')
      yield refusal(
        `Invalid value at '${place}.enum[${index}]' (TYPE_STRING), ${JSON.stringify(value)}`,
      );
    if (value === '') yield refusal(`${place}.enum[${index}]: cannot be empty`);
  }
}

function* toolRules(body: JsonObject): ServerRefusals {
  for (const [index, { parameters }] of functionsOf(body).entries()) {
    if (parameters === undefined) continue;
    const place = `tools[0].function_declarations[${index}].parameters`;
    if (Object.keys(objectOf(objectOf(parameters)['properties'])).length === 0)
      yield refusal(`${place}.properties: should be non-empty for OBJECT type`);
    yield* schemaRules(objectOf(parameters), place);
  }
}

/** The first of parallel calls carries the signature (Gitlawb/openclaude#67). */
function* signatureRules(
  message: JsonObject,
  position: number,
  { seal }: ValidationContext,
): ServerRefusals {
  const [first] = callsOf(message);
  if (first === undefined) return;
  const google = objectOf(objectOf(first['extra_content'])['google']);
  const signature = stringOf(google['thought_signature']);
  const name = stringOf(objectOf(first['function'])['name']);
  if (signature === '')
    yield refusal(
      `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${position}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`,
    );
  else if (signature !== skipped && !seal.isSealed(signature))
    yield refusal('Corrupted thought signature.');
}

function* refuse(body: JsonObject, context: ValidationContext): ServerRefusals {
  for (const field of unknownFields)
    if (body[field] !== undefined)
      yield refusal(`Invalid JSON payload received. Unknown name "${field}": Cannot find field.`);
  yield* toolRules(body);
  const messages = messagesOf(body);
  for (const [index, message] of messages.entries()) {
    // lobehub/lobehub#10049.
    if (isCalling(message) && messages[index - 1]?.['role'] === 'assistant')
      yield refusal(
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      );
    for (const field of ['reasoning_content', 'reasoning', 'reasoning_details'])
      if (message[field] !== undefined) yield unknownName(field, `messages[${index}]`);
    yield* signatureRules(message, index + 1, context);
  }
}

/** Gemini. */
export const gemini: ChatServer = {
  refuse,
  errorBody: ({ status, message = '', type = 'INVALID_ARGUMENT' }) => [
    { error: { code: status, message, status: type } },
  ],
  callId: (context) => `function-call-${context.newId('').slice(-12)}`,
  thoughtDelta: () => undefined,
  hasWholeCalls: true,
  callExtra: ({ seal }, index) =>
    index === 0 ? { extra_content: { google: { thought_signature: seal.seal('call') } } } : {},
  countsAlways: false,
};
