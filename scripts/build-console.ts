/** Builds the console for the gateway: `npm run build` does it. */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

const root = path.resolve(__dirname, '..');
const source = path.join(root, 'server', 'console');
const target = path.join(root, 'dist', 'server', 'console');
/** Packages whose code is in the console; their licenses go with it, and they are in the bill of materials. */
export const bundledInConsole: readonly string[] = ['openapi-fetch', 'preact'];

/** The packages whose files are named in the text, sorted: their folders below `node_modules`. */
export function packagesIn(text: string): readonly string[] {
  const found = text.matchAll(
    /node_modules\/((?:@[\w.-]+\/)?[\w.-]+(?:\/node_modules\/(?:@[\w.-]+\/)?[\w.-]+)*)\//g,
  );
  return [...new Set(Array.from(found, ([, folder = '']) => folder))].sort();
}

async function buildConsole(): Promise<void> {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [path.join(source, 'main.tsx')],
    tsconfig: path.join(source, 'tsconfig.json'),
    bundle: true,
    minify: true,
    format: 'esm',
    target: ['chrome111', 'firefox114', 'safari16.4'],
    entryNames: 'console-[hash]',
    outdir: target,
    metafile: true,
    legalComments: 'none',
  });
  const bundled = packagesIn(Object.keys(metafile.inputs).join('\n'));
  if (bundled.join() !== bundledInConsole.join())
    throw new Error(
      `The console contains ${bundled.join(', ')}; \`bundledInConsole\` in scripts/build-console.ts says ${bundledInConsole.join(', ')}. Name there what it contains.`,
    );
  const built = Object.keys(metafile.outputs).map((file) => path.basename(file));
  const nameOf = (ending: string): string => {
    const name = built.find((file) => file.endsWith(ending));
    if (name === undefined) throw new Error(`the console has no ${ending} file`);
    return `/console/${name}`;
  };
  const page = readFileSync(path.join(source, 'page.html'), 'utf8')
    .replace('SCRIPT', nameOf('.js'))
    .replace('STYLE', nameOf('.css'));
  writeFileSync(path.join(target, 'index.html'), page);
  for (const name of bundled)
    copyFileSync(
      path.join(root, 'node_modules', name, 'LICENSE'),
      path.join(target, `${name}-license.txt`),
    );
}

if (require.main === module) void buildConsole();
