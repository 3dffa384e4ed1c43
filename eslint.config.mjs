import js from '@eslint/js';
import ts from 'typescript-eslint';
import importX from 'eslint-plugin-import-x';
import { createTypeScriptImportResolver } from 'eslint-import-resolver-typescript';
import prettier from 'eslint-config-prettier';

const zone = (target, from, except, message) => ({
  target,
  from,
  ...(except ? { except } : {}),
  message,
});

export default ts.config(
  { ignores: ['dist', '.holdfast', '**/*.mjs', '**/*.cjs', '**/fixture-project'] },
  js.configs.recommended,
  ...ts.configs.strictTypeChecked,
  {
    files: ['**/*.ts'],
    plugins: { 'import-x': importX },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    settings: { 'import-x/resolver-next': [createTypeScriptImportResolver()] },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        {
          allowDefaultCaseForExhaustiveSwitch: false,
          considerDefaultExhaustiveForUnions: false,
          requireDefaultForNonUnion: true,
        },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      'import-x/no-cycle': 'error',
      'import-x/no-extraneous-dependencies': 'error',
      'import-x/no-default-export': 'error',
      'import-x/no-restricted-paths': [
        'error',
        {
          basePath: import.meta.dirname,
          zones: [
            zone('./workflows/core', './', ['./workflows/core'], 'core imports only core'),
            zone('./workflows/!(core)/**/*', './', ['./workflows'], 'workflows import workflows'),
            zone('./workflows', './activities', null, 'workflows know activities only by ports'),
            zone('./workflows', './workers', null, 'workflows never import workers'),
            zone('./workflows', './client', null, 'workflows never import the client'),
            zone(
              './activities',
              './workflows',
              ['./core'],
              'activities may import workflows/core only',
            ),
            zone('./activities', './workers', null, 'activities never import workers'),
            zone('./activities', './client', null, 'activities never import the client'),
            zone(
              './client',
              './workflows',
              [
                './core',
                './contract.ts',
                './people-events.ts',
                './failure-from-activity.ts',
                './child-outcome.ts',
              ],
              "client: contract, core, and the shell's three pure readers of history",
            ),
            zone(
              ['./workers/!(cli)*.ts', './workers/!(cli)/**/*'],
              './client',
              null,
              'workers never import the client; the command line (workers/cli) composes both',
            ),
            zone(
              ['./workflows', './activities', './workers', './client', './testing'],
              './test',
              null,
              'no test code in product code',
            ),
          ],
        },
      ],
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      complexity: ['error', { max: 12, variant: 'modified' }],
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
    },
  },
  {
    files: ['workflows/core/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: [{ regex: '^[^.]', message: 'core has no package imports' }] },
      ],
      'no-restricted-globals': [
        'error',
        'Date',
        'process',
        'console',
        'setTimeout',
        'setInterval',
        'setImmediate',
        'queueMicrotask',
        'fetch',
        'crypto',
        'performance',
        'Buffer',
        'AbortController',
        'TextEncoder',
      ],
      'no-restricted-properties': ['error', { object: 'Math', property: 'random' }],
      'no-restricted-syntax': [
        'error',
        { selector: ':function[async=true]', message: 'core is synchronous' },
        { selector: 'ImportExpression', message: 'no dynamic import' },
      ],
    },
  },
  {
    files: ['workflows/core/**/*.ts'],
    ignores: ['workflows/core/invariant.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        { selector: ':function[async=true]', message: 'core is synchronous' },
        { selector: 'ImportExpression', message: 'no dynamic import' },
        { selector: 'ThrowStatement', message: 'core returns failures' },
      ],
    },
  },
  {
    files: ['workflows/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '^(?!\\.|@temporalio/(workflow|common)$)',
              message: 'workflow shell: @temporalio/workflow only',
            },
          ],
        },
      ],
    },
  },
  {
    // Holds the worker's payload converter, which the SDK gives workflows by no other name (ADR 0022).
    files: ['workflows/message-payload.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex:
                '^(?!\\.|@temporalio/(workflow|common)$|@temporalio/workflow/lib/global-attributes$)',
              message: 'workflow shell: @temporalio/workflow only',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      'max-lines': ['error', { max: 600, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': 'off',
    },
  },
  prettier,
);
