/** What a store keeps for learning: observations of errors and what fixed them, and the patterns extracted from them. */
import { z } from 'zod';
import type { AgentErrorCode } from '../../../workflows/core/failure';
import { remedies } from '../../../workflows/core/recovery/action';

const valueShape = z.enum([
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
/** What kind of value a parameter had; never the value itself. */
export type ValueShape = z.infer<typeof valueShape>;

const valueTransform = z.enum([
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
/** How a corrected value comes from the wrong one. */
export type ValueTransform = z.infer<typeof valueTransform>;

const text = z.string();

const parameterChange = z.discriminatedUnion('type', [
  /** The value is in the result of another tool. */
  z.object({
    type: z.literal('from-result'),
    parameter: text,
    tool: text,
    was: valueShape,
    becomes: valueShape,
  }),
  z.object({ type: z.literal('transformed'), parameter: text, transform: valueTransform }),
  /** The value of another parameter of the call that failed. */
  z.object({ type: z.literal('copied'), parameter: text, from: text }),
  /** A value that the tool's own schema lists. */
  z.object({
    type: z.literal('constant'),
    parameter: text,
    value: z.union([z.string(), z.number(), z.boolean()]),
  }),
  /** Any other change: advice in words only. */
  z.object({ type: z.literal('changed'), parameter: text, was: valueShape, becomes: valueShape }),
]);
/** How one parameter differs between the call that failed and the one that worked. */
export type ParameterChange = Readonly<z.infer<typeof parameterChange>>;

const fix = z.object({
  strategy: z.enum(remedies),
  /** The tool whose call worked. */
  toolName: text,
  changes: z.array(parameterChange).readonly(),
});
/** What was done about an error, as a template without values. */
export type Fix = Readonly<z.infer<typeof fix>>;

const errorKind = {
  tenant: text,
  /** Tool whose call failed; empty if the reply as a whole was wrong. */
  tool: text,
  errorCode: z.custom<AgentErrorCode>((value) => typeof value === 'string'),
  /** From `errorFingerprint`: equal for errors of the same kind. */
  errorFingerprint: text,
  /** The error without names, numbers and quoted parts. */
  errorText: text,
};

const observation = z.object({
  ...errorKind,
  /** Stable over attempts; recording it twice is recording it once. */
  key: text,
  agent: text,
  fixedBy: z.enum(['model', 'action', 'person', 'none']),
  /** What worked; with `fixedBy` `none`, the attempt that did not help. */
  fix: fix.exactOptional(),
  /** The pattern that proposed the fix, whose uses are counted apart. */
  patternId: text.exactOptional(),
  atMs: z.number(),
});
/** One error and what became of it. */
export type Observation = Readonly<z.infer<typeof observation>>;

const evidence = z.object({ successes: z.number(), failures: z.number(), atMs: z.number() });
/** Successes and failures, each weighed by its age at `atMs`. */
export type Evidence = Readonly<z.infer<typeof evidence>>;

const patternUse = z.object({ key: text, helped: z.boolean() });
/** One use of a pattern by a run. `key` is stable over attempts: counting it twice is counting it once. */
export type PatternUse = Readonly<z.infer<typeof patternUse>>;

const pattern = z.object({
  ...errorKind,
  /** From tenant, tool, error and fix: the same fix for the same error is the same pattern. */
  id: text,
  fix,
  /** From the observations. */
  observed: evidence,
  /** From the runs that used the pattern. */
  used: evidence,
  /** The last uses, newest last, at most 5. */
  lastUses: z.array(patternUse).readonly(),
  /** Not used yet, used, no longer used because it failed, or never used because a person said so. */
  status: z.enum(['candidate', 'active', 'demoted', 'disabled']),
  /** When the status last changed. */
  statusAtMs: z.number(),
  createdAtMs: z.number(),
  lastUsedAtMs: z.number().exactOptional(),
});
/** A fix that has worked for a kind of error, and how sure that is. */
export type Pattern = Readonly<z.infer<typeof pattern>>;

/** Whether a pattern is used. */
export type PatternStatus = Pattern['status'];

/** Whether a stored value is an observation. */
export function isObservation(value: unknown): value is Observation {
  return observation.safeParse(value).success;
}

/** Whether a stored value is a pattern. */
export function isPattern(value: unknown): value is Pattern {
  return pattern.safeParse(value).success;
}
