/** Checks that what a store gives back is an observation or a pattern of a shape that this release knows. */
import { z } from 'zod';
import { remedies } from '../../../workflows/core/recovery/action';
import type { Observation, Pattern } from './pattern-store';

const shape = z.enum([
  'absent',
  'empty',
  'boolean',
  'number',
  'numeric text',
  'word',
  'text',
  'bare file name',
  'relative path',
  'absolute path',
  'path with line',
  'url',
  'email',
  'date',
  'list',
  'object',
  'null',
]);

const transform = z.enum([
  'strip line suffix',
  'strip leading slash',
  'strip ./',
  'strip quotes',
  'last part of path',
  'trim',
  'to number',
  'to text',
  'to boolean',
  'to lower case',
  'to upper case',
  'wrap in list',
  'take out of list',
]);

const parameter = z.string();

const change = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('from-result'),
    parameter,
    tool: z.string(),
    was: shape,
    becomes: shape,
  }),
  z.object({ type: z.literal('transformed'), parameter, transform }),
  z.object({ type: z.literal('copied'), parameter, from: z.string() }),
  z.object({
    type: z.literal('constant'),
    parameter,
    value: z.union([z.string(), z.number(), z.boolean()]),
  }),
  z.object({ type: z.literal('changed'), parameter, was: shape, becomes: shape }),
]);

const fix = z.object({
  strategy: z.enum(remedies),
  toolName: z.string(),
  changes: z.array(change),
});

const error = {
  tenant: z.string(),
  tool: z.string(),
  errorCode: z.string(),
  errorFingerprint: z.string(),
  errorText: z.string(),
};

const observationSchema = z.object({
  ...error,
  key: z.string(),
  agent: z.string(),
  input: z.array(z.object({ name: z.string(), shape })),
  fixedBy: z.enum(['model', 'action', 'person', 'none']),
  fix: fix.optional(),
  steps: z.number(),
  patternId: z.string().optional(),
  atMs: z.number(),
});

const evidence = z.object({ successes: z.number(), failures: z.number(), atMs: z.number() });

const patternSchema = z.object({
  ...error,
  id: z.string(),
  fix,
  observed: evidence,
  used: evidence,
  lastUses: z.array(z.object({ key: z.string(), helped: z.boolean() })),
  status: z.enum(['candidate', 'active', 'demoted', 'disabled']),
  statusAtMs: z.number(),
  createdAtMs: z.number(),
  lastUsedAtMs: z.number().optional(),
});

/** Whether a stored value is an observation. */
export function isObservation(value: unknown): value is Observation {
  return observationSchema.safeParse(value).success;
}

/** Whether a stored value is a pattern. */
export function isPattern(value: unknown): value is Pattern {
  return patternSchema.safeParse(value).success;
}
