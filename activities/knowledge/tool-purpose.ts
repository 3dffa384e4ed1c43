/** Which tools serve the same purpose: verbs of one group, with the same required input, about the same thing (ADR 0030). */
import type { KnownTool } from '../definitions/tool-knowledge';
import { mostAlternatives } from '../definitions/tool-knowledge';
import { hasRole } from '../identity/parameter-roles';
import { isJsonObject } from '../tools/input-schema';
import type { VerbGroup } from '../tools/tool-verbs';
import { verbGroupOf, wordsOf } from '../tools/tool-verbs';

/** Shortest word that counts as a noun: shorter ones are mostly articles and prepositions. */
const shortestThing = 4;

interface Purpose {
  readonly verbGroup: VerbGroup | undefined;
  /** Words of name and description, without verbs. */
  readonly things: ReadonlySet<string>;
  /** JSON types of the required parameters, without windows. */
  readonly requires: string;
}

function requiredTypes({ inputSchema }: KnownTool): readonly string[] {
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

function purposeOf(tool: KnownTool): Purpose {
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
export function mayReplace(tool: KnownTool, other: KnownTool): boolean {
  return other.name !== tool.name && (tool.effect !== 'read' || other.effect === 'read');
}

/** Tools that serve the same purpose as one, those that share most words with it first. */
export function alternativesOf(tool: KnownTool, tools: readonly KnownTool[]): string[] {
  const { verbGroup, things, requires } = purposeOf(tool);
  if (verbGroup === undefined || requires === '') return [];
  return tools
    .filter((other) => mayReplace(tool, other))
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

/** The tool that finds files, a search before a listing. */
export function finderOf(tools: readonly KnownTool[]): string | undefined {
  const finders = tools.filter((tool) => {
    const { verbGroup, things } = purposeOf(tool);
    return (
      verbGroup === 'find' &&
      ['file', 'path', 'directory', 'folder'].some((word) => things.has(word))
    );
  });
  const lists = (name: string): boolean => wordsOf(name).includes('list');
  return (finders.find(({ name }) => !lists(name)) ?? finders[0])?.name;
}
