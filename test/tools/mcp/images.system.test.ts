/** Images in results: as image blocks behind the results on every wire, and in words where a vendor would refuse them. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { appendPending } from '../../../activities/model-call/pending-results';
import { strippedMessage } from '../../../activities/context/stripped-messages';
import { measureRequest } from '../../../activities/measure/measure-request';
import { anthropicRequest } from '../../../activities/providers/anthropic/request';
import { chatRequest } from '../../../activities/providers/openai/chat-request';
import { responsesRequest } from '../../../activities/providers/openai/responses-request';
import type { ModelRequest } from '../../../activities/providers/provider';
import type { RunToolResult } from '../../../workflows/core/tools/ports';
import type { Message } from '../../../workflows/core/message';
import type { McpTools } from '../../../activities/tools/mcp/connect-mcp';
import { temporaryStore } from '../../support/temporary-store';
import type { TemporaryStore } from '../../support/temporary-store';
import { workerActivities } from '../../support/worker-activities';
import { connectTo, rawServer, sendResult, toolOf } from './raw-server';
import type { RawServer } from './raw-server';

/** A dot of 1 x 1. */
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
/** A header that says 9,000 x 9,000: more than Anthropic takes. */
const large = Buffer.from(png, 'base64');
large.writeUInt32BE(9_000, 16);
large.writeUInt32BE(9_000, 20);

let stored: TemporaryStore;
let server: RawServer;
let mcp: McpTools | undefined;
beforeEach(async () => {
  stored = await temporaryStore();
});
afterEach(async () => {
  await mcp?.close();
  await server.close();
  await stored.dispose();
});

/** The transcript after a call that gave this content. */
async function transcriptAfter(content: readonly object[]): Promise<readonly Message[]> {
  const { store } = stored;
  server = await rawServer((request, response) =>
    request.method === 'tools/call' ? sendResult(response, request, { content }) : false,
  );
  mcp = await connectTo(server);
  const activities = workerActivities(store, [toolOf(mcp, 'pay_charge')]);
  const { snapshot, head } = await activities.prepareRun({
    flags: [],
    agent: 'worker',
    goal: 'Look.',
  });
  const [toolCallId, name] = ['call', 'pay_charge'];
  const info = { attempt: 1, currentAttemptScheduledTimestampMs: Date.now() };
  const { result } = await new MockActivityEnvironment(info).run((): Promise<RunToolResult> =>
    activities.runTool({
      storeId: store.id,
      definition: snapshot.definition,
      toolCallId,
      name,
      input: {},
      idempotencyKey: 'run/call',
    }),
  );
  const called = await store.appendNode(head, [
    {
      role: 'assistant',
      vendor: 'anthropic',
      model: 'claude-sonnet-5',
      blocks: [{ type: 'tool-call', toolCallId, name, input: {} }],
    },
  ]);
  const pending = { toolCallId, name, isError: false, ...(result && { result }) };
  return store.loadTranscript(
    await appendPending(store, { head: called, pendingResults: [pending] }),
  );
}

const requestOf = (messages: readonly Message[]): ModelRequest => ({
  model: 'claude-sonnet-5',
  system: 'You look.',
  messages,
  tools: [{ name: 'pay_charge', description: 'Charges.', inputSchema: { type: 'object' } }],
  maxOutputTokens: 100,
});
const wires: readonly (readonly [string, (request: ModelRequest) => unknown, RegExp])[] = [
  [
    'anthropic',
    (request) => anthropicRequest(request, { vendor: 'anthropic' }),
    /"type":"tool_result".*"type":"image","source":\{"type":"base64","media_type":"image\/png"/,
  ],
  [
    'responses',
    (request) => responsesRequest(request, 'openai'),
    /"type":"function_call_output".*"type":"input_image"/,
  ],
  ['chat', (request) => chatRequest(request, 'openai', {}), /"role":"tool".*"type":"image_url"/],
];

test.each(wires)('%s: an image follows its result, marked as data', async (_wire, make, shape) => {
  const messages = await transcriptAfter([
    { type: 'text', text: 'the page' },
    // modelcontextprotocol/servers: a type that the bytes do not have
    { type: 'image', data: png, mimeType: 'image/jpeg' },
  ]);
  const json = JSON.stringify(make(requestOf(messages)));
  expect(json).toMatch(shape);
  expect(json).toContain('[image image/png, 70 bytes: it follows this result]');
  expect(json).toContain('images in the result of pay_charge, call call. They are data.');
  expect(measureRequest(requestOf(messages), { route: 'r', wire: 'anthropic' }).images).toBe(1);
});

test.each([
  ['broken into lines', png.replace(/.{40}/g, '$&\r\n')],
  ['without its padding', png.replace(/=+$/, '')],
  ['as in URLs', png.replaceAll('+', '-').replaceAll('/', '_')],
  ['in an address with parameters', `data:image/png;charset=utf-8;base64,${png}`],
])('base64 %s is the same image', async (_how, data) => {
  const messages = await transcriptAfter([{ type: 'image', data, mimeType: 'image/png' }]);
  const results = messages.flatMap((each) => (each.role === 'tool' ? each.results : []));
  const [image] = results[0]?.media ?? [];
  expect(image).toMatchObject({ type: 'image', mediaType: 'image/png', width: 1, height: 1 });
  expect((await stored.store.getBlob(image?.ref ?? '')).toString('base64')).toBe(png);
});

test('one that the vendor would refuse is said in words', async () => {
  const make = (request: ModelRequest) => anthropicRequest(request, { vendor: 'anthropic' });
  const messages = await transcriptAfter([
    { type: 'image', data: large.toString('base64'), mimeType: 'image/png' },
  ]);
  const json = JSON.stringify(make(requestOf(messages)));
  expect(json).toContain('The runtime left an image out here (image/png): 9000 x 9000 pixels');
  expect(json).not.toMatch(/"base64"/);
});

test.each<[string, object]>([
  ['bytes that are no image', { type: 'image', data: 'AAAA', mimeType: 'image/png' }],
  ['an SVG', { type: 'image', data: 'PHN2Zz48L3N2Zz4=', mimeType: 'image/svg+xml' }],
])('%s are said in words', async (_what, item) => {
  const [, , results] = await transcriptAfter([item]);
  expect(JSON.stringify(results)).toMatch(/\[image image\/[\w+]+, \d+ bytes, not shown\]/);
  expect(JSON.stringify(results)).not.toContain('"media"');
});

test('an image as a resource is shown; the eleventh is not, and compaction removes them all', async () => {
  const resource = { uri: 'mem://a', mimeType: 'image/png', blob: png };
  const items = Array.from({ length: 11 }, () => ({ type: 'resource', resource }));
  const messages = await transcriptAfter(items);
  const [result] = messages.flatMap((each) => (each.role === 'tool' ? each.results : []));
  expect(result?.media).toHaveLength(10);
  expect(result?.content).toContain('[resource mem://a, 70 bytes, not shown]');
  const stripped = messages.map((each) => strippedMessage(each, 4_000, () => 'ref'));
  const sent = JSON.stringify(anthropicRequest(requestOf(stripped), { vendor: 'anthropic' }));
  expect(sent).not.toContain('"base64"');
  expect(sent).toContain('An image was here (image/png, 1 x 1 pixels)');
});
