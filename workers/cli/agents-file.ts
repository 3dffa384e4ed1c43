/** Loads the module of `--agents FILE` and checks the shape of what it exports; what is in it, `createActivities` checks. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { ActivitiesConfig } from '../../activities/index';
import { protectPath } from '../../activities/lifecycle/protected-paths';
import { reasonOf, SetupError } from '../setup-error';
import type { Surroundings } from './command-context';
import { withSecretsInEnvironment } from './own-environment';

/** What an agents' file may export: a worker's configuration but for its store. */
export type AgentsFile = Pick<ActivitiesConfig, 'agents'> &
  Partial<
    Pick<
      ActivitiesConfig,
      | 'providers'
      | 'prices'
      | 'windows'
      | 'tenantCaps'
      | 'notifiers'
      | 'notifyOn'
      | 'webUiUrl'
      | 'approvers'
    >
  >;

const aFunction = (remedy = ''): z.ZodType =>
  z.instanceof(Function, { error: `is not a function${remedy}` });
const text = z.string({ error: 'is not a text' });
const listOf = <Entry extends z.ZodType>(entry: Entry): z.ZodArray<Entry> =>
  z.array(entry, { error: 'is not an array' });
const objectOf = <Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape> =>
  z.looseObject(shape, { error: 'is not an object' });

const shape = z.object({
  agents: listOf(
    objectOf({
      name: text,
      instructions: text,
      chain: listOf(objectOf({ provider: text, model: text })).min(1, { error: 'is empty' }),
      tools: listOf(objectOf({ name: text, parse: aFunction(' (make tools with defineTool)') })),
    }),
  ).min(1, { error: 'is empty' }),
  providers: listOf(objectOf({ name: text, problem: aFunction(), send: aFunction() })).optional(),
  notifiers: listOf(objectOf({ name: text, notify: aFunction() })).optional(),
  notifyOn: listOf(text).optional(),
  webUiUrl: text.optional(),
  approvers: listOf(text).optional(),
  prices: objectOf({}).optional(),
  tenantCaps: objectOf({}).optional(),
  windows: z.record(z.string(), z.number({ error: 'is not a number of tokens' })).optional(),
});

const names = Object.keys(shape.shape) as readonly (keyof AgentsFile)[];

/** Problems that an error names; the others are mostly the same again. */
const shownProblems = 5;

/** How each export is written, for errors. */
const examples: { readonly [Name in keyof AgentsFile]-?: string } = {
  agents:
    'agents = [{ name, instructions, chain: [{ provider, model }], tools: [defineTool(...)] }]',
  providers: 'providers = [anthropicProvider({ apiKey })]',
  notifiers: 'notifiers = [slackNotifier({ url })], or objects with a name and notify()',
  notifyOn: "notifyOn = ['escalation', 'question', 'approval']",
  webUiUrl: "webUiUrl = 'https://temporal.example.com'",
  approvers: "approvers = ['ed25519:...'] (holdfast approval-key FILE)",
  prices: "prices = { 'my-model': { input: 2, output: 10 } }",
  windows: "windows = { 'my-model': 128_000 }",
  tenantCaps: "tenantCaps = { '*': { usd: 50 }, acme: { usd: 500, runs: 20 } }",
};

/**
 * Loads the file. While it loads, it finds every variable in `process.env`, afterwards all but secrets.
 *
 * Errors: `SetupError` for a file that cannot be loaded, and as `checkAgentsFile`.
 */
export async function loadAgentsFile(
  file: string,
  variables: Surroundings['variables'],
): Promise<AgentsFile> {
  protectPath(file);
  return checkAgentsFile(file, await withSecretsInEnvironment(variables, () => load(file)));
}

/**
 * What a loaded CommonJS or ES module exports under the names that count.
 *
 * Errors: `SetupError` for every export of another shape, with how it is written.
 */
export function checkAgentsFile(file: string, module: unknown): AgentsFile {
  const exported = exportsOf(module);
  const parsed = shape.safeParse(exported);
  // The objects as the file made them: a copy would lose their classes.
  if (parsed.success) return exported as unknown as AgentsFile;
  const { issues } = parsed.error;
  const problems = issues.map(({ path: at, message }) =>
    exported[String(at[0])] === undefined
      ? `it exports no "${String(at[0])}"`
      : `${z.core.toDotPath(at)} ${message}`,
  );
  const wrong = names.filter((name) => issues.some(({ path: [at] }) => at === name));
  throw new SetupError(
    `The agents' file ${file} is not usable: ${problems.slice(0, shownProblems).join('; ')}. Write: ${wrong.map((name) => `exports.${examples[name]}`).join('; ')}.`,
  );
}

async function load(file: string): Promise<unknown> {
  try {
    return await import(pathToFileURL(path.resolve(file)).href);
  } catch (thrown) {
    throw new SetupError(
      `The agents' file ${file} cannot be loaded: ${reasonOf(thrown)}. Give a .js, .cjs or .mjs module that exports \`agents\` (--agents FILE).`,
      { cause: thrown },
    );
  }
}

function exportsOf(module: unknown): Readonly<Record<string, unknown>> {
  const record = module as Record<string, unknown> & { default?: Record<string, unknown> };
  return Object.fromEntries(
    names
      .map((name) => [name, record[name] ?? record.default?.[name]] as const)
      .filter(([, value]) => value !== undefined),
  );
}
