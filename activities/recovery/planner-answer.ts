/** Parses a planner's answer: by schema if the vendor enforces one, else from its text. Never guesses. */
import { z } from 'zod';
import type { JsonObject } from '../../workflows/core/json';
import { defined } from '../../workflows/core/json';
import type { RecoveryAction } from '../../workflows/core/recovery/action';
import { recoveryStrategies } from '../../workflows/core/recovery/action';
import type { OutputSchema } from '../providers/provider';
import { objectsInText } from '../untrusted/json-in-text';
import { sanitizeText } from '../untrusted/sanitizer';

/** Characters of each text that a plan may have (ADR 0026). */
const textChars = 500;

const text = z.string().transform((value) => sanitizeText(value, { maxChars: textChars }));
const parameters = z.record(z.string(), z.json());

/** Blockers that a plan may name (ADR 0033). */
const maxBlockers = 3;
const blockerChars = 200;

const blockers = z.array(z.string()).transform((named) =>
  named
    .slice(0, maxBlockers)
    .map((each) => sanitizeText(each, { maxChars: blockerChars }).trim())
    .filter((each) => each !== ''),
);

/** Vendors that enforce a schema accept no free-form object, so parameters may come as JSON text. */
const parametersText = z.string().transform((value, context) => {
  if (value.trim() === '') return undefined;
  try {
    return parameters.parse(JSON.parse(value));
  } catch {
    context.addIssue({ code: 'custom', message: 'parametersJson is not a JSON object' });
    return z.NEVER;
  }
});

const actionSchema = z.object({
  strategy: z.enum(recoveryStrategies),
  reasoning: text,
  action: z.object({
    toolName: z.string().max(64).nullish(),
    parameters: parameters.nullish(),
    parametersJson: parametersText.nullish(),
    escalationMessage: text.nullish(),
  }),
  expectedOutcome: text.nullish(),
  blockers: blockers.nullish(),
  confidence: z.number().min(0).max(1),
});

const textProperty = { type: 'string' } as const;

function closedObject(properties: JsonObject): JsonObject {
  return {
    type: 'object',
    additionalProperties: false,
    required: Object.keys(properties),
    properties,
  };
}

/** Output schema of a plan. */
export const actionFormat: OutputSchema = {
  name: 'recovery_action',
  schema: closedObject({
    strategy: { type: 'string', enum: recoveryStrategies },
    reasoning: textProperty,
    action: closedObject({
      toolName: { type: 'string', description: 'A tool of the list, or empty.' },
      parametersJson: {
        type: 'string',
        description: "The tool's whole input as JSON text; empty if unknown.",
      },
      escalationMessage: { type: 'string', description: 'The question to a person, or empty.' },
    }),
    expectedOutcome: textProperty,
    blockers: {
      type: 'array',
      items: textProperty,
      description: `What stands in the way of the goal, at most ${maxBlockers}, each in a few words.`,
    },
    confidence: { type: 'number', description: '0 to 1' },
  }),
};

/** The action in the text; undefined if it has none of the right shape. */
export function readAction(source: string): RecoveryAction | undefined {
  const [plan] = [...objectsInText(source)].flatMap(
    (value) => actionSchema.safeParse(value).data ?? [],
  );
  if (plan === undefined) return undefined;
  const { toolName, parameters: given, parametersJson, escalationMessage } = plan.action;
  const wanted = given ?? parametersJson ?? undefined;
  return {
    strategy: plan.strategy,
    reasoning: plan.reasoning,
    action: {
      toolName: toolName ?? '',
      ...defined({ parameters: wanted }),
      ...(escalationMessage == null || escalationMessage === '' ? {} : { escalationMessage }),
    },
    expectedOutcome: plan.expectedOutcome ?? '',
    confidence: plan.confidence,
    ...(plan.blockers == null || plan.blockers.length === 0 ? {} : { blockers: plan.blockers }),
  };
}
