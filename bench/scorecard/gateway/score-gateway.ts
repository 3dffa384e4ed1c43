/** The gateway's section: clients of events while gateways are killed, and attacks. */
import type { SectionScore } from '../section';
import { onGatewayGround } from './gateway-ground';
import { scoreGatewayAttacks } from './score-gateway-attacks';
import type { StreamTrial } from './score-streams';
import { scoreStreams } from './score-streams';

/** The trial of the bar. */
const streamTrial: StreamTrial = { clients: 200, runs: 50, kills: 5, iterations: 12 };

/** Plays both, each in a world of its own. */
export async function scoreGateway(): Promise<SectionScore> {
  const streams = await onGatewayGround((ground) => scoreStreams(ground, streamTrial));
  const attacks = await onGatewayGround((ground) => scoreGatewayAttacks(ground));
  const { clients, events, lost, doubled, outOfOrder } = streams;
  const { attacks: tried, gotIn, tookDown } = attacks;
  return {
    summary: { clients, events, lost, doubled, outOfOrder, attacks: tried, gotIn, tookDown },
    rows: [...streams.rows, ...attacks.rows],
  };
}
