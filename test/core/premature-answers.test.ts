/** What small models do instead of the next step: answers without work, and the last call once more (R-ERR-9, R-TOOL-14). */
import { aSnapshot, aTool, anAgentError } from '../support/builders';
import type { DrivenWorld } from '../support/run-driver';
import { RunDriver } from '../support/run-driver';
import type { ScriptedReply } from '../support/scripted-reply';

/** A run whose model gives these replies, one after the other. */
function played(
  replies: readonly ScriptedReply[],
  tool: NonNullable<DrivenWorld['tool']> = () => ({ output: 'done' }),
  toolProtocol: 'native' | 'text' = 'text',
  effect: 'read' | 'keyed' = 'keyed',
): RunDriver {
  const snapshot = aSnapshot({ tools: [aTool('refund', { effect }), aTool('search')] });
  const chain = snapshot.chain.map((route) => ({ ...route, toolProtocol }));
  return new RunDriver({
    prepare: () => ({ ...snapshot, chain }),
    model: (_request, call) => replies[call - 1] ?? { text: 'end' },
    tool,
  }).run();
}

const refund = { calls: [{ name: 'refund', input: { order: 7 } }] };
const search = { calls: [{ name: 'search', input: {} }] };
const said = (text: string): ScriptedReply => ({ text });
const fails: DrivenWorld['tool'] = ({ name }) => ({ error: anAgentError({ toolName: name }) });

const noteBefore = ({ requests }: RunDriver, call: number): string =>
  requests[call - 1]?.input.note ?? '';

describe('an answer in the text protocol', () => {
  test('without any call is asked for once more', () => {
    const driver = played([said('First read the file.'), said('Hello.')]);
    expect(driver.outcome).toMatchObject({ status: 'completed', answer: 'Hello.' });
    expect(noteBefore(driver, 2)).toContain('An answer came, though no tool was called.');
    expect(noteBefore(driver, 2)).toContain('call a tool now');
    expect(JSON.stringify(driver.transcript)).not.toContain('First read');
  });

  test('right after a failed call is asked for once more, and only once until a call works', () => {
    const driver = played([refund, said('It failed because…'), refund, said('Sorry.')], fails);
    expect(driver.outcome).toMatchObject({ status: 'completed', answer: 'Sorry.' });
    expect(noteBefore(driver, 3)).toContain('The last call failed');
  });

  test('after a call that worked is the end', () => {
    const driver = played([search, said('Found.')]);
    expect(driver.requests).toHaveLength(2);
  });

  test('is asked for again after the next failure, once something has worked', () => {
    const driver = played(
      [refund, said('one'), search, refund, said('two'), said('three')],
      ({ name }) =>
        name === 'refund' ? { error: anAgentError({ toolName: name }) } : { output: 'found' },
    );
    expect(driver.outcome).toMatchObject({ answer: 'three' });
  });

  test('of a model with native calls is taken as it is', () => {
    expect(played([said('Hello.')], undefined, 'native').requests).toHaveLength(1);
    expect(played([refund, said('It failed.')], fails, 'native').outcome).toMatchObject({
      status: 'completed',
      answer: 'It failed.',
    });
  });
});

describe('a call that changes the world, again as it just worked', () => {
  const effects = (driver: RunDriver): number =>
    driver.toolRuns.filter(({ name }) => name === 'refund').length;

  test.each(['native', 'text'] as const)('is not made before the model was asked: %s', (form) => {
    const driver = played([refund, refund, said('Refunded.')], undefined, form);
    expect(effects(driver)).toBe(1);
    expect(driver.outcome).toMatchObject({ status: 'completed', answer: 'Refunded.' });
    expect(noteBefore(driver, 3)).toContain('this same call has just worked');
  });

  test('is made if the model makes it once more, and later ones at once', () => {
    const driver = played(
      [refund, refund, refund, refund, said('Three times.')],
      undefined,
      'native',
    );
    expect(effects(driver)).toBe(3);
  });

  test('is another call after one in between, after a failure, and where it only reads', () => {
    expect(effects(played([refund, search, refund], undefined, 'native'))).toBe(2);
    expect(effects(played([refund, refund], fails, 'native'))).toBe(2);
    expect(effects(played([refund, refund], undefined, 'native', 'read'))).toBe(2);
  });
});
