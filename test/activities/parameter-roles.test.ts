/** The tables of names, words and codes by which the loop detector tells what decides nothing: an example of each row. */
import {
  isOnlyEcho,
  pauseOf,
  plainCommand,
  withoutWindow,
} from '../../activities/identity/command-text';
import type { ParameterRole } from '../../activities/identity/parameter-roles';
import { hasRole, isWaitTool } from '../../activities/identity/parameter-roles';
import { isStatusOfOutage, mentionsOutage } from '../../activities/tool-call/outage';

test.each<[role: ParameterRole, names: string, others: string]>([
  ['command', 'command cmd code sql shellCommand', 'command_id path'],
  ['reason', 'reason explanation thought toolCallDescription', 'reason_code'],
  ['text', 'description comment message', 'text body'],
  ['caption', 'title label display-name', 'titles'],
  ['key', 'idempotencyKey nonce', 'key'],
  ['counter', 'request_id traceId timestamp attempt seq', 'id order_id'],
  ['place', 'cwd target_branch userId file_path', 'title'],
  [
    'window',
    'offset limit page pageSize start_line max_results maxTokens page_token per_page top_k view_range num_lines',
    'id number token amount from thoughtNumber totalThoughts minutes max',
  ],
  ['wait', 'wait wait_ms delaySeconds sleep yield_time_ms poll_interval', 'await timeout'],
])('parameters of the role %s: %s, and not: %s', (role, names, others) => {
  for (const name of names.split(' ')) expect([name, hasRole(name, role)]).toEqual([name, true]);
  for (const name of others.split(' ')) expect([name, hasRole(name, role)]).toEqual([name, false]);
});

test('a tool that only waits is known by a word of its name', () => {
  expect(['wait', 'sleepFor', 'browser-pause'].every(isWaitTool)).toBe(true);
  expect(['await_build', 'waiter'].some(isWaitTool)).toBe(false);
});

test.each([
  ['sleep 5', 'waits'],
  ['Start-Sleep -Seconds 30;', 'waits'],
  ['sleep 30 && gh run view 77', 'waits-first'],
  ['for i in 1 2; do sleep 5; done', 'waits-first'],
  ['sleep 0', undefined],
  ['grep sleep a.ts', undefined],
])('the command %s: %s', (command, pause) => {
  expect(pauseOf(command)).toBe(pause);
});

test('commands that only print, and windows over a file', () => {
  expect(['echo "still working 3"', 'true', ': done'].every(isOnlyEcho)).toBe(true);
  expect(['echo 1 > a', 'echo $(ls)', 'ls'].some(isOnlyEcho)).toBe(false);
  expect(plainCommand('echo try 7')).toBe('echo try 0');
  expect(plainCommand('sleep 7 && ls')).toBe('sleep && ls');
  for (const command of ["sed -n '1,40p' a", 'head -n 40 a', 'tail -40 a', 'head -c +40 a'])
    expect(withoutWindow(command)).not.toMatch(/\d{2}/);
  expect(withoutWindow('head a40')).toBe('head a40');
});

test.each([
  'connect ECONNREFUSED 10.0.0.7:5432',
  'UND_ERR_SOCKET',
  'Connection refused',
  'the tool timed out',
  'a gateway time-out',
  '{"error":"rate_limited"}',
  'Rate limit exceeded',
  'Service Unavailable',
  'temporarily unavailable',
  'Request failed with status code 503',
  'HTTP/1.1 429',
  '"statusCode": 502',
])('"%s" mentions an outage', (text) => {
  expect(mentionsOutage(text)).toBe(true);
});

test.each(['HTTP/1.1 404 Not Found', 'status 200', '512 lines', 'exit code 1', 'the limit is 500'])(
  '"%s" mentions none',
  (text) => {
    expect(mentionsOutage(text)).toBe(false);
  },
);

test.each([
  ['HTTP 503 Service Unavailable', true],
  ['429', true],
  ['{"status":503,"error":"unavailable"}', true],
  ['503 lines', false],
  ['590: a line of a file', false],
  ['{"status":200}', false],
  ['The server said 503', false],
])('the output %s is the status of an outage: %s', (output, expected) => {
  expect(isStatusOfOutage(output)).toBe(expected);
});
