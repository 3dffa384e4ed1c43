import assert from 'node:assert/strict';
import test from 'node:test';
import { renderTable } from '../../src/report/render-table.js';

test('aligns names to the left and numbers to the right', () => {
  const table = renderTable([
    { route: '/checkout', count: 10, medianMs: 88, p95Ms: 1240, slowestMs: 1240 },
    { route: '/cart', count: 4, medianMs: 12, p95Ms: 14, slowestMs: 14 },
  ]);
  assert.deepEqual(table.split('\n'), [
    'route      requests  median    p95  slowest',
    '/checkout        10   88 ms  1.2 s    1.2 s',
    '/cart             4   12 ms  14 ms    14 ms',
  ]);
});
