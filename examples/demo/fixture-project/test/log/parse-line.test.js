import assert from 'node:assert/strict';
import test from 'node:test';
import { parseLine } from '../../src/log/parse-line.js';

test('reads a request', () => {
  assert.deepEqual(parseLine('2026-03-02T09:14:07Z GET /cart 200 84ms'), {
    at: new Date('2026-03-02T09:14:07Z'),
    method: 'GET',
    route: '/cart',
    status: 200,
    durationMs: 84,
  });
});

test('counts ids and queries to one route', () => {
  assert.equal(
    parseLine('2026-03-02T09:14:08Z GET /orders/17?page=2 200 9ms').route,
    '/orders/:id',
  );
});

test('reads seconds', () => {
  assert.equal(parseLine('2026-03-02T09:14:09Z POST /export 200 1.25s').durationMs, 1250);
});

test('gives nothing for a line that is no request', () => {
  assert.equal(parseLine('-- log rotated --'), undefined);
});
