// A loop without a framework, as a careful author writes it: OpenAI's SDK with its own retries, errors of tools told to the model.
import { randomUUID } from 'node:crypto';
import OpenAI from 'openai';

const { baseUrl, serviceUrl } = JSON.parse(process.argv[2]);
const tools = [
  {
    type: 'function',
    name: 'book',
    description: 'Books an item.',
    parameters: {
      type: 'object',
      properties: { item: { type: 'number' } },
      required: ['item'],
      additionalProperties: false,
    },
    strict: true,
  },
];

async function book(run, { item }) {
  if (typeof item !== 'number') throw new Error('item must be a number');
  const response = await fetch(serviceUrl, {
    method: 'POST',
    body: JSON.stringify({ run, item, key: randomUUID() }),
    signal: AbortSignal.timeout(15_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

async function resultOf(run, call) {
  try {
    if (call.name !== 'book') throw new Error(`There is no tool ${call.name}.`);
    return await book(run, JSON.parse(call.arguments));
  } catch (error) {
    return `Error: ${error.message}`;
  }
}

async function agent(run) {
  const client = new OpenAI({
    apiKey: 'scorecard',
    baseURL: `${baseUrl}/${run}/v1`,
    timeout: 15_000,
  });
  const input = [{ role: 'user', content: 'Book all.' }];
  for (let turn = 0; turn < 30; turn += 1) {
    const response = await client.responses.create({
      model: 'gpt-5',
      instructions: `You book items, then say that you are done. RUN ${run}`,
      input,
      tools,
      store: false,
    });
    input.push(...response.output);
    const calls = response.output.filter(({ type }) => type === 'function_call');
    if (calls.length === 0) return response.output_text;
    for (const call of calls)
      input.push({
        type: 'function_call_output',
        call_id: call.call_id,
        output: await resultOf(run, call),
      });
  }
  throw new Error('too many turns');
}

process.on('message', ({ run }) => {
  agent(run).then(
    (answer) => process.send({ run, status: 'completed', answer }),
    (error) => process.send({ run, status: 'failed', message: error.message }),
  );
});
process.once('disconnect', () => process.exit(0));
process.send({ ready: true });
