/** Workflow code bundled once and cached by content, so that workers and tests start fast. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { BundleOptions } from '@temporalio/worker';
import { bundleWorkflowCode } from '@temporalio/worker';
import { z } from 'zod';
import { withProcessLock } from './process-lock';
import { reasonOf, SetupError } from './setup-error';

/** What to bundle and where to keep it. */
export interface WorkflowBundleOptions {
  /** File that exports the workflow functions; default: Holdfast's own. */
  readonly workflowsPath?: string;
  /** Absent: nothing is cached. */
  readonly cacheDirectory?: string;
  /** Modules whose `interceptors` export joins the bundle. */
  readonly workflowInterceptorModules?: readonly string[];
}

/** A bundle as `Worker.create` takes it in `workflowBundle`. */
export interface WorkflowBundle {
  readonly code: string;
  /** True if it came from the cache. */
  readonly cached: boolean;
}

const cacheEntrySchema = z.object({
  /** Each file that went into the bundle, with the sha256 of its content. */
  inputs: z.array(z.tuple([z.string(), z.string()])),
  code: z.string(),
});
type CacheEntry = z.infer<typeof cacheEntrySchema>;
type InputHash = CacheEntry['inputs'][number];

/** One webpack run on a loaded machine. */
const lockWaitMs = 180_000;
/** Enough for the first error and the chain of imports that led to it. */
const maxErrorLines = 12;
const bundles = new Map<string, Promise<WorkflowBundle>>();

/** Path of Holdfast's workflows: compiled beside the compiled worker, else the source. */
export function holdfastWorkflowsPath(): string {
  const stem = path.resolve(__dirname, '..', 'workflows', 'index');
  return existsSync(`${stem}.js`) ? `${stem}.js` : `${stem}.ts`;
}

/**
 * Bundles workflow code, or takes it from the cache if not one of the files that went into it has changed.
 *
 * Contract: several processes that ask at once build once; a cache that cannot be written only costs time.
 * Errors: `SetupError` with webpack's or the SDK's reason, such as a module that is not allowed in workflows.
 */
export async function loadWorkflowBundle(
  options: WorkflowBundleOptions = {},
): Promise<WorkflowBundle> {
  const workflowsPath = path.resolve(options.workflowsPath ?? holdfastWorkflowsPath());
  if (!existsSync(workflowsPath)) {
    throw new SetupError(`There is no workflow code at ${workflowsPath}. Build the project first.`);
  }
  const interceptors = options.workflowInterceptorModules ?? [];
  const { cacheDirectory } = options;
  if (cacheDirectory === undefined) {
    return { code: (await build(workflowsPath, interceptors)).code, cached: false };
  }
  const cacheFile = path.join(cacheDirectory, `bundle-${keyOf(workflowsPath, interceptors)}.json`);
  const hit = await readCache(cacheFile);
  if (hit !== undefined) return { code: hit, cached: true };
  return buildShared(cacheFile, workflowsPath, interceptors);
}

/** Callers in this process share one build; other processes wait for its file. */
function buildShared(
  cacheFile: string,
  workflowsPath: string,
  interceptors: readonly string[],
): Promise<WorkflowBundle> {
  const running = bundles.get(cacheFile);
  if (running !== undefined) return running;
  const started = buildLocked(cacheFile, workflowsPath, interceptors).finally(() => {
    bundles.delete(cacheFile);
  });
  bundles.set(cacheFile, started);
  return started;
}

async function buildLocked(
  cacheFile: string,
  workflowsPath: string,
  interceptors: readonly string[],
): Promise<WorkflowBundle> {
  if (!(await isWritable(path.dirname(cacheFile)))) {
    return { code: (await build(workflowsPath, interceptors)).code, cached: false };
  }
  return withProcessLock(`${cacheFile}.lock`, lockWaitMs, async () => {
    const builtMeanwhile = await readCache(cacheFile);
    if (builtMeanwhile !== undefined) return { code: builtMeanwhile, cached: true };
    const entry = await build(workflowsPath, interceptors);
    await writeWhole(cacheFile, JSON.stringify(entry));
    return { code: entry.code, cached: false };
  });
}

async function build(workflowsPath: string, interceptors: readonly string[]): Promise<CacheEntry> {
  const webpackLines: string[] = [];
  let inputFiles: readonly string[] = [];
  const options: BundleOptions = {
    workflowsPath,
    workflowInterceptorModules: [...interceptors],
    logger: collectingLogger(webpackLines),
    webpackConfigHook: (config) => ({
      ...config,
      plugins: [
        ...(config.plugins ?? []),
        {
          apply: (compiler) => {
            compiler.hooks.done.tap('holdfast-inputs', (stats) => {
              inputFiles = [...stats.compilation.fileDependencies];
            });
          },
        },
      ],
    }),
  };
  try {
    const { code } = await bundleWorkflowCode(options);
    return { inputs: await hashInputs(inputFiles), code };
  } catch (thrown) {
    throw new SetupError(
      `The workflow code at ${workflowsPath} cannot be bundled: ${reasonOf(thrown)}\n${errorsOf(webpackLines)}`.trim(),
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

type SdkLogger = NonNullable<BundleOptions['logger']>;

/** Keeps what webpack says of errors, and nothing else. */
function collectingLogger(lines: string[]): SdkLogger {
  const ignore = (): void => undefined;
  const keep = (message: string): void => {
    lines.push(message);
  };
  return {
    log: (level, message) => {
      if (level === 'ERROR') lines.push(message);
    },
    trace: ignore,
    debug: ignore,
    info: ignore,
    warn: ignore,
    error: keep,
  };
}

async function hashInputs(files: readonly string[]): Promise<InputHash[]> {
  const hashed = await Promise.all(
    files.map(async (file): Promise<InputHash | undefined> => {
      const hash = await hashFile(file);
      return hash === undefined ? undefined : [file, hash];
    }),
  );
  return hashed.filter((input) => input !== undefined);
}

async function hashFile(file: string): Promise<string | undefined> {
  try {
    return createHash('sha256')
      .update(await readFile(file))
      .digest('hex');
  } catch {
    return undefined;
  }
}

async function readCache(cacheFile: string): Promise<string | undefined> {
  let entry: CacheEntry | undefined;
  try {
    entry = cacheEntrySchema.safeParse(JSON.parse(await readFile(cacheFile, 'utf8'))).data;
  } catch {
    return undefined;
  }
  if (entry === undefined) return undefined;
  const fresh = await Promise.all(
    entry.inputs.map(async ([file, hash]) => (await hashFile(file)) === hash),
  );
  return fresh.every(Boolean) ? entry.code : undefined;
}

function keyOf(workflowsPath: string, interceptors: readonly string[]): string {
  const worker = require.resolve('@temporalio/worker');
  return createHash('sha256')
    .update(JSON.stringify([workflowsPath, interceptors, worker]))
    .digest('hex')
    .slice(0, 16);
}

async function isWritable(directory: string): Promise<boolean> {
  try {
    await mkdir(directory, { recursive: true });
    const probe = path.join(directory, `probe-${process.pid}`);
    await writeFile(probe, '');
    await rm(probe);
    return true;
  } catch {
    return false;
  }
}

async function writeWhole(file: string, text: string): Promise<void> {
  const temporary = `${file}.${process.pid}`;
  await writeFile(temporary, text);
  await rename(temporary, file);
}
