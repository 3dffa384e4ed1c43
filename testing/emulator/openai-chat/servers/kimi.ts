/** Moonshot's API with a Kimi model that thinks: its thoughts belong to its calls, and its schemas have rules of their own. */
import type { JsonObject, JsonValue } from '../../../../workflows/core/json';
import { listOf, numberOf, objectOf, stringOf } from '../../json-read';
import type { VendorError } from '../../step';
import type { ChatServer, ServerRefusals } from './chat-server';
import { functionsOf, isCalling, messagesOf, usualServer } from './chat-server';

function refusal(message: string): VendorError {
  return { status: 400, message };
}

/**
 * What the schema rules find, with its place. Source: MoonshotAI/kimi-cli#2531 and #2061, earendil-works/pi#4138,
 * MoonshotAI/kimi-code#1610.
 */
function* schemaProblems(schema: JsonObject, place: string): Generator<readonly [string, string]> {
  const { $ref, anyOf, type, properties, required, items } = schema;
  const at = place === '' ? 'root' : place;
  const within = (name: string): string => (place === '' ? name : `${place}.${name}`);
  if ($ref !== undefined && Object.keys(schema).length > 1)
    yield [at, 'conflicting keywords found after $ref expansion: description'];
  if (anyOf !== undefined && type !== undefined)
    yield [
      at,
      'when using anyOf, type should be defined in anyOf items instead of the parent schema',
    ];
  const isTyped = [$ref, anyOf, type, schema['oneOf'], schema['allOf']].some(
    (value) => value !== undefined,
  );
  if (!isTyped) yield [at, 'type is not defined'];
  for (const name of listOf(required).map(stringOf))
    if (objectOf(properties)[name] === undefined)
      yield [at, `required property '${name}' is not defined in properties`];
  for (const [name, each] of Object.entries(objectOf(properties)))
    yield* schemaProblems(objectOf(each), within(`properties.${name}`));
  if (items !== undefined) yield* schemaProblems(objectOf(items), within('items'));
  for (const [index, branch] of listOf(anyOf).entries())
    yield* schemaProblems(objectOf(branch), within(`anyOf.${index}`));
}

function* toolRules(body: JsonObject): ServerRefusals {
  for (const { parameters, name } of functionsOf(body)) {
    const schema = objectOf(parameters);
    if (schema['type'] !== 'object')
      yield refusal('tools.function.parameters.type is required and must be "object"');
    if (!/^[a-zA-Z]/.test(stringOf(name)))
      yield refusal('function name is invalid, must start with a letter');
    for (const [place, problem] of schemaProblems(schema, ''))
      yield refusal(
        `tools.function.parameters is not a valid moonshot flavored json schema, details: <At path '${place}': ${problem}>`,
      );
  }
}

function isMissing(thought: JsonValue | undefined): boolean {
  return stringOf(thought).trim() === '';
}

function* refuse(body: JsonObject): ServerRefusals {
  yield* toolRules(body);
  if ((numberOf(body['temperature']) ?? 1) !== 1)
    yield refusal('invalid temperature: only 1 is allowed for this model');
  if (body['tool_choice'] !== undefined && body['tool_choice'] !== 'auto')
    yield refusal("tool_choice 'specified' is incompatible with thinking enabled");
  // BerriAI/litellm#26156.
  for (const [index, message] of messagesOf(body).entries())
    if (isCalling(message) && isMissing(message['reasoning_content']))
      yield refusal(
        `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${index}`,
      );
}

/** Kimi. */
export const kimi: ChatServer = {
  ...usualServer,
  refuse,
  errorBody: ({ message = '', type = 'invalid_request_error' }) => ({ error: { message, type } }),
  callId: (_context, name, index) => `functions.${name}:${index}`,
};

/** DeepSeek's API in its thinking mode (earendil-works/pi#3636). */
export const deepseek: ChatServer = {
  ...usualServer,
  *refuse(body) {
    for (const message of messagesOf(body))
      if (message['role'] === 'assistant' && isMissing(message['reasoning_content']))
        yield refusal(
          'The `reasoning_content` in the thinking mode must be passed back to the API.',
        );
  },
  errorBody: ({ message = '', type = 'invalid_request_error' }) => ({
    error: { message, type, param: null, code: 'invalid_request_error' },
  }),
};
