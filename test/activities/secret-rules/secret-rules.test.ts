/** The kept rules come first; our own are only there for what those lack. */
import { redactByKeptRules } from '../../../workflows/core/secrets/kept-secret-rules';
import { ownSecretRules, redactionMark } from '../../../workflows/core/secrets/own-secret-rules';
import { redactText } from '../../../workflows/core/secrets/redact';
import { stripHidden } from '../../../workflows/core/secrets/hidden-characters';
import { secretShapes } from '../../../bench/scorecard/sanitise/secret-shapes';
import { re2ToJavascript } from './re2-to-javascript';
import { marked, readable, tokens } from './rule-spellings';

const body = 'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cD0fG';

/** Shapes beside the scorecard's 200, which none of these rules is made from. */
const more: readonly (readonly [text: string, secret: string])[] = [
  [`token ghp_${body.slice(0, 20)}…`, body.slice(0, 20)],
  [`AQ.Ab${body}${body}`, body],
  [`v4.local.${body}${body}`, body],
  [`authorization: ${body}`, body],
  [`Authorization: ApiKey ${body}`, body],
  [`Authorization: Basic YWxhZGRpbjpvcGVuc2VzYW1l`, 'YWxhZGRpbjpvcGVuc2VzYW1l'],
  [`pplx-${body}${body}`, body],
  [`hvr.${body}`, body],
  [`secret aB38Q~${body}ab;next`, body],
  [`https://hooks.slack.com/services/T0/B0/${body.slice(0, 20)}…`, body.slice(0, 20)],
  [`SG.${body.slice(0, 22)}.${body}`, body],
  // Found by an audit, which the rules let pass.
  [`DB_PASS=${body}`, body],
  [`{"Name":"x","name":"DB_PASSWORD","value":"${body}"}`, body],
  [`- name: DB_PASSWORD\n  value: ${body}`, body],
  [`<password>${body}</password>`, body],
  [`<input type="password" name="pw" value="${body}">`, body],
  [`| AWS_SECRET_ACCESS_KEY | ${body} |`, body],
  [`[ 'x-api-key', '${body}' ]`, body],
  [`auth=('bob', '${body}')`, body],
  [`sshpass -p ${body} ssh bob@h`, body],
  [`mysql -u root -p${body} shop`, body],
  [`password: >-\n  ${body}`, body],
  [`{"pass": "${body}"}`, body],
  [`The password for bob is ${body}.`, body],
  [`mnemonic: "${'walk '.repeat(11)}choice"`, 'walk walk'],
  [
    `client-key-data: ${Buffer.from(`-----BEGIN RSA PRIVATE KEY-----\n${body}`).toString('base64')}`,
    'UFJJVkFURSBLRV',
  ],
  ['a:\n  db_password: correct-horse-battery\n', 'correct-horse-battery'],
  ['a:\npassword: correcthorsebatterystaple\n', 'correcthorsebattery'],
  [`Private-Lines: 14\n${body}${body}\n${body}`, body],
  [`root:$6$saltsalt$${body}${body}${body}:19000:0:99999:7:::`, body],
];

const samples = [
  ...secretShapes().map(({ text, secrets }) => ({ text: stripHidden(text), secrets })),
  ...more.map(([text, secret]) => ({ text, secrets: [secret] })),
].flatMap((sample) => [sample, { ...sample, text: `(${sample.text}).` }]);

const left = (text: string, secrets: readonly string[]): number =>
  secrets.filter((secret) => text.includes(secret)).length;

test.each(ownSecretRules().map((rule) => [rule.pattern.source.slice(0, 60), rule] as const))(
  'the kept rules lack what %s takes',
  (_source, { pattern, replacement }) => {
    const proof = samples.find(({ text, secrets }) => {
      const kept = redactByKeptRules(text, redactionMark);
      const before = left(kept, secrets);
      return before > 0 && left(kept.replace(pattern, replacement), secrets) < before;
    });
    expect(proof).toBeDefined();
  },
);

const shown = (text: string): string => text.replaceAll(/[«»]/g, '');
const taken = (text: string): string => text.replaceAll(/«[^»]*»/g, redactionMark);
/** The text after each rule alone. */
const byEach = (text: string): readonly string[] =>
  ownSecretRules().map(({ pattern, replacement }) => text.replace(pattern, replacement));

test('a rule takes the whole secret and nothing else, however it is written', () => {
  for (const text of [...tokens.map((token) => `a «${token}» b`), ...marked]) {
    expect([text, byEach(shown(text)).includes(taken(text))]).toEqual([text, true]);
  }
});

test('no rule takes the end of a longer word, a name, a reference or a place-holder', () => {
  for (const text of [...tokens.map((token) => `x${token}`), ...readable]) {
    expect([text, ...new Set(byEach(text))]).toEqual([text, text]);
  }
});

test('the kept rules alone take a good part of the shapes', () => {
  const taken = secretShapes().filter(
    ({ text, secrets }) => left(redactByKeptRules(stripHidden(text), redactionMark), secrets) === 0,
  );
  expect(taken.length).toBeGreaterThanOrEqual(60);
});

test('both together leave none, whatever stands behind the secret', () => {
  for (const { text, secrets } of samples) {
    expect([text, left(redactText(text), secrets)]).toEqual([text, 0]);
  }
});

test('nor in strings of JSON, behind line ends, in two levels, and cut off', () => {
  for (const { text, secrets } of samples) {
    const json = JSON.stringify({ before: 1, said: `line\n${text}\n` });
    for (const carried of [json, JSON.stringify({ json }), json.slice(json.indexOf('line'), -2)]) {
      const clean = redactText(carried);
      expect([carried, left(clean, secrets)]).toEqual([carried, 0]);
      expect(redactText(clean)).toBe(clean);
    }
  }
});

test('a placeholder has too little entropy for a kept rule', () => {
  const text =
    'adafruit_key = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"; github ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx';
  expect(redactByKeptRules(text, redactionMark)).toContain('ghp_xxxx');
});

describe('re2ToJavascript', () => {
  test.each([
    ['(?i)ab[c-d]1', '[aA][bB][c-dC-D]1'],
    ['x(?i:y)z', 'x(?:[yY])z'],
    ['(?i)a(?-i:B)c', '[aA](?:B)[cC]'],
    ['(?s:.)\\z', '(?:[^])(?![^])'],
    ['(?P<name>a)[[:alnum:]]', '(a)[a-zA-Z0-9]'],
    ['(?i)[^\\w"\\]x]\\x41\\b', '[^\\w"\\]xX]\\x41\\b'],
  ])('rewrites %s', (re2, javascript) => {
    expect(re2ToJavascript(re2)).toBe(javascript);
  });
});
