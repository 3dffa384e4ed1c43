import assert from 'node:assert/strict';
import test from 'node:test';
import { summariseRoutes } from '../../src/stats/summarise-routes.js';

function requests(route, durations) {
  return durations.map((durationMs) => ({ route, durationMs }));
}

test('summarises each route', () => {
  const summaries = summariseRoutes(requests('/cart', [12, 11, 14, 13]));
  assert.deepEqual(summaries, [
    { route: '/cart', count: 4, medianMs: 12, p95Ms: 14, slowestMs: 14 },
  ]);
});

test('shows the slow tail of a route', () => {
  const durations = [84, 91, 77, 1240, 88, 95, 1105, 79, 82, 90];
  const [checkout] = summariseRoutes(requests('/checkout', durations));
  assert.equal(checkout.medianMs, 88);
  assert.equal(checkout.p95Ms, 1240);
});

test('puts the slowest route first', () => {
  const both = [...requests('/cart', [12, 14]), ...requests('/search', [60, 75])];
  assert.deepEqual(
    summariseRoutes(both).map(({ route }) => route),
    ['/search', '/cart'],
  );
});
