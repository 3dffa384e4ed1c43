/** What workflows count reaches the SDK's meter whole, in few calls. */
import type { MetricCounter, MetricMeter, MetricTags } from '@temporalio/common';
import { noopMetricMeter } from '@temporalio/common';
import { workflowCounts } from '../../telemetry/counting';

type Added = readonly [name: string, value: number, tags: MetricTags | undefined];

function recordingMeter(record: (added: Added) => void): MetricMeter {
  return Object.assign(Object.create(noopMetricMeter) as MetricMeter, {
    createCounter: (name: string): MetricCounter =>
      Object.assign(noopMetricMeter.createCounter(name), {
        add: (value: number, tags?: MetricTags) => {
          record([name, value, tags]);
        },
      }),
  });
}

const place = { namespace: 'default', taskQueue: 'queue' };
const labels = { namespace: 'default', task_queue: 'queue' };

test('adds up what has the same name, place and tags, and nothing else', () => {
  const added: Added[] = [];
  const counts = workflowCounts(recordingMeter((each) => added.push(each)));
  const tokens = (value: number, type: string) =>
    ({ name: 'agent_tokens', value, tags: { agent: 'lead', type } }) as const;
  counts.add(place, [tokens(10, 'input'), tokens(1, 'output')]);
  counts.add(place, [tokens(5, 'input'), { ...tokens(2, 'input'), name: 'agent_iterations' }]);
  counts.add({ ...place, taskQueue: 'other' }, [tokens(7, 'input')]);
  expect(added).toEqual([]);
  counts.flush();
  const tags = (type: string): MetricTags => ({ ...labels, agent: 'lead', type });
  expect(added).toEqual([
    ['agent_tokens', 15, tags('input')],
    ['agent_tokens', 1, tags('output')],
    ['agent_iterations', 2, tags('input')],
    ['agent_tokens', 7, { ...tags('input'), task_queue: 'other' }],
  ]);
  counts.add(place, [tokens(3, 'output')]);
  counts.flush();
  counts.flush();
  expect(added.slice(4)).toEqual([['agent_tokens', 3, tags('output')]]);
});

test('gives the meter what was counted without being asked', async () => {
  const given = await new Promise<Added>((resolve) => {
    const tags = { agent: 'lead' };
    workflowCounts(recordingMeter(resolve)).add(place, [
      { name: 'agent_iterations', value: 4, tags },
    ]);
  });
  expect(given).toEqual(['agent_iterations', 4, { ...labels, agent: 'lead' }]);
});
