/** What is known of tools without anybody writing it down: which do the same, and which mistakes are likely. */
import { z } from 'zod';
import type { ToolEffect } from '../../workflows/core/tools/ports';
import type { ToolSpec } from '../providers/provider';
import { alternativesOf } from './tool-purpose';
import { schemaHints } from './schema-hints';

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
  /** The parameter that it is about. */
  readonly parameter?: string;
  readonly hint: string;
}

/** Knowledge of an agent's tools, by their names; a tool of which nothing is known is left out. */
export interface ToolKnowledge {
  /** Tools that serve the same purpose, best first. */
  readonly alternatives: { readonly [tool: string]: readonly string[] };
  readonly hints: { readonly [tool: string]: readonly ToolHint[] };
}

/** A tool as knowledge is drawn from it. */
export interface KnownTool extends ToolSpec {
  readonly effect: ToolEffect;
}

/** Hints and alternatives of one tool that are kept (ADR 0027). */
export const mostHints = 8;
export const mostAlternatives = 3;
/** Characters of one hint (ADR 0027). */
export const hintChars = 240;

/** Knowledge as it is stored. */
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

/**
 * Knowledge from names, descriptions and schemas alone.
 *
 * Contract: pure; the same definitions give the same knowledge.
 */
export function knowledgeByRules(tools: readonly KnownTool[]): ToolKnowledge {
  const alternatives: Record<string, readonly string[]> = {};
  const hints: Record<string, readonly ToolHint[]> = {};
  for (const tool of tools) {
    const others = alternativesOf(tool, tools).slice(0, mostAlternatives);
    if (others.length > 0) alternatives[tool.name] = others;
    const known = schemaHints(tool, tools).slice(0, mostHints);
    if (known.length > 0)
      hints[tool.name] = known.map((hint) => ({ ...hint, hint: hint.hint.slice(0, hintChars) }));
  }
  return { alternatives, hints };
}
