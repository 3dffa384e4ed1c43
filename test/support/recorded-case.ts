/** A public failure of test/fixtures/cases/turn2-output.jsonl, for the test of its kind. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

const caseSchema = z.looseObject({
  id: z.string(),
  input: z.looseObject({
    values: z.array(z.string()).default([]),
    files: z.record(z.string(), z.string()).default({}),
  }),
  expect: z.looseObject({
    checks: z.object({
      model_sees_any: z.array(z.string()).default([]),
      chars_max: z.number().default(Infinity),
      folders: z.number().optional(),
    }),
  }),
});

/** The case with this id. */
export function recordedCase(id: string): z.output<typeof caseSchema> {
  const file = path.join(__dirname, '..', 'fixtures', 'cases', 'turn2-output.jsonl');
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const found = lines
    .map((line) => caseSchema.parse(JSON.parse(line)))
    .find((each) => each.id === id);
  if (found === undefined) throw new Error(`turn2-output.jsonl has no case ${id}`);
  return found;
}
