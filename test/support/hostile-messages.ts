/** What a hostile or broken client may send: every message of a run's interface with every kind of wrong argument. */
import { queryNames, signalNames, updateNames } from '../../workflows/contract';
import { fc } from './properties';

/** A message on its way to a run. */
export interface HostileMessage {
  readonly kind: 'signal' | 'update' | 'query';
  readonly name: string;
  readonly argument: unknown;
}

const key = fc.constantFrom(
  'approvalId',
  'digest',
  'decision',
  'input',
  'reason',
  'by',
  'text',
  'questionId',
  'answer',
  'attachments',
  '__proto__',
  'constructor',
  'toJSON',
  'toString',
  'length',
);

const odd = fc.constantFrom<unknown[]>(
  null,
  '',
  ' ',
  0,
  -0,
  1e308,
  true,
  [],
  {},
  '\u0000\ud800\u202e',
  'escalation',
  'approve',
  'reject',
  '__proto__',
  'x'.repeat(70_000),
  '[[['.repeat(50),
  { length: -1 },
  { __proto__: null, approvalId: {} },
);

const tree = fc.jsonValue({ maxDepth: 4 });

/** Plausible shapes with one thing wrong, and things that have no shape. `known` are ids and digests that exist. */
function argument(known: readonly string[]): fc.Arbitrary<unknown> {
  const value = fc.oneof(
    odd,
    tree,
    ...(known.length === 0 ? [] : [fc.constantFrom<unknown[]>(...known)]),
  );
  const record = fc
    .array(fc.tuple(key, value), { maxLength: 6 })
    .map((entries) => Object.fromEntries(entries) as unknown);
  return fc.oneof({ weight: 6, arbitrary: record }, odd, tree, fc.array(value, { maxLength: 3 }));
}

const names = (record: { readonly [name: string]: string }): fc.Arbitrary<string> =>
  fc.constantFrom(...Object.values(record), 'unknown', 'constructor', '__proto__');

/** Hostile messages of every kind but those that end the run. */
export function hostileMessage(known: readonly string[]): fc.Arbitrary<HostileMessage> {
  const { stop: _ends, ...signals } = signalNames;
  const given = argument(known);
  const of = (kind: HostileMessage['kind'], name: fc.Arbitrary<string>) =>
    fc.record({ kind: fc.constant(kind), name, argument: given });
  return fc.oneof(
    of('signal', names(signals)),
    of('update', names(updateNames)),
    of('query', names(queryNames)),
  );
}
