/** What learning asks of every store, whatever database keeps it. Run by one test file per engine. */
import type { Observation, Pattern } from '../../activities/stores/patterns/pattern-shape';
import type { Store } from '../../activities/stores/store';
import { openStore } from '../../activities/stores/open-store';
import type { ContractEngine } from './store-contract';

/** An observation of a path that was corrected. */
export function anObservation(changes: Partial<Observation> = {}): Observation {
  return {
    key: 'run/1_0',
    tenant: 'default',
    agent: 'helper',
    tool: 'read_file',
    errorCode: 'tool_execution_failed',
    errorFingerprint: 'kind-1',
    errorText: 'ENOENT: no such file or directory, open <value>',
    fixedBy: 'model',
    fix: {
      strategy: 'parameter-adjustment',
      toolName: 'read_file',
      changes: [
        {
          type: 'from-result',
          parameter: 'path',
          tool: 'search_files',
          was: 'bare file name',
          becomes: 'relative path',
        },
      ],
    },
    atMs: 1_700_000_000_000,
    ...changes,
  };
}

/** A pattern that nobody has used yet. */
export function aPattern(changes: Partial<Pattern> = {}): Pattern {
  const { tenant, tool, errorCode, errorFingerprint, errorText, fix } = anObservation();
  if (fix === undefined) throw new Error('an observation has a fix');
  const atMs = 1_700_000_000_000;
  return {
    id: 'pattern-1',
    tenant,
    tool,
    errorCode,
    errorFingerprint,
    errorText,
    fix,
    observed: { successes: 9, failures: 0, atMs },
    used: { successes: 0, failures: 0, atMs },
    lastUses: [],
    status: 'active',
    statusAtMs: atMs,
    createdAtMs: atMs,
    ...changes,
  };
}

/** The tests of learning on one engine. */
export function describePatternStore(name: string, engine: ContractEngine): void {
  describe(`${name} keeps what runs learn`, () => {
    let url: string;
    let store: Store;

    beforeEach(async () => {
      url = await engine.newUrl();
      store = await openStore(url, engine.options);
    });
    afterEach(() => store.close());

    it('records an observation once, however often it is told, and finds it in another process', async () => {
      await store.patterns.recordObservations([anObservation()]);
      await store.patterns.recordObservations([anObservation(), anObservation({ key: 'run/2_0' })]);
      const other = await openStore(url, engine.options);
      const found = await other.patterns.observations('default');
      await other.close();
      expect(found).toHaveLength(2);
      expect(found).toContainEqual(anObservation());
    });

    it('keeps tenants apart', async () => {
      await store.patterns.recordObservations([
        anObservation({ tenant: 'acme' }),
        anObservation({ tenant: 'zeta' }),
      ]);
      expect(await store.patterns.tenants()).toEqual(['acme', 'zeta']);
      expect(await store.patterns.observations('acme')).toEqual([
        anObservation({ tenant: 'acme' }),
      ]);
      await store.patterns.updatePattern('p', () => aPattern({ id: 'p', tenant: 'acme' }));
      const kind = { tool: 'read_file', errorFingerprint: 'kind-1' };
      expect(await store.patterns.patterns('zeta', kind)).toEqual([]);
      expect(await store.patterns.patterns('acme', kind)).toHaveLength(1);
    });

    it('forgets the oldest observations of a tenant, and no other', async () => {
      const { patterns } = store;
      await patterns.recordObservations([anObservation({ tenant: 'quiet', atMs: 1 })], 3);
      for (let index = 0; index < 6; index += 1) {
        const observation = anObservation({ key: `k${index}`, atMs: 1_000 + index });
        await patterns.recordObservations([observation], 3);
      }
      const kept = await patterns.observations('default');
      expect(kept.map(({ key }) => key)).toEqual(['k5', 'k4', 'k3']);
      expect(await patterns.observations('quiet')).toHaveLength(1);
    });

    it('lets no secret in, whatever field it hides in', async () => {
      const secret = `ghp_${'a1B2'.repeat(9)}`;
      await store.patterns.recordObservations([
        anObservation({
          tool: secret,
          errorText: `401 for Authorization: Bearer ${secret}`,
          fix: {
            strategy: 'parameter-adjustment',
            toolName: secret,
            changes: [
              { type: 'constant', parameter: 'token', value: secret },
              { type: 'copied', parameter: secret, from: secret },
              {
                type: 'from-result',
                parameter: secret,
                tool: secret,
                was: 'text',
                becomes: 'text',
              },
            ],
          },
        }),
      ]);
      const [found] = await store.patterns.observations('default');
      expect(found?.fix?.changes).toHaveLength(3);
      expect(JSON.stringify(found)).not.toContain('a1B2');
    });

    it('keeps values as they are, and bounds texts and their number', async () => {
      const constant = (value: string | number | boolean) =>
        ({ type: 'constant', parameter: 'p'.repeat(65), value }) as const;
      const changes = [7, true, 'v'.repeat(101), 1, 2, 3, 4, 5, 6].map(constant);
      const observation = anObservation({
        ...{ tool: 't'.repeat(65), errorText: 'e'.repeat(301) },
        fix: { strategy: 'parameter-adjustment', toolName: 't'.repeat(65), changes },
      });
      const { fix: _none, ...unfixed } = anObservation({ key: 'run/2_0', tenant: 'other' });
      const shapes: NonNullable<Observation['fix']>['changes'] = [
        { type: 'transformed', parameter: 'p', transform: 'trim' },
        { type: 'changed', parameter: 'p', was: 'text', becomes: 'number' },
      ];
      const shaped = anObservation({
        ...{ key: 'run/3_0', tenant: 'third' },
        fix: { strategy: 'parameter-adjustment', toolName: 't', changes: shapes },
      });
      await store.patterns.recordObservations([observation, unfixed, shaped]);
      const [found] = await store.patterns.observations('default');
      if (found?.fix === undefined) throw new Error('the fix is missing');
      expect(found.tool.length).toBeLessThanOrEqual(64);
      expect(found.errorText.length).toBeLessThanOrEqual(300);
      expect(found.fix.toolName.length).toBeLessThanOrEqual(64);
      expect(found.fix.changes).toHaveLength(8);
      const [number, truth, text] = found.fix.changes;
      expect([number, truth]).toMatchObject([{ value: 7 }, { value: true }]);
      expect(number?.parameter.length).toBeLessThanOrEqual(64);
      const value = text?.type === 'constant' ? String(text.value) : '';
      expect(value.length).toBeGreaterThan(20);
      expect(value.length).toBeLessThanOrEqual(100);
      expect(await store.patterns.observations('other')).toEqual([unfixed]);
      expect(await store.patterns.observations('third')).toEqual([shaped]);
    });

    it('changes a pattern atomically, however many do it at once', async () => {
      await Promise.all(
        Array.from({ length: 12 }, () =>
          store.patterns.updatePattern('p', (known) => {
            const pattern = known ?? aPattern({ id: 'p' });
            const successes = pattern.used.successes + 1;
            return { ...pattern, used: { ...pattern.used, successes } };
          }),
        ),
      );
      expect((await store.patterns.pattern('p'))?.used.successes).toBe(12);
    });

    it('leaves a pattern as it is where nothing is to change', async () => {
      await store.patterns.updatePattern('p', () => aPattern({ id: 'p' }));
      expect(await store.patterns.updatePattern('p', () => undefined)).toEqual(
        aPattern({ id: 'p' }),
      );
      expect(await store.patterns.updatePattern('none', () => undefined)).toBeUndefined();
    });

    it('counts a damaged record as none', async () => {
      await store.patterns.updatePattern('p', () => aPattern({ id: 'p' }));
      await store.patterns.recordObservations([anObservation()]);
      await engine.execute(
        url,
        `UPDATE ${engine.table('patterns')} SET record = '{"id":"p"}';
         UPDATE ${engine.table('observations')} SET record = 'x'`,
      );
      expect(await store.patterns.pattern('p')).toBeUndefined();
      expect(await store.patterns.patterns()).toEqual([]);
      expect(await store.patterns.observations('default')).toEqual([]);
    });

    it('erases what one tenant has learned, and nothing of another one', async () => {
      for (const tenant of ['acme', 'other']) {
        await store.patterns.updatePattern(tenant, () => aPattern({ id: tenant, tenant }));
        await store.patterns.recordObservations([anObservation({ tenant })]);
      }
      expect(await store.patterns.erase('acme', true)).toBe(2);
      expect(await store.patterns.tenants()).toEqual(['acme', 'other']);
      expect(await store.patterns.erase('acme', false)).toBe(2);
      expect(await store.patterns.tenants()).toEqual(['other']);
      expect((await store.patterns.patterns()).map(({ id }) => id)).toEqual(['other']);
      expect(await store.patterns.erase('acme', false)).toBe(0);
    });

    it("keeps the first knowledge of a tools' definition", async () => {
      expect(await store.patterns.knowledge('digest')).toBeUndefined();
      await store.patterns.keepKnowledge('digest', '{"first":true}');
      await store.patterns.keepKnowledge('digest', '{"first":false}');
      expect(await store.patterns.knowledge('digest')).toBe('{"first":true}');
    });
  });
}
