/** Holdfast's own workflows as files that ship in the package, so that a worker starts without webpack and swc. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { BundleOptions } from '@temporalio/worker';

/** Files that are bundled with workflows: a data converter's, interceptors, and the preloaded modules that all runs share. */
export type BundleExtras = Pick<
  BundleOptions,
  'payloadConverterPath' | 'failureConverterPath' | 'workflowInterceptorModules' | 'preloadModules'
>;

const folder = path.resolve(__dirname, 'prebuilt');
const root = path.resolve(__dirname, '..');

/** The SDK's packages whose code, or whose other half, is in the bundle. */
const sdkPackages = ['common', 'proto', 'worker', 'workflow'];

function compiledFiles(directory: string): readonly string[] {
  return (readdirSync(directory, { recursive: true }) as string[])
    .filter((file) => file.endsWith('.js'))
    .sort()
    .map((file) => path.join(directory, file));
}

/**
 * The file's name: a digest of what makes it. That is the version of each SDK package, the compiled workflows, the file with
 * the settings of webpack, and for each file that is bundled with the workflows its option, its path, and the compiled files of its
 * folder.
 */
function fileName(extras: BundleExtras): string {
  const hash = createHash('sha256');
  for (const name of sdkPackages) {
    const file = require.resolve(`@temporalio/${name}/package.json`);
    const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string };
    hash.update(`${name} ${version}\n`);
  }
  const folders = new Set([path.join(root, 'workflows')]);
  for (const [option, files] of Object.entries(extras))
    for (const file of [files].flat()) {
      hash.update(`${option} ${path.relative(root, file)}\n`);
      folders.add(path.dirname(file));
    }
  const sources = [...folders].flatMap(compiledFiles);
  for (const file of [...sources, path.resolve(__dirname, 'workflow-bundle.js')]) {
    const content = readFileSync(file);
    hash.update(`${path.relative(root, file)} ${content.length}\n`).update(content);
  }
  return `workflows-${hash.digest('hex').slice(0, 16)}.js`;
}

/**
 * The path of the file that fits the installed SDK, this build, and what is to be bundled with the workflows; undefined if there
 * is none.
 *
 * Contract: never throws. Another version of the SDK, and workflows compiled after the file was made, have another name; there is
 * none for a user's own interceptors or converters.
 */
export function prebuiltBundlePath(extras: BundleExtras = {}): string | undefined {
  const files = Object.values(extras).flat();
  // Only the package's own files existed when it was built, and a user's folder may be large.
  if (files.some((file) => path.relative(root, file).startsWith('..'))) return undefined;
  try {
    const made = new Set(readdirSync(folder));
    const name = made.size === 0 ? undefined : fileName(extras);
    return name !== undefined && made.has(name) ? path.join(folder, name) : undefined;
  } catch {
    // Sources that are not compiled, or a package that is not whole: the bundle is built.
    return undefined;
  }
}

/** Replaces the shipped bundles; the build does this after compiling. */
export function writePrebuiltBundles(
  bundles: readonly (readonly [extras: BundleExtras, code: string])[],
): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [extras, code] of bundles) writeFileSync(path.join(folder, fileName(extras)), code);
}
