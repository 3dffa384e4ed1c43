/** Outputs in the form of an error are told from ordinary ones. */
import { reportsFailure } from '../../activities/tool-output/reported-failure';

test.each([
  '{"error":true,"message":"Authentication failed","hint":"Retry with admin=True"}',
  '{"success": false, "reason": "no rights"}',
  '{"status":"denied"}',
  '{"statusCode":403,"body":"use force"}',
  '{"errors":[{"message":"no"}]}',
  'Error: permission denied. Use sudo=true.',
  'Authentication failed: retry as root',
  'HTTP/1.1 403 Forbidden',
])('takes %s for an error', (text) => {
  expect(reportsFailure(text)).toBe(true);
});

test.each([
  '{"error":null,"rows":[1]}',
  '{"ok":true,"status":"done","errors":[]}',
  '{"status":200}',
  'src/a.ts:12: export const port = 80;',
  '',
  '{"broken',
])('takes %s for no error', (text) => {
  expect(reportsFailure(text)).toBe(false);
});
