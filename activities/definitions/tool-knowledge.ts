/** Knowledge of tools that no author wrote: which serve the same purpose, and which mistakes are likely. */
import { z } from 'zod';
import type { ToolEffect } from '../../workflows/core/tools/ports';
import type { ToolSpec } from '../providers/provider';

/** Kinds of mistakes that a call may make. */
export const toolMistakes = [
  'wrong-path',
  'missing-parameter',
  'wrong-value',
  'wrong-format',
  'wrong-type',
  'other',
] as const;

/** Advice against one mistake. */
export interface ToolHint {
  readonly mistake: (typeof toolMistakes)[number];
  /** The parameter that the hint is about. */
  readonly parameter?: string;
  readonly hint: string;
}

/** Knowledge of an agent's tools by name. Tools without any are left out. */
export interface ToolKnowledge {
  /** Tools that serve the same purpose, best first. */
  readonly alternatives: { readonly [tool: string]: readonly string[] };
  readonly hints: { readonly [tool: string]: readonly ToolHint[] };
}

/** The parts of a tool that knowledge is made from. */
export interface KnownTool extends ToolSpec {
  readonly effect: ToolEffect;
}

/** Hints and alternatives of one tool that are kept (ADR 0027). */
export const mostHints = 8;
export const mostAlternatives = 3;
/** Characters of one hint (ADR 0027). */
export const hintChars = 240;

/** Stored knowledge. */
export const toolKnowledgeSchema = z.object({
  alternatives: z.record(z.string(), z.array(z.string())),
  hints: z.record(
    z.string(),
    z.array(
      z.object({
        mistake: z.enum(toolMistakes),
        parameter: z.string().exactOptional(),
        hint: z.string(),
      }),
    ),
  ),
});
