/** Holdfast's own workflows as one file that ships in the package, so that a worker starts without webpack and swc. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const folder = path.resolve(__dirname, 'prebuilt');
const workflows = path.resolve(__dirname, '..', 'workflows');

/** The SDK's packages whose code, or whose other half, is in the bundle. */
const sdkPackages = ['common', 'proto', 'worker', 'workflow'];

/**
 * The file's name: a digest of what makes it. That is the version of each SDK package, the compiled workflows, and the file with
 * the settings of webpack.
 */
function fileName(): string {
  const hash = createHash('sha256');
  for (const name of sdkPackages) {
    const file = require.resolve(`@temporalio/${name}/package.json`);
    const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string };
    hash.update(`${name} ${version}\n`);
  }
  const sources = (readdirSync(workflows, { recursive: true }) as string[])
    .filter((file) => file.endsWith('.js'))
    .sort()
    .map((file) => path.join(workflows, file));
  for (const file of [...sources, path.resolve(__dirname, 'workflow-bundle.js')]) {
    const content = readFileSync(file);
    hash.update(`${path.relative(workflows, file)} ${content.length}\n`).update(content);
  }
  return `workflows-${hash.digest('hex').slice(0, 16)}.js`;
}

/**
 * The path of the file that fits the installed SDK and this build; undefined if there is none.
 *
 * Contract: never rejects. Another version of the SDK, or workflows compiled after the file was made, have another name.
 */
export function prebuiltBundlePath(): string | undefined {
  try {
    const made = new Set(readdirSync(folder));
    const name = made.size === 0 ? undefined : fileName();
    return name !== undefined && made.has(name) ? path.join(folder, name) : undefined;
  } catch {
    // Sources that are not compiled, or a package that is not whole: the bundle is built.
    return undefined;
  }
}

/** Replaces the file in the package; the build does this after compiling. */
export function writePrebuiltBundle(code: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  writeFileSync(path.join(folder, fileName()), code);
}
