/** The service behind the tool, over HTTP, for engines in processes of their own: it fails as the drawn fault says. */
import { createServer, type ServerResponse } from 'node:http';
import { z } from 'zod';
import type { LoopbackServer } from '../../loopback';
import { listenOnLoopback } from '../../loopback';
import type { StagedDrawn } from '../conversation/stage-drawn';
import { struckItem } from '../conversation/stage-drawn';
import { toolFault } from '../conversation/tool-faults';

const order = z.object({ run: z.string(), item: z.number(), key: z.string() });

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(text);
}

/** Fails once as the fault says; `false` where it does not strike. A 409 is a refusal, a 500 a fault of the service. */
function strikes(
  { fault: drawn, ledger }: StagedDrawn,
  struck: Set<string>,
  { run, item, key }: z.infer<typeof order>,
  response: ServerResponse,
): boolean {
  const { strike } = drawn;
  if (strike.type !== 'tool' || item !== struckItem(drawn) || struck.has(run)) return false;
  if (strike.name !== 'broken for good') struck.add(run);
  const { isApplied } = toolFault(strike.name);
  if (isApplied && drawn.effect !== 'read')
    ledger.set(item, (ledger.get(item) ?? new Set()).add(key));
  switch (strike.name) {
    case 'says no':
      send(response, 409, 'The item is held by somebody else at the moment.');
      return true;
    case 'throws':
      send(response, 500, "Cannot read properties of undefined (reading 'id')");
      return true;
    case 'rate limit of the service':
      send(response, 429, 'The service allows no more requests now.');
      return true;
    case 'connection lost before the effect':
    case 'connection lost after the effect':
      response.socket?.resetAndDestroy();
      return true;
    case 'time limit after the effect':
      return true;
    case 'broken for good':
      send(response, 507, 'The disk of the service is full.');
      return true;
  }
}

/** Starts the service of these faults, whose runs are named by their mounts. */
export async function startToolService(staged: readonly StagedDrawn[]): Promise<LoopbackServer> {
  const byRun = new Map(staged.map((each) => [each.mounts[0], each]));
  const struck = new Set<string>();
  const server = createServer((incoming, response) => {
    let text = '';
    incoming.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    incoming.on('end', () => {
      const { data: asked } = order.safeParse(JSON.parse(text));
      if (asked === undefined) {
        send(response, 400, 'The item must be a number.');
        return;
      }
      const one = byRun.get(asked.run);
      if (one === undefined) {
        send(response, 404, 'There is no such run.');
        return;
      }
      if (strikes(one, struck, asked, response)) return;
      one.ledger.set(asked.item, (one.ledger.get(asked.item) ?? new Set()).add(asked.key));
      send(response, 200, `booked item ${asked.item}.`);
    });
  });
  return listenOnLoopback(server);
}
