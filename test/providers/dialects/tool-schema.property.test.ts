/** Any schema of a tool becomes one that Gemini and Kimi take, by the emulator's own strict rules. */
import type { SchemaSubset } from '../../../activities/providers/request/tool-schema';
import {
  geminiSchemas,
  moonshotSchemas,
  schemaWithin,
} from '../../../activities/providers/request/tool-schema';
import type { ChatServer } from '../../../testing/emulator/openai-chat/servers/chat-server';
import { chatServers } from '../../../testing/emulator/openai-chat/servers/chat-servers';
import { Seal } from '../../../testing/emulator/seal';
import type { JsonObject } from '../../../workflows/core/json';
import { cases, fc } from '../../support/properties';

const types = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object'] as const;
const scalar = fc.oneof(fc.string({ maxLength: 3 }), fc.integer(), fc.boolean(), fc.constant(null));

const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom<JsonObject>({}, { type: 'string' }, { $ref: '#/$defs/loop' }, { $ref: '#/no' }),
    fc.record(
      {
        type: fc.oneof(fc.constantFrom(...types), fc.subarray([...types], { minLength: 1 })),
        description: fc.string({ maxLength: 5 }),
        format: fc.constantFrom('email', 'date-time', 'int64', 'uri'),
        enum: fc.array(scalar, { maxLength: 3 }),
        const: scalar,
        minimum: fc.integer(),
        exclusiveMinimum: fc.integer(),
        exclusiveMaximum: fc.double({ noNaN: true, noDefaultInfinity: true }),
        multipleOf: fc.constant(2),
        uniqueItems: fc.boolean(),
        default: scalar,
        properties: fc.dictionary(fc.string({ maxLength: 3 }), tie('schema'), { maxKeys: 3 }),
        required: fc.array(fc.string({ maxLength: 3 }), { maxLength: 2 }),
        additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
        propertyNames: tie('schema'),
        items: fc.oneof(tie('schema'), fc.array(tie('schema'), { maxLength: 2 })),
        prefixItems: fc.array(tie('schema'), { maxLength: 2 }),
        anyOf: fc.array(tie('schema'), { maxLength: 3 }),
        oneOf: fc.array(tie('schema'), { maxLength: 3 }),
        allOf: fc.array(tie('schema'), { maxLength: 2 }),
        $ref: fc.constantFrom('#/$defs/loop', '#/properties/a'),
        title: fc.string({ maxLength: 3 }),
      },
      { requiredKeys: [] },
    ) as fc.Arbitrary<JsonObject>,
  ),
}));

const context = { headers: {}, seal: new Seal('test') };

test.each<readonly [string, ChatServer, SchemaSubset]>([
  ['Gemini', chatServers.gemini, geminiSchemas],
  ['Kimi', chatServers.kimi, moonshotSchemas],
])('%s takes it', (_name, server, subset) => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string({ maxLength: 3 }), schema, { minKeys: 1, maxKeys: 3 }),
      schema,
      (properties, loop) => {
        const given: JsonObject = { type: 'object', properties, $defs: { loop } };
        const parameters = { ...schemaWithin(given, subset), type: 'object' };
        const body = { tools: [{ type: 'function', function: { name: 'tool', parameters } }] };
        const refused = [...server.refuse(body, context)].map(({ message }) => message);
        expect(refused).toEqual([]);
      },
    ),
    cases(500),
  );
});
