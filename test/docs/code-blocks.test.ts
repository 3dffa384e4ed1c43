/** Code in the documents is code of the examples, which the tests run, or of the first steps, which `npm run first-steps` does. */
import { compileFunction } from 'node:vm';
import ts from 'typescript';
import { z } from 'zod';
import * as holdfast from '../../index';
import { checkAgentsFile } from '../../workers/cli/agents-file';
import { codeBlocks, documents, sourceText } from './documents';

/** Code without white space: a document indents and wraps it in its own way. */
function condensed(code: string): string {
  return code.replace(/\s/g, '');
}

/** The reference is made from the declarations (`test/docs/api.system.test.ts`). */
const guides = documents().filter(({ file }) => !file.startsWith('docs/api/'));
const blocks = guides.flatMap((document) =>
  codeBlocks(document).map((block) => ({ file: document.file, ...block })),
);
const typescript = blocks.filter(
  ({ language, source }) => language === 'ts' && source?.startsWith('first-steps/') !== true,
);

/** Code of another vendor's package, which this repository does not install: what a migration begins with. */
const foreign = /^@temporalio\/(ai-sdk|openai-agents)@\d+\.\d+\.\d+$/;

test('the README shows code', () => {
  expect(typescript.filter(({ file }) => file === 'README.md').length).toBeGreaterThan(0);
});

test.each(typescript)('$file shows what stands in $source', ({ file, source = '', code }) => {
  if (foreign.test(source)) {
    expect(file).toMatch(/^docs\/migration-/);
    return;
  }
  expect(source).toMatch(/^examples\/[\w/-]+\.ts$/);
  expect(condensed(sourceText(source))).toContain(condensed(code));
});

test("the agents' file in docs/cli.md is one", () => {
  const { code = '' } =
    blocks.find(({ file, language }) => file === 'docs/cli.md' && language === 'js') ?? {};
  const { outputText } = ts.transpileModule(code, {
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  });
  const exported = {};
  const modules: Readonly<Record<string, object>> = { holdfast, zod: { z } };
  const variables = { env: { SLACK_WEBHOOK_URL: 'https://hooks.slack.com/services/x' } };
  const load = compileFunction(outputText, ['exports', 'require', 'process']) as (
    exports: object,
    require: (name: string) => object | undefined,
    process: object,
  ) => void;
  load(exported, (name) => modules[name], variables);
  expect(Object.keys(checkAgentsFile('agents.mjs', exported)).sort()).toEqual([
    'agents',
    'notifiers',
    'webUiUrl',
  ]);
});
