/** Patterns from the corpus to a recovery action, and how they gain and lose trust. Pure, or on a real store. */
import { afterUse, judged, lowerBound, trustIn } from '../../activities/learning/evidence';
import { extractPatterns } from '../../activities/extract-patterns';
import { showOutput } from '../../activities/tool-output/tool-output';
import { fenceToolOutput } from '../../activities/untrusted/fence';
import { describeFix, fixBetween, parametersFrom } from '../../activities/learning/fix-template';
import type { LearnedQuestion } from '../../activities/definitions/feature-hooks';
import type { Observation, Pattern } from '../../activities/stores/patterns/pattern-shape';
import { lookupPattern } from '../../activities/learning/use-patterns';
import type { PatternStore } from '../../activities/stores/patterns/pattern-store';
import { errorFingerprint, errorKindText } from '../../workflows/core/errors/error-fingerprint';
import type { JsonObject } from '../../workflows/core/json';
import { anObservation, aPattern } from '../store/pattern-store-contract';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

const nowMs = 1_700_000_000_000;
const dayMs = 86_400_000;
const missing = "ENOENT: no such file or directory, open 'parse-line.js'";
const kind = errorFingerprint('tool_execution_failed', missing);
const searchResult = 'src/log/parse-line.js:12: export function parseLine\nREADME.md:3: parse-line';

describe('the kind of an error', () => {
  it.each([
    [missing, "ENOENT: no such file or directory, open 'docs/other.md'"],
    ['unknown order 4711 of 2026-11-28', 'unknown order 12 of 2025-01-01'],
    ['GET https://a.example/x?id=1 failed', 'GET https://b.example/ failed'],
  ])('is the same for %s and %s', (left, right) => {
    expect(errorKindText(left)).toBe(errorKindText(right));
  });

  it.each([
    ['HTTP 404 of https://a.example/x', 'HTTP 500 of https://a.example/x'],
    ['exit code 1', 'exit code 2'],
    [missing, "EISDIR: illegal operation on a directory, read 'src'"],
  ])('differs for %s and %s', (left, right) => {
    expect(errorKindText(left)).not.toBe(errorKindText(right));
  });

  it('differs by code', () => {
    expect(errorFingerprint('tool_timeout', 'x')).not.toBe(errorFingerprint('rate_limit', 'x'));
  });

  it('takes time that grows with the length of the text only', () => {
    const startedAt = performance.now();
    for (const part of ['a/', '"', "'", 'a.', '1,', 'http://', '<', ':1 '])
      errorKindText(part.repeat(50_000));
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });
});

const schema: JsonObject = {
  type: 'object',
  properties: { unit: { type: 'string', enum: ['metric', 'imperial'] } },
};

describe('a fix as a template', () => {
  const results = [{ tool: 'search_files', text: searchResult }];
  it.each<[string, JsonObject, JsonObject, string]>([
    [
      'a path that a search had found',
      { path: 'parse-line.js' },
      { path: 'src/log/parse-line.js' },
      'path: bare file name → relative path from the result of search_files',
    ],
    [
      'a path without its line',
      { path: 'src/a.js:12: code' },
      { path: 'src/a.js' },
      'path: strip line suffix',
    ],
    ['a number that was text', { limit: '10' }, { limit: 10 }, 'limit: to number'],
    ["a value of the schema's list", { unit: 'celsius' }, { unit: 'metric' }, 'unit: "metric"'],
    ['a renamed parameter', { file: 'a b' }, { path: 'a b' }, 'path: the value of file'],
    [
      'a value from nowhere',
      { token: 'hunter2 old' },
      { token: 'hunter2 new' },
      'token: text → text',
    ],
    ['nothing at all', { path: 'a' }, { path: 'a' }, 'again with the same parameters'],
  ])('describes %s', (_, failed, worked, text) => {
    const fix = fixBetween(
      { tool: 'read', input: failed },
      { tool: 'read', input: worked },
      schema,
      results,
    );
    expect(describeFix(fix)).toContain(text);
    expect(JSON.stringify(fix)).not.toMatch(/hunter2|parse-line/);
  });

  it.each<[string, JsonObject, JsonObject, JsonObject, JsonObject | undefined]>([
    [
      'finds the path of another file in a new result',
      { path: 'parse-line.js' },
      { path: 'src/log/parse-line.js' },
      { path: 'render.js', lines: 3 },
      { path: 'src/report/render.js', lines: 3 },
    ],
    [
      'applies a transformation',
      { path: 'src/a.js:12' },
      { path: 'src/a.js' },
      { path: 'b/c.ts:7' },
      { path: 'b/c.ts' },
    ],
    ['drops a parameter', { a: 1, b: 2 }, { a: 1 }, { a: 5, b: 6 }, { a: 5 }],
    [
      'gives only advice where the value came from nowhere',
      { a: 'x y' },
      { a: 'q r' },
      { a: 'z z' },
      undefined,
    ],
    [
      'gives only advice where the result does not have the value',
      { path: 'parse-line.js' },
      { path: 'src/log/parse-line.js' },
      { path: 'nowhere.js' },
      undefined,
    ],
  ])('%s', (_, failed, worked, next, expected) => {
    const fix = fixBetween(
      { tool: 'read', input: failed },
      { tool: 'read', input: worked },
      schema,
      results,
    );
    const text = 'src/report/render.js:1: x\nlib/a.js:2: y\nlib/b.js:2: y';
    expect(parametersFrom(fix, next, [{ tool: 'search_files', text }])).toEqual(expected);
  });

  it('maps the parameters of another tool', () => {
    const fix = fixBetween(
      { tool: 'fetch_page', input: { address: 'https://a.example/x' } },
      { tool: 'http_get', input: { url: 'https://a.example/x' } },
      schema,
      [],
    );
    expect(fix.strategy).toBe('alternative-tool');
    expect(parametersFrom(fix, { address: 'https://b.example' }, [])).toEqual({
      url: 'https://b.example',
    });
  });
});

describe('trust', () => {
  it.each([
    [3, 0, 0.646],
    [7, 0, 0.81],
    [1, 0, 0.378],
    [0, 3, 0],
    [5, 5, 0.312],
  ])('of %d successes and %d failures is %d', (successes, failures, bound) => {
    expect(lowerBound({ successes, failures })).toBeCloseTo(bound, 2);
  });

  it('grows with every success and falls with every failure', () => {
    for (let trials = 1; trials < 40; trials += 1) {
      const now = lowerBound({ successes: trials, failures: 2 });
      expect(lowerBound({ successes: trials + 1, failures: 2 })).toBeGreaterThan(now);
      expect(lowerBound({ successes: trials, failures: 3 })).toBeLessThan(now);
    }
  });

  it('halves its evidence in 30 days, so that a pattern rests when nothing confirms it', () => {
    const pattern = aPattern();
    expect(trustIn(pattern, nowMs + 30 * dayMs)).toBeCloseTo(
      lowerBound({ successes: 4.5, failures: 0 }),
      6,
    );
    expect(judged(pattern, nowMs + 30 * dayMs).status).toBe('active');
    expect(judged(pattern, nowMs + 90 * dayMs).status).toBe('candidate');
  });

  it('is lost by two failures in three uses, however good the record was', () => {
    const famous = aPattern({ observed: { successes: 500, failures: 0, atMs: nowMs } });
    const uses = [true, false, false];
    const seen = uses.reduce<Pattern[]>(
      (all, helped, index) => [
        ...all,
        afterUse(all.at(-1) ?? famous, { key: `k${index}`, helped }, nowMs),
      ],
      [],
    );
    expect(seen.map(({ status }) => status)).toEqual(['active', 'active', 'demoted']);
  });

  it('counts one use once', () => {
    const once = afterUse(aPattern(), { key: 'k', helped: false }, nowMs);
    expect(afterUse(once, { key: 'k', helped: false }, nowMs)).toEqual(once);
  });
});

describe('patterns in a store', () => {
  let stored: TemporaryStore;
  beforeEach(async () => {
    stored = await temporaryStore();
  });
  afterEach(() => stored.dispose());

  function healed(index: number, changes: Partial<Observation> = {}): Observation {
    return anObservation({
      key: `run-${index}`,
      errorFingerprint: kind,
      atMs: nowMs + index,
      ...changes,
    });
  }

  const tool = (name: string) => ({ name, description: '', inputSchema: {} });
  const context: LearnedQuestion = {
    config: { tools: [tool('read_file'), tool('search_files')] },
    trouble: {
      tool: 'read_file',
      code: 'tool_execution_failed',
      message: "ENOENT: no such file or directory, open 'render.js'",
      input: { path: 'render.js' },
    },
    messages: [
      {
        role: 'tool',
        results: [
          {
            type: 'tool-result',
            toolCallId: 'run_1_0',
            name: 'search_files',
            content: fenceToolOutput('search_files', 'src/report/render.js:4: x'),
            isError: false,
          },
        ],
      },
    ],
  };

  /** An output of which the model reads head and tail, with the path in between. */
  function longSearch(path: string): string {
    const lines = Array.from({ length: 900 }, (_each, at) => `src/other/file${at}.js:1: x`);
    return [...lines, `${path}:4: x`, ...lines].join('\n');
  }

  function failedWith(patterns: PatternStore, id: string, key: string, atMs: number) {
    const use = { key, helped: false };
    return patterns.updatePattern(id, (known) => known && afterUse(known, use, atMs));
  }

  it('are used after three verified successes, with the value of the new case', async () => {
    const { patterns } = stored.store;
    await patterns.recordObservations([healed(1), healed(2)]);
    expect(await extractPatterns(patterns, nowMs)).toMatchObject({ patterns: 1, active: 0 });
    expect(await lookupPattern(stored.store, context, nowMs)).toBeUndefined();
    await patterns.recordObservations([healed(3)]);
    expect(await extractPatterns(patterns, nowMs)).toMatchObject({ patterns: 1, active: 1 });
    const advice = await lookupPattern(stored.store, context, nowMs);
    expect(advice).toMatchObject({
      strategy: 'parameter-adjustment',
      action: { toolName: 'read_file', parameters: { path: 'src/report/render.js' } },
    });
    expect(advice?.confidence).toBeCloseTo(0.646, 2);
    const { tools } = context.config;
    for (const config of [{ tenant: 'other', tools }, { tools: [] }])
      expect(await lookupPattern(stored.store, { ...context, config }, nowMs)).toBeUndefined();
  });

  it.each<[string, string, string | undefined]>([
    ['a path with a space', 'src/my reports/render.js:4: x', undefined],
    [
      'one that is cut from what the model read',
      longSearch('src/report/render.js'),
      'src/report/render.js',
    ],
    [
      'what is left of one at a cut',
      'a.js:1: x\n[… 12 characters left out …]\nport/render.js:2',
      undefined,
    ],
    ['two that may be meant', 'lib/render.js:1: x\nsrc/render.js:2: y', undefined],
  ])('take from whole outputs a value that is certain: %s', async (_what, output, path) => {
    const { store } = stored;
    await store.patterns.recordObservations([healed(1), healed(2), healed(3)]);
    await extractPatterns(store.patterns, nowMs);
    const call = { name: 'search_files', toolCallId: 'run_1_0' };
    const { content, blob } = await showOutput(store, call, {}, output);
    const result = { type: 'tool-result', ...call, content, isError: false } as const;
    const results = [{ ...result, ...(blob === undefined ? {} : { blob }) }];
    const messages = [{ role: 'tool', results } as const];
    const advice = await lookupPattern(store, { ...context, messages }, nowMs);
    expect(advice?.action.parameters).toEqual(path === undefined ? undefined : { path });
  });

  it('that a person disabled stay disabled', async () => {
    const { patterns } = stored.store;
    await patterns.recordObservations([healed(1), healed(2), healed(3)]);
    await extractPatterns(patterns, nowMs);
    const [pattern] = await patterns.patterns();
    await patterns.updatePattern(pattern?.id ?? '', (known) =>
      known === undefined ? undefined : { ...known, status: 'disabled' },
    );
    await patterns.recordObservations([healed(4), healed(5), healed(6)]);
    await extractPatterns(patterns, nowMs);
    expect((await patterns.patterns())[0]?.status).toBe('disabled');
    expect(await lookupPattern(stored.store, context, nowMs)).toBeUndefined();
  });

  it('that are bad are demoted within three uses, and only new proof brings them back', async () => {
    const { patterns } = stored.store;
    await patterns.updatePattern('bad', () =>
      aPattern({ id: 'bad', errorFingerprint: kind, observed: evidence(20, 0) }),
    );
    let uses = 0;
    for (; (await lookupPattern(stored.store, context, nowMs)) !== undefined; uses += 1)
      await failedWith(patterns, 'bad', `use-${uses}`, nowMs);
    expect(uses).toBeLessThanOrEqual(3);
    await extractPatterns(patterns, nowMs + 1);
    expect((await patterns.pattern('bad'))?.status).toBe('demoted');
  });

  it('come back when runs without them prove them three times', async () => {
    const { patterns } = stored.store;
    await patterns.recordObservations([healed(1), healed(2), healed(3)]);
    await extractPatterns(patterns, nowMs);
    const id = (await patterns.patterns())[0]?.id ?? '';
    for (const key of ['a', 'b']) await failedWith(patterns, id, key, nowMs + 10);
    expect((await patterns.pattern(id))?.status).toBe('demoted');
    await patterns.recordObservations([20, 21, 22].map((index) => healed(index)));
    await extractPatterns(patterns, nowMs + 30);
    expect((await patterns.pattern(id))?.status).toBe('active');
  });

  it('prefer the fix with the better lower bound, and count what was tried in vain', async () => {
    const { patterns } = stored.store;
    const retry = { strategy: 'retry' as const, toolName: 'read_file', changes: [] };
    await patterns.recordObservations([
      ...[1, 2, 3, 4, 5].map((index) => healed(index)),
      ...[10, 11, 12, 13, 14, 15].map((index) => healed(index, { fix: retry })),
      ...[20, 21, 22].map((index) => healed(index, { fix: retry, fixedBy: 'none' })),
    ]);
    await extractPatterns(patterns, nowMs);
    const found = await patterns.patterns();
    expect(found.find(({ fix }) => fix.strategy === 'retry')).toMatchObject({
      status: 'candidate',
      observed: { failures: expect.closeTo(3, 3) as number },
    });
    expect((await lookupPattern(stored.store, context, nowMs))?.strategy).toBe(
      'parameter-adjustment',
    );
  });

  it("turn a person's answers into the advice to ask", async () => {
    const { patterns } = stored.store;
    await patterns.recordObservations(
      [1, 2, 3].map((index) => healed(index, { fixedBy: 'person' })),
    );
    await extractPatterns(patterns, nowMs);
    expect(await lookupPattern(stored.store, context, nowMs)).toMatchObject({
      strategy: 'escalate',
      action: { escalationMessage: expect.stringContaining('ENOENT') as string },
    });
  });

  function evidence(successes: number, failures: number): Pattern['observed'] {
    return { successes, failures, atMs: nowMs };
  }
});
