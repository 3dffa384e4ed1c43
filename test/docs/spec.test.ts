/** docs/spec.md numbers its rules without gaps, and its tables and fixed texts say what the code does. */
import { windowOf } from '../../activities/models/model-catalog';
import { resolveRecovery } from '../../activities/definitions/recovery-policy';
import { defaultCallCaps } from '../../activities/tools/default-call-caps';
import { defaultCompaction } from '../../workflows/core/context/compaction-thresholds';
import { recoveryInstructions } from '../../workflows/core/failure';
import { buildErrorRecoveryMessage } from '../../workflows/core/errors/recovery-message';
import { forcedStop } from '../../workflows/core/guard/hard-limits';
import { defaultLimits } from '../../workflows/core/limits';
import { aPreparedRun } from '../support/builders';
import { sourceText, specRules, tableAfter, tableUnder } from './documents';

const spec = { file: 'docs/spec.md', text: sourceText('docs/spec.md') };

function tableOf(rule: string): readonly string[][] {
  return tableAfter(spec, (line) => line.startsWith(`- **${rule}** `));
}

/** A rule with what belongs to it, up to the next rule. */
function textOf(rule: string): string {
  const [, rest = ''] = spec.text.split(`- **${rule}** `);
  return rest.split(/^(?:- \*\*R-|## )/m)[0] ?? '';
}

function milliseconds(duration: string): number {
  const [, count = '', unit = ''] = /^(\d+) (second|minute|hour)s?$/.exec(duration) ?? [];
  return Number(count) * ({ second: 1_000, minute: 60_000, hour: 3_600_000 }[unit] ?? NaN);
}

/** Lines of a document's indented block, as one text. */
function block(first: string): string {
  const [, rest = ''] = spec.text.split(`  ${first}\n`);
  const [lines = ''] = rest.split('  ```');
  return `${first}\n${lines.replace(/^ {2}/gm, '')}`.trimEnd();
}

test('numbers the rules of each area from 1, without gaps', () => {
  const areas = new Map<string, number>();
  for (const rule of specRules()) {
    const [, area = '', number = ''] = /^R-([A-Z]+)-(\d+)$/.exec(rule) ?? [];
    areas.set(area, (areas.get(area) ?? 0) + 1);
    expect(rule).toBe(`R-${area}-${areas.get(area)}`);
    expect(number).not.toBe('');
  }
  expect(areas.size).toBeGreaterThan(15);
});

test('says where the code of each area is', () => {
  const named = tableUnder(spec, 'Where the code is').flatMap(([rules = '']) => rules.split(', '));
  const areas = specRules().map((rule) => rule.replace(/-\d+$/, ''));
  expect(named.sort()).toEqual([...new Set(areas)].sort());
});

test('gives the cooldown of each failover reason', () => {
  const rows = tableOf('R-FAIL-1').map(([reason = '', , cooldown = '']) => [
    reason,
    cooldown === '0' ? 0 : milliseconds(cooldown),
  ]);
  expect(Object.fromEntries(rows)).toEqual(defaultLimits.cooldownMs);
});

test('gives the caps of high-risk tools', () => {
  const rows = tableOf('R-GUARD-4').map(([tool, calls]) => [tool, Number(calls)]);
  expect(rows).toEqual([...defaultCallCaps]);
});

test('gives the fixed context windows', () => {
  const rows = tableOf('R-CTX-8');
  expect(rows).toHaveLength(7);
  for (const [model = '', tokens = ''] of rows)
    expect(windowOf('any', model.toLowerCase().replaceAll(' ', '-'))).toBe(
      Number(tokens.replaceAll(',', '')),
    );
});

test('gives the fixed instructions', () => {
  const instructions: Readonly<Record<string, string>> = recoveryInstructions;
  for (const [code = '', text = ''] of tableOf('R-ERR-3')) {
    const filled = instructions[code]
      ?.replace('{tools}', 'tool1, tool2, ...')
      .replace('{message}', 'MESSAGE');
    expect(filled).toBe(text);
  }
});

test('gives the frame of the recovery message', () => {
  const message = buildErrorRecoveryMessage(
    [
      {
        kind: 'agent',
        code: 'no_tool_call',
        message: 'ERRORS',
        hint: 'HINTS',
        recoverable: true,
      },
    ],
    [],
  );
  const shown = message.replace(recoveryInstructions.no_tool_call, 'INSTRUCTIONS');
  expect(block('[This message comes from the agent runtime, not from the user.]')).toBe(shown);
});

test('gives the form of a forced stop', () => {
  const run = aPreparedRun();
  const counters = { ...run.counters, events: 1_247, toolCalls: 400 };
  const counted = { ...run, counters, activeMs: 443_000 };
  const what = 'reached maximum of 400 tool invocations';
  const { message } = forcedStop(counted, 'guard_tool_calls', what);
  expect(block(`Forced stop: ${what}.`)).toBe(message);
});

/** Ways in which a rule may write a number: plain, as a duration, or as a share. */
function spellings(value: number): readonly string[] {
  const plain = value.toLocaleString('en-US');
  const durations = [
    [1_000, 'second'],
    [60_000, 'minute'],
    [3_600_000, 'hour'],
  ] as const;
  return [plain, `${value * 100} %`, ...durations.map(([ms, unit]) => `${value / ms} ${unit}s`)];
}

const settings: Readonly<Record<string, unknown>> = {
  ...defaultLimits,
  ...defaultCompaction,
  ...resolveRecovery('any'),
};
const named = specRules().flatMap((rule) =>
  [...textOf(rule).matchAll(/\(`([a-z]+[A-Z]\w*)`/g)].map(([, name = '']) => ({ rule, name })),
);

test.each(named)('$rule gives the default of $name', ({ rule, name }) => {
  const text = textOf(rule);
  const value = Number(settings[name]);
  expect(value).toBeGreaterThan(0);
  expect(spellings(value).filter((spelling) => text.includes(spelling))).not.toEqual([]);
});
