import assert from 'node:assert/strict';
import test from 'node:test';
import { percentile } from '../../src/stats/percentile.js';

test('takes the nearest rank', () => {
  assert.equal(percentile([35, 20, 15, 50, 40], 30), 20);
  assert.equal(percentile([35, 20, 15, 50, 40], 100), 50);
});

test('of one value is that value', () => {
  assert.equal(percentile([42], 95), 42);
});

test('of nothing is nothing', () => {
  assert.equal(percentile([], 50), undefined);
});

test('leaves its input as it is', () => {
  const values = [30, 10, 20];
  percentile(values, 50);
  assert.deepEqual(values, [30, 10, 20]);
});
