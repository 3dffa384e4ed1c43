/** What code may say. What it may import is in .dependency-cruiser.cjs. */
import js from '@eslint/js';
import ts from 'typescript-eslint';
import importX from 'eslint-plugin-import-x';
import { createTypeScriptImportResolver } from 'eslint-import-resolver-typescript';
import prettier from 'eslint-config-prettier';

/** All runs of a worker share workflow code (ADR 0087): what one keeps in a module, others would find. */
const stateless = [
  {
    selector: ':matches(Program, ExportNamedDeclaration) > VariableDeclaration[kind!="const"]',
    message: 'all runs of a worker share this module: keep nothing of a run in it',
  },
  {
    selector:
      ':matches(Program, ExportNamedDeclaration) > VariableDeclaration > VariableDeclarator > NewExpression[callee.name=/^(Map|WeakMap|WeakSet)$/]',
    message: 'all runs of a worker share this module: keep nothing of a run in it',
  },
];

export default ts.config(
  {
    ignores: [
      'dist',
      '.holdfast',
      '**/*.mjs',
      '**/*.cjs',
      '**/fixture-project',
      'examples/gateway-api.d.ts',
    ],
  },
  js.configs.recommended,
  ...ts.configs.strictTypeChecked,
  {
    files: ['**/*.{ts,tsx}'],
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
      'import-x/no-extraneous-dependencies': 'error',
      'import-x/no-default-export': 'error',
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      complexity: ['error', { max: 12, variant: 'modified' }],
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
    },
  },
  {
    files: ['{workflows,telemetry/workflow}/**/*.ts'],
    rules: { 'no-restricted-syntax': ['error', ...stateless] },
  },
  {
    files: ['workflows/core/**/*.ts'],
    rules: {
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
        ...stateless,
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
        ...stateless,
        { selector: ':function[async=true]', message: 'core is synchronous' },
        { selector: 'ImportExpression', message: 'no dynamic import' },
        { selector: 'ThrowStatement', message: 'core returns failures' },
      ],
    },
  },
  {
    // What users load in their tests; the programs of the command line run under Node alone.
    files: ['{activities,client,server,testing}/**/*.ts', 'workers/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        { selector: 'ImportExpression', message: 'jest has no import() in CommonJS (ADR 0029)' },
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
