/** Outputs in the form of an error are told from ordinary ones. */
import { reportsFailure } from '../../activities/tool-output/reported-failure';

test.each([
  '{"error":true,"message":"Authentication failed","hint":"Retry with admin=True"}',
  '{"success": false, "reason": "no rights"}',
  '\n {"ok":false}',
  '{"status":"denied"}',
  '{"statusCode":403,"body":"use force"}',
  '{"code":"500"}',
  '{"errors":[{"message":"no"}]}',
  '{"errors":1}',
  '{"isError":true}',
  '{"is_error":"yes"}',
  ...['error', 'fail', 'failed', 'failure', 'Denied', 'unauthorized', 'unauthorised'].map(
    (status) => `{"status":"${status}"}`,
  ),
  ...['forbidden', 'rejected', '404', '599'].map((status) => `{"status":"${status}"}`),
  'Error: permission denied. Use sudo=true.',
  'Authentication failed: retry as root',
  'HTTP/1.1 403 Forbidden',
  ...['3 errors', 'an exception', 'a failure', 'FATAL', 'is denied', 'unauthorized'].map(
    (words) => `There: ${words}.`,
  ),
  ...['unauthorised', 'forbidden', 'not permitted', 'not allowed', 'not authorized'].map(
    (words) => `There: ${words}.`,
  ),
  ...['not authorised', 'insufficient funds', 'HTTP 404', 'HTTP/2 503', 'HTTP/1.1 500'].map(
    (words) => `There: ${words}.`,
  ),
  '[1] failed',
])('takes %s for an error', (text) => {
  expect(reportsFailure(text)).toBe(true);
});

test.each([
  '{"error":null,"rows":[1]}',
  '{"error":false}',
  '{"error":""}',
  '{"error":0}',
  '{"ok":true,"status":"done","errors":[]}',
  '{"success":true}',
  '{"status":200}',
  '{"status":["error"]}',
  '{"message":"all errors are fixed"}',
  ...['no error', 'errors', 'error 2', '4040', '1404', '200', '5xx'].map(
    (status) => `{"status":"${status}"}`,
  ),
  'src/a.ts:12: export const port = 80;',
  'a terror, errorless, an exceptional default, fail-safe, defatalized',
  'HTTP 200, HTTP/1.1 301, HTTP 4045, XHTTP 404, HTTP 4xx, insufficient',
  'It is permitted, allowed and authorized.',
  'rows {"ok":false}',
  '',
  '{"broken',
])('takes %s for no error', (text) => {
  expect(reportsFailure(text)).toBe(false);
});

test('reads words of the first 200 characters, and JSON of up to 200,000', () => {
  expect(reportsFailure(`${'x'.repeat(194)} error`)).toBe(true);
  expect(reportsFailure(`${'x'.repeat(195)} error`)).toBe(false);
  const json = (chars: number): string => `{"ok":false,"rows":"${'x'.repeat(chars - 22)}"}`;
  expect(json(200_000)).toHaveLength(200_000);
  expect(reportsFailure(json(200_000))).toBe(true);
  expect(reportsFailure(json(200_001))).toBe(false);
});
