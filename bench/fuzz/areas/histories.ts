/** Histories as a server might give them, changed in any part: a reader says that it cannot read them, or reads on. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Client } from '@temporalio/client';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { temporal } from '@temporalio/proto';
import { AgentClient, ClientError } from '../../../client/index';
import type { FuzzArea, OpenFuzzArea } from '../fuzz-area';
import { crashOf, hanging, settled } from '../fuzz-area';
import { changeJson, drawMutations, mutated } from '../mutations';
import type { HistoryEvents } from './history-server';
import { runId, serverWith } from './history-server';
import { changePayload } from './payload-mutations';

/** The project's root: npm runs the fuzzer there. */
const folder = path.join(process.cwd(), 'test', 'replay', 'histories');

/** As a client receives it; undefined for JSON that is no history of the server's. */
function decoded(bytes: Buffer): HistoryEvents | undefined {
  const { History } = temporal.api.history.v1;
  try {
    const { events } = historyFromJSON(JSON.parse(bytes.toString()));
    return History.decode(History.encode({ events: events ?? [] }).finish()).events;
  } catch {
    return undefined;
  }
}

/** Reads it through the client, as `holdfast show`, `status`, `why` and forks do. */
async function read(events: HistoryEvents): Promise<void> {
  const client = new AgentClient(new Client({ connection: serverWith(events) }), {
    taskQueue: 'fuzz',
  });
  const run = client.run(runId);
  const problems: unknown[] = [];
  const readers: readonly (() => Promise<unknown>)[] = [
    async () => {
      const ids: string[] = [];
      for await (const { id } of run.events()) ids.push(id);
    },
    () => run.status(),
    () => run.pending(),
    () => run.why(),
    () => run.transcriptHead(0),
    () => run.transcriptHead(1),
    () => run.transcriptHead(2),
  ];
  for (const reader of readers)
    await reader().catch((thrown: unknown) => {
      if (!(thrown instanceof ClientError)) problems.push(thrown);
    });
  if (problems.length > 0) throw problems[0];
}

function open(): Promise<OpenFuzzArea> {
  const bases = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => readFileSync(path.join(folder, name)));
  return Promise.resolve({
    draw: (random) => ({
      base: Math.floor(random() * bases.length),
      mutations: drawMutations([changeJson, changePayload, changePayload], random),
    }),
    attempt: async ({ base, mutations }) => {
      const events = decoded(mutated(bases[base] ?? Buffer.alloc(0), mutations));
      if (events === undefined) return undefined;
      const ended = await settled(read(events));
      if (ended === 'hang') return hanging;
      return 'thrown' in ended ? crashOf(ended.thrown) : undefined;
    },
    close: () => Promise.resolve(),
  });
}

/** The area. */
export const historiesArea: FuzzArea = {
  name: 'histories',
  about: "runs' histories, folded and explained by the client",
  open,
};
