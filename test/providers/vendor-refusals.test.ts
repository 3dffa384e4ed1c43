/** What vendors, gateways and proxies really answer: who is to blame, what people read, and what nobody may. Sources are in the rows. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withoutAccountIds } from '../../activities/providers/failure/account-ids';
import { providerFailure } from '../../activities/providers/failure/provider-failure';
import type { FailoverReason } from '../../workflows/core/limits';
import { defaultLimits } from '../../workflows/core/limits';
import { sortAnswer, type Answer } from './support/vendor-answers';

interface RefusalRow extends Answer {
  readonly name: string;
  readonly source: string;
  readonly status: number;
  readonly reason: FailoverReason;
  /** Pattern that the message must match. */
  readonly says?: string;
  /** Whom the answer names. */
  readonly hides?: readonly string[];
  readonly keeps?: readonly string[];
}

const rows = readFileSync(join(__dirname, 'fixtures', 'vendor-refusals.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as RefusalRow);

describe('an answer', () => {
  it.each(rows)(
    '$name ($status, $source)',
    ({ reason, says = '', hides = [], keeps = [], ...row }) => {
      const failure = sortAnswer(row);
      expect(failure.code).toBe(reason);
      expect(failure.message).toMatch(new RegExp(says));
      for (const hidden of hides) expect(failure.message).not.toContain(hidden);
      for (const kept of keeps) expect(failure.message).toContain(kept);
      expect(failure.message.length).toBeLessThanOrEqual(500);
    },
  );

  it.each(rows.filter(({ body }) => body !== undefined))(
    'is the same from the error of an SDK alone: $name',
    ({ status, body, reason, hides = [] }) => {
      const inner = Array.isArray(body) ? (body as unknown[])[0] : body;
      const thrown = Object.assign(new Error(`${status} ${JSON.stringify(body)}`), {
        status,
        error: inner,
      });
      const failure = providerFailure(thrown, { route: 'acme/model-1', nowMs: 0 });
      expect(failure.code).toBe(reason);
      for (const hidden of hides) expect(failure.message).not.toContain(hidden);
    },
  );

  it('of an address where nothing is costs one request, and a rest of 30 s', () => {
    const failure = sortAnswer({ status: 404, body: { detail: 'Not Found' } });
    expect(failure).toMatchObject({ code: 'network', refusesRetry: true, status: 404 });
    expect(defaultLimits.cooldownMs[failure.code as FailoverReason]).toBe(30_000);
  });

  it('names the model if it has nothing but its name', () => {
    const thrown = Object.assign(new Error("'llama9' not found, try pulling it first"), {
      status: 404,
    });
    const codeFor = (route: string): string => providerFailure(thrown, { route, nowMs: 0 }).code;
    expect(codeFor('ollama/llama9')).toBe('model_not_found');
    expect(codeFor('ollama/other')).toBe('network');
  });
});

describe('who is behind an account', () => {
  it.each([
    ['organization org-AbCdEf1234', 'AbCdEf1234'],
    ['for user-Zx81kQm2PqRs', 'Zx81kQm2PqRs'],
    ['in workspace wrkspc_01JTESTaaaa', '01JTESTaaaa'],
    ['in workspace "b1946ac9-2492-4d23-a1f2-0c0ffee00000"', 'b1946ac9'],
    ['tenant id: 7f0c1a2b3c4d', '7f0c1a2b3c4d'],
    ['/subscriptions/0b1f6471-1bf0-4dda-aec3-cb9272f09590/resourceGroups/rg-prod/x', 'rg-prod'],
    ['arn:aws:iam::123456789012:role/Agent', '123456789012'],
    ['project number: 123456789012', '123456789012'],
    ['account bot@acme-prod.iam.gserviceaccount.com', 'acme-prod'],
    ['contact jane.doe+ai@acme.example', 'jane.doe'],
    ['POST https://api.acme.test/v1/chat?key=abc&user=7', 'user=7'],
    ['customer 4631789129646741', '4631789129646741'],
  ])('leaves no trace: %s', (text, hidden) => {
    const clean = withoutAccountIds(text);
    expect(clean).not.toContain(hidden);
    expect(clean).toContain('[redacted]');
    expect(withoutAccountIds(clean)).toBe(clean);
  });

  it.each([
    'The organization has been disabled at the organization level (org-level, org-wide).',
    'request id 11650e2f-ff1b-4aac-9719-98006adf7349',
    "Invalid schema for function 'user_lookup_v2' in project settings",
    'The user said 20 things; the account of 3 files is in project.',
    'arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-haiku',
    'See https://openrouter.ai/settings/privacy and models/gemini-3-pro.',
    'your organization of 20,000 input tokens per minute',
  ])('is not seen where it is not: %s', (text) => {
    expect(withoutAccountIds(text)).toBe(text);
  });
});
