/** Which tools serve the same purpose: verbs of one group, with the same required input, about the same thing (ADR 0030). */
import { hasRole } from '../identity/parameter-roles';
import { isJsonObject } from '../tools/input-schema';
import type { Tool } from '../tools/tool';
import type { VerbGroup } from '../tools/tool-verbs';
import { verbGroupOf, wordsOf } from '../tools/tool-verbs';

/** Alternatives of one tool that are kept (ADR 0027). */
const mostAlternatives = 3;

/** Shortest word that counts as a noun: shorter ones are mostly articles and prepositions. */
const shortestThing = 4;

interface Purpose {
  readonly verbGroup: VerbGroup | undefined;
  /** Words of name and description, without verbs. */
  readonly things: ReadonlySet<string>;
  /** JSON types of the required parameters, without windows. */
  readonly requires: string;
}

function requiredTypes({ inputSchema }: Tool): readonly string[] {
  const { properties, required } = inputSchema;
  if (!Array.isArray(required) || !isJsonObject(properties)) return [];
  return required
    .filter((name) => typeof name === 'string' && !hasRole(name, 'window'))
    .map((name: string) => {
      const schema = properties[name];
      return JSON.stringify(isJsonObject(schema) ? (schema['type'] ?? null) : null);
    })
    .sort();
}

function purposeOf(tool: Tool): Purpose {
  const [firstSentence = ''] = tool.description.split(/[.;\n]/);
  const words = [...wordsOf(tool.name), ...wordsOf(firstSentence)];
  return {
    verbGroup: words.map(verbGroupOf).find((verbGroup) => verbGroup !== undefined),
    things: new Set(
      words.filter((word) => word.length >= shortestThing && verbGroupOf(word) === undefined),
    ),
    requires: requiredTypes(tool).join(),
  };
}

/** Reading may be replaced by reading only: an alternative must not do more to the world. */
function isSafe(tool: Tool, other: Tool): boolean {
  return tool.effect !== 'read' || other.effect === 'read';
}

/** Tools that serve the same purpose as one, those that share most words with it first. */
export function alternativesOf(tool: Tool, tools: readonly Tool[]): readonly string[] {
  const { verbGroup, things, requires } = purposeOf(tool);
  if (verbGroup === undefined || requires === '') return [];
  return tools
    .filter((other) => other.name !== tool.name && isSafe(tool, other))
    .map((other) => ({ name: other.name, purpose: purposeOf(other) }))
    .filter(({ purpose }) => purpose.verbGroup === verbGroup && purpose.requires === requires)
    .map(({ name, purpose }) => ({
      name,
      shared: [...purpose.things].filter((word) => things.has(word)).length,
    }))
    .filter(({ shared }) => shared > 0)
    .sort((one, other) => other.shared - one.shared || (one.name < other.name ? -1 : 1))
    .map(({ name }) => name)
    .slice(0, mostAlternatives);
}
