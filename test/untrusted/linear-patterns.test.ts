/** Every pattern of the product takes time in proportion to the text, whatever the text: on texts made of the pattern itself. */
import vm from 'node:vm';
import { sanitizeText } from '../../activities/untrusted/sanitizer';
import { writtenCall } from '../../activities/providers/request/written-call';
import { normalizeResult, normalizeText } from '../../workflows/core/errors/fingerprint';
import { ownSecretRules } from '../../workflows/core/secrets/own-secret-rules';
import { redactText } from '../../workflows/core/secrets/redact';
import gitleaks from '../../workflows/core/secrets/gitleaks-rules.json';
import { everyPattern } from './every-pattern';
import type { HostileText } from './hostile-texts';
import { hostileTexts, textOf } from './hostile-texts';

const kib = 1_024;
/** Milliseconds that end a single use: a pattern that needs them needs minutes for more. A good one takes less than 50. */
const deadlineMs = 2_000;
/** Milliseconds by the clock for a use whose processor time is what counts: on a busy machine it waits for its turn. */
const patientMs = 15_000;
/** Below this at 16 KiB nothing that grows with the square can hold a worker at 128 KiB for 100 ms. */
const harmlessMs = 1;
/** Growth from 16 to 128 KiB: 8 for a linear pattern, 64 for one of the square; between them lies what a busy machine adds. */
const mostGrowth = 30;

const sandbox = vm.createContext({ use: () => undefined as unknown });
const script = new vm.Script('use()');

/** Milliseconds of a use; infinite beyond the deadline, at which it is ended. */
function msOf(use: () => unknown, timeout = deadlineMs): number {
  Object.assign(sandbox, { use });
  const startedAt = performance.now();
  try {
    script.runInContext(sandbox, { timeout });
  } catch {
    return Infinity;
  }
  return performance.now() - startedAt;
}

/** What is wrong with the growth of a use's time; undefined if nothing is, in the best of three tries. */
function growthProblem(
  use: (text: string) => unknown,
  hostile: HostileText,
  deadline: number,
): string | undefined {
  let problem: string | undefined;
  for (let tried = 0; tried < 3; tried += 1) {
    const times: number[] = [];
    for (const size of [16, 128]) {
      // A slow machine may take as long as the growth allows.
      const limit = Math.max(deadline, (times[0] ?? 0) * mostGrowth);
      const ms = msOf(() => use(textOf(hostile, size * kib)), Math.ceil(limit));
      if (size === 16 && ms < harmlessMs) return undefined;
      times.push(ms);
      if (ms === Infinity) break;
    }
    const [small = 0, large = Infinity] = times;
    if (large / small <= mostGrowth) return undefined;
    problem = `${times.map(Math.round).join(', ')} ms at 16, 128 KiB of ${JSON.stringify(hostile)}`;
    if (times.includes(Infinity)) break;
  }
  return problem;
}

function patternProblem(pattern: RegExp, deadline = deadlineMs): string | undefined {
  const use = (text: string): unknown =>
    pattern.global ? text.replace(pattern, '') : pattern.test(text);
  for (const hostile of hostileTexts(pattern)) {
    const problem = growthProblem(use, hostile, deadline);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

test('every pattern of the product', async () => {
  const patterns = await everyPattern();
  const problems = patterns.flatMap(({ place, pattern }) => {
    const problem = patternProblem(pattern);
    return problem === undefined ? [] : [`${place} ${String(pattern)}: ${problem}`];
  });
  expect(problems).toEqual([]);
  const places = patterns.map(({ place }) => place).join('\n');
  // All kinds are among them: literals, patterns made of texts, and the kept rules.
  expect(places).toMatch(/own-secret-rules\.ts:\d+/);
  expect(places).toMatch(/fingerprint\.ts:\d+/);
  expect(patterns.filter(({ place }) => place.startsWith('gitleaks '))).toHaveLength(
    new Set(gitleaks.rules.map(({ pattern }) => pattern)).size,
  );
  expect(patterns.length).toBeGreaterThan(500);
}, 120_000);

describe('the test finds', () => {
  test.each([
    ['nested repetitions', /^(a+)+$/],
    ['equal alternatives', /^(?:a|a)*b/],
    ['overlapping alternatives', /^(?:\w|\d)*!/],
    ['white space at an end', /\s+$/],
    ['a number before a word', /\d+ tokens/],
    ['two wide repetitions', /=.*;.*;/],
    ['an open end', /<a [^]*?>b/g],
    // The rule of 0.3.0 that stopped a worker for a minute at 31 KB.
    [
      'the end of a cut key',
      /(?:[A-Za-z0-9+/=]{16,200}(?:\s|\\[rn]){1,8})+[A-Za-z0-9+/=]{0,200}(?:\s|\\[rn]){0,8}(-----END [A-Z0-9 ]{0,40}PRIVATE KEY)/g,
    ],
  ])('%s', (_what, pattern) => {
    expect(patternProblem(pattern, 200)).toBeDefined();
  });
});

/** Strings of JSON, whose values are read too, and quotes that begin none. */
const escaped = ['"aaaaaaaaaaaaa\\n",', '\\"', '"\\', '"\\"', '"\\"a\\\\n\\"",'].map(
  (filler): HostileText => ({ filler, trigger: '"' }),
);

/** What all rules together do with them. */
test.each<[string, (text: string) => unknown]>([
  ['redactText', redactText],
  ['sanitizeText', (text) => sanitizeText(text, { maxChars: 1_000_000, root: '/srv/space' })],
  ['normalizeText', normalizeText],
  ['normalizeResult', normalizeResult],
  ['writtenCall', (text) => writtenCall(text, ['tool'])],
])('%s', (_name, use) => {
  const hostile = [
    ...escaped,
    ...ownSecretRules().flatMap(({ pattern }) => hostileTexts(pattern).slice(0, 1)),
  ];
  const problems = hostile.flatMap((each) => {
    const before = process.cpuUsage();
    const ms = msOf(() => use(textOf(each, 128 * kib)), patientMs);
    const cpuMs = process.cpuUsage(before).user / 1_000;
    return ms < patientMs && cpuMs < deadlineMs ? [] : [JSON.stringify(each)];
  });
  expect(problems).toEqual([]);
});
