/** Workflow code: Holdfast's own from the package, other code bundled once and cached by content. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { access, constants, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { BundleOptions, WorkerOptions } from '@temporalio/worker';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { z } from 'zod';
import { checkSdk } from '../client/sdk-check';
import { defined } from '../workflows/core/json';
import type { BundleExtras } from './prebuilt-bundle';
import { prebuiltBundlePath } from './prebuilt-bundle';
import { withProcessLock } from './process-lock';
import { reasonOf, SetupError } from './setup-error';

/** What to bundle and where to keep it. */
export interface WorkflowBundleOptions {
  /** File that exports the workflow functions. Default: Holdfast's own. */
  readonly workflowsPath?: string;
  /** File of workflows that are bundled beside Holdfast's own. */
  readonly userWorkflowsPath?: string;
  /** What else runs in workflows. */
  readonly extras?: BundleExtras;
  /** Absent: nothing is cached. */
  readonly cacheDirectory?: string;
}

/** What of a worker's options runs in workflows. */
export function bundleExtras({
  dataConverter,
  interceptors,
  bundlerOptions,
}: {
  readonly [Option in 'dataConverter' | 'interceptors' | 'bundlerOptions']?:
    WorkerOptions[Option] | undefined;
}): BundleExtras {
  const { payloadConverterPath, failureConverterPath } = dataConverter ?? {};
  const { workflowModules: workflowInterceptorModules } = interceptors ?? {};
  const { preloadModules } = bundlerOptions ?? {};
  return defined({
    ...{ payloadConverterPath, failureConverterPath },
    ...{ workflowInterceptorModules, preloadModules },
  });
}

/** A bundle as `Worker.create` takes it in `workflowBundle`. */
export interface WorkflowBundle {
  readonly code: string;
  /** `package`: made when Holdfast was built. */
  readonly from: 'package' | 'cache' | 'webpack';
}

const cacheEntrySchema = z.object({
  /** Files that went into the bundle, and the sha256 of their contents. */
  files: z.array(z.string()),
  digest: z.string(),
  code: z.string(),
});

/** One webpack run on a loaded machine. */
const lockWaitMs = 180_000;
/** Enough for the first error and the chain of imports that led to it. */
const maxErrorLines = 12;

/** The compiled file if this is compiled, else its source. */
function moduleFile(...stem: readonly string[]): string {
  const file = path.resolve(__dirname, ...stem);
  return existsSync(`${file}.js`) ? `${file}.js` : `${file}.ts`;
}

/** Path of Holdfast's workflows. */
export function holdfastWorkflowsPath(): string {
  return moduleFile('..', 'workflows', 'index');
}

/**
 * Lets all runs of a worker share Holdfast's workflow code, which keeps nothing of a run in its modules: loaded for each run, it
 * would hardly be compiled, and each cached run would hold a copy (ADR 0087).
 */
export function withSharedCode(options: BundleOptions): BundleOptions {
  return {
    ...options,
    preloadModules: [...(options.preloadModules ?? []), holdfastWorkflowsPath()],
  };
}

/**
 * Bundles the workflows of `userWorkflowsPath` beside Holdfast's.
 *
 * Errors: `SetupError` if that file would use another copy of the SDK.
 */
export function withUserWorkflows(
  options: BundleOptions,
  userWorkflowsPath: string,
): BundleOptions {
  const users = path.resolve(userWorkflowsPath);
  if (users === holdfastWorkflowsPath()) return options;
  const sdk = '@temporalio/workflow';
  checkSdk(
    (message) => new SetupError(message),
    [require.resolve(sdk), require.resolve(sdk, { paths: [path.dirname(users)] })],
  );
  return {
    ...options,
    workflowsPath: moduleFile('combined-workflows'),
    webpackConfigHook: ({ resolve, ...config }) => {
      const alias = Object.assign({}, resolve?.alias, { 'holdfast-user-workflows$': users });
      const aliased = { ...config, resolve: { ...resolve, alias } };
      return options.webpackConfigHook?.(aliased) ?? aliased;
    },
  };
}

/** A module's path from the package's folder; a module that the SDK leaves out has none. */
const relativeName = ({ resourcePath }: { readonly resourcePath: string }): string =>
  resourcePath.replace(/^ignored\|.*/, 'ignored');

/** Holdfast's own workflows, bundled for the package: the source map names places but holds no texts and no folders of this machine. */
export async function buildOwnBundle(extras: BundleExtras): Promise<string> {
  const { code } = await build({
    workflowsPath: holdfastWorkflowsPath(),
    ...extras,
    webpackConfigHook: (config) => ({
      ...config,
      context: path.resolve(__dirname, '..', '..'),
      devtool: 'inline-nosources-source-map',
      output: { ...config.output, pathinfo: false, devtoolModuleFilenameTemplate: relativeName },
    }),
  });
  return code;
}

/**
 * Takes Holdfast's own workflows from the package, with or without telemetry's module. Bundles other code, or those with other
 * `extras`, or takes it from the cache if not one of the files that went into it has changed.
 *
 * Contract: callers, of several processes too, that ask at once build once; a cache that cannot be written only costs time.
 * Errors: `SetupError` with webpack's or the SDK's reason, such as a module that is not allowed in workflows.
 */
export async function loadWorkflowBundle({
  workflowsPath = holdfastWorkflowsPath(),
  userWorkflowsPath,
  extras = {},
  cacheDirectory,
}: WorkflowBundleOptions = {}): Promise<WorkflowBundle> {
  const entry = path.resolve(userWorkflowsPath ?? workflowsPath);
  if (!existsSync(entry)) {
    throw new SetupError(`There is no workflow code at ${entry}. Build the project first.`);
  }
  const prebuilt = shippedBundle(entry, extras);
  if (prebuilt !== undefined) return { code: await readFile(prebuilt, 'utf8'), from: 'package' };
  const plain = { workflowsPath: entry, ...extras };
  const options = userWorkflowsPath === undefined ? plain : withUserWorkflows(plain, entry);
  if (cacheDirectory === undefined || !(await isWritable(cacheDirectory)))
    return { code: (await build(options)).code, from: 'webpack' };
  const key = [entry, options.workflowsPath, require.resolve('@temporalio/worker'), extras];
  const digest = createHash('sha256').update(JSON.stringify(key)).digest('hex').slice(0, 16);
  const cacheFile = path.join(cacheDirectory, `bundle-${digest}.json`);
  const hit = await readCache(cacheFile);
  if (hit !== undefined) return { code: hit, from: 'cache' };
  return buildLocked(cacheFile, options);
}

/** The path of one of the package's own bundles, if it is what is asked for. */
function shippedBundle(entry: string, extras: BundleExtras): string | undefined {
  return entry === holdfastWorkflowsPath() ? prebuiltBundlePath(extras) : undefined;
}

function buildLocked(cacheFile: string, options: BundleOptions): Promise<WorkflowBundle> {
  return withProcessLock(`${cacheFile}.lock`, lockWaitMs, async () => {
    const builtMeanwhile = await readCache(cacheFile);
    if (builtMeanwhile !== undefined) return { code: builtMeanwhile, from: 'cache' };
    const { code, files } = await build(options);
    const temporary = `${cacheFile}.${process.pid}`;
    await writeFile(temporary, JSON.stringify({ files, digest: await digestOf(files), code }));
    await rename(temporary, cacheFile);
    return { code, from: 'webpack' };
  });
}

async function build(
  options: BundleOptions,
): Promise<{ readonly code: string; readonly files: readonly string[] }> {
  const webpackLines: string[] = [];
  let files: readonly string[] = [];
  try {
    const { code } = await bundleWorkflowCode({
      ...withSharedCode(options),
      logger: new DefaultLogger('ERROR', ({ message }) => webpackLines.push(message)),
      webpackConfigHook: (config) => ({
        ...(options.webpackConfigHook?.(config) ?? config),
        plugins: [
          ...(config.plugins ?? []),
          {
            apply: (compiler) => {
              compiler.hooks.done.tap('holdfast-inputs', ({ compilation }) => {
                files = [...compilation.fileDependencies];
              });
            },
          },
        ],
      }),
    });
    return { code, files };
  } catch (thrown) {
    throw new SetupError(
      `The workflow code at ${options.workflowsPath} cannot be bundled: ${reasonOf(thrown)}\n${errorsOf(webpackLines)}`.trim(),
      { cause: thrown },
    );
  }
}

/** The errors in webpack's report, without its list of assets and its own stack. */
function errorsOf(webpackLines: readonly string[]): string {
  const report = webpackLines.join('\n');
  const lines = report.slice(Math.max(report.indexOf('ERROR in'), 0)).split('\n');
  return lines
    .filter((line) => line.trim() !== '' && !/^\s+at /.test(line))
    .slice(0, maxErrorLines)
    .join('\n');
}

/** The sha256 of all contents; a file that cannot be read counts as empty. */
async function digestOf(files: readonly string[]): Promise<string> {
  const contents = await Promise.all(files.map((file) => readFile(file).catch(() => '')));
  const hash = createHash('sha256');
  for (const content of contents) hash.update(`${content.length}:`).update(content);
  return hash.digest('hex');
}

async function readCache(cacheFile: string): Promise<string | undefined> {
  try {
    const entry = cacheEntrySchema.parse(JSON.parse(await readFile(cacheFile, 'utf8')));
    return (await digestOf(entry.files)) === entry.digest ? entry.code : undefined;
  } catch {
    return undefined;
  }
}

function isWritable(directory: string): Promise<boolean> {
  return mkdir(directory, { recursive: true, mode: 0o700 })
    .then(() => access(directory, constants.W_OK))
    .then(
      () => true,
      () => false,
    );
}
