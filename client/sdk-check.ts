/** Reports two copies or an unknown version of Temporal's SDK before they fail in ways that name neither. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Oldest version whose API suffices, and the newest that the tests ran with; `package.json` names the same range. */
export const testedSdk = { oldest: '1.24.0', newest: '1.24.0' } as const;

const packageFolder =
  /^(.*[\\/]@temporalio[\\/](?:activity|client|common|core-bridge|testing|worker|workflow))[\\/]/;
let warned = false;

function versionIn(folder: string): string {
  const file = path.join(folder, 'package.json');
  if (!existsSync(file)) return 'unknown';
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly version?: string }).version ?? '';
}

function numbersOf(version: string): readonly [major: number, minor: number] {
  const [major = '', minor = ''] = version.split('.');
  return [Number(major), Number(minor)];
}

/** A problem with the SDK: `mixed` copies never work together; an `untested` version may. */
export interface SdkProblem {
  readonly type: 'mixed' | 'unsupported' | 'untested';
  readonly message: string;
}

/** What is wrong with the SDK that these files belong to; undefined if nothing is, or none of them is the SDK's. */
export function sdkProblem(
  files: readonly string[],
  versionOf: (folder: string) => string = versionIn,
): SdkProblem | undefined {
  const folders = new Set(files.flatMap((file) => packageFolder.exec(file)?.[1] ?? []));
  const copies = [...folders].map((folder) => {
    const name = `@temporalio/${path.win32.basename(folder)}`;
    const version = versionOf(folder);
    return { name, version, text: `${name} ${version} from ${folder}` };
  });
  const pairs = copies.flatMap((one, index) =>
    copies.slice(index + 1).map((other) => [one, other] as const),
  );
  const [one, other] =
    pairs.find(([left, right]) => left.name === right.name) ??
    pairs.find(([left, right]) => left.version !== right.version) ??
    [];
  if (one !== undefined && other !== undefined)
    return {
      type: 'mixed',
      message: `${one.text} and ${other.text} are loaded; they do not work together. Install all @temporalio packages once and at one version; \`npm ls @temporalio/common\` shows who brings another.`,
    };
  const [first] = copies;
  return first && versionProblem(first.version);
}

function versionProblem(version: string): SdkProblem | undefined {
  const [major, minor] = numbersOf(version);
  const [oldestMajor, oldestMinor] = numbersOf(testedSdk.oldest);
  if (major !== oldestMajor || minor < oldestMinor)
    return {
      type: 'unsupported',
      message: `Version ${version} of Temporal's SDK is loaded; Holdfast needs ^${testedSdk.oldest}. Install that version of all @temporalio packages.`,
    };
  if (minor <= numbersOf(testedSdk.newest)[1]) return undefined;
  return {
    type: 'untested',
    message: `Version ${version} of Temporal's SDK is loaded; Holdfast was tested with ${testedSdk.newest} at most.`,
  };
}

/** Files of all modules that this process has loaded; none in a bundle, which has no such list. */
function loadedFiles(): readonly string[] {
  try {
    return Object.keys(require.cache);
  } catch {
    return [];
  }
}

/**
 * Throws what `toError` makes of the problem if the loaded SDK, or one of `files`, is mixed or unsupported; warns once of an
 * untested version.
 *
 * Contract: called before anything connects, polls or is bundled.
 */
export function checkSdk(
  toError: (message: string) => Error,
  files: readonly string[] = loadedFiles(),
): void {
  const problem = sdkProblem(files);
  if (problem === undefined) return;
  if (problem.type !== 'untested') throw toError(problem.message);
  if (!warned) process.emitWarning(problem.message, { code: 'HOLDFAST_UNTESTED_SDK' });
  warned = true;
}
