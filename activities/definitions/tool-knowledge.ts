/** Knowledge of tools that no author wrote: which serve the same purpose, and which mistakes are likely. */
import { z } from 'zod';
import type { Tool } from '../tools/tool';

/** Kinds of mistakes that a call may make. */
export const toolMistakes = [
  'wrong-path',
  'missing-parameter',
  'wrong-value',
  'wrong-format',
  'wrong-type',
  'other',
] as const;

/** Advice against one mistake, and the parameter that it is about, if one. */
const hintSchema = z.object({
  mistake: z.enum(toolMistakes),
  parameter: z.string().exactOptional(),
  hint: z.string(),
});

/** Advice against one mistake. */
export type ToolHint = z.infer<typeof hintSchema>;

/** Knowledge of an agent's tools by name; tools without any are left out. Alternatives serve the same purpose, best first. */
export const toolKnowledgeSchema = z.object({
  alternatives: z.record(z.string(), z.array(z.string())),
  hints: z.record(z.string(), z.array(hintSchema)),
});

/** Knowledge of an agent's tools. */
export type ToolKnowledge = z.infer<typeof toolKnowledgeSchema>;

/** The parts of a tool that knowledge is made from. */
export type KnownTool = Pick<Tool, 'name' | 'description' | 'inputSchema' | 'effect'>;

/** Hints and alternatives of one tool that are kept (ADR 0027). */
export const mostHints = 8;
export const mostAlternatives = 3;
/** Characters of one hint (ADR 0027). */
export const hintChars = 240;
