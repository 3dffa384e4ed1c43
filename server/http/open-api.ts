/** The OpenAPI 3.1 document, made from the routes' own schemas. */
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import {
  createJsonSchemaTransform,
  createJsonSchemaTransformObject,
} from 'fastify-type-provider-zod';

type ZodToJsonConfig = NonNullable<
  Parameters<typeof createJsonSchemaTransform>[0]['zodToJsonConfig']
>;

/** Answers may have fields that the document does not name: only what callers send is closed. */
const zodToJsonConfig: ZodToJsonConfig = {
  override: ({ zodSchema, jsonSchema }) => {
    const { def } = zodSchema._zod;
    if (def.type === 'object' && def.catchall === undefined) delete jsonSchema.additionalProperties;
  },
};

type Transform = NonNullable<FastifyDynamicSwaggerOptions['transformObject']>;
const withSchemas = createJsonSchemaTransformObject({ zodToJsonConfig });

/** With the schemas that something refers to: each is made twice, as what is sent and as what is answered. */
const transformObject: Transform = (given) => {
  const whole = withSchemas(given);
  const { components = {}, ...rest } = whole as typeof whole & { components?: Components };
  const used = new Map<string, unknown>();
  const waiting: unknown[] = [rest];
  for (const part of waiting)
    for (const [, name = ''] of JSON.stringify(part).matchAll(/#\/components\/schemas\/(\w+)/g)) {
      if (used.has(name)) continue;
      used.set(name, components.schemas?.[name]);
      waiting.push(components.schemas?.[name] ?? {});
    }
  const schemas = Object.fromEntries([...used].sort(([left], [right]) => (left < right ? -1 : 1)));
  return { ...rest, components: { ...components, schemas } } as typeof whole;
};

interface Components {
  readonly schemas?: Readonly<Record<string, object>>;
}

/** Options of the plugin that makes the document. */
export function openApiOptions(version: string): FastifyDynamicSwaggerOptions {
  return {
    openapi: document(version),
    transform: createJsonSchemaTransform({ zodToJsonConfig }),
    transformObject,
  };
}

function document(version: string): NonNullable<FastifyDynamicSwaggerOptions['openapi']> {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Holdfast gateway',
      version,
      description: 'Durable agent runs: start, watch, decide, steer. Errors are RFC 9457 problems.',
    },
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
    security: [{ token: [] }],
  };
}
