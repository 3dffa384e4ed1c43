/** The OpenAPI document: complete, and closed where callers send. */
import { gatewayDocument } from '../../scripts/write-gateway-types';

interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly responses: Readonly<Record<string, object>>;
}

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

test('every operation has a name, a sentence and problems, and every schema is used', async () => {
  const document = (await gatewayDocument()) as Document;
  expect(document.openapi).toBe('3.1.0');
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  expect(operations.length).toBeGreaterThanOrEqual(20);
  const names = operations.map(({ operationId }) => operationId);
  expect(new Set(names).size).toBe(operations.length);
  for (const { operationId, summary, responses } of operations) {
    expect([operationId, summary]).toEqual([expect.any(String), expect.any(String)]);
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['4XX', '5XX']));
  }
  const text = JSON.stringify(document);
  for (const name of Object.keys(document.components.schemas))
    expect(text).toContain(`#/components/schemas/${name}"`);
  const { StartRunInput, Run } = document.components.schemas;
  expect(StartRunInput).toMatchObject({ additionalProperties: false });
  expect(Run).not.toHaveProperty('additionalProperties');
});
