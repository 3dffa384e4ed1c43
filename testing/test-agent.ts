/** Makes an agent under test. Worker and test server are loaded with the first one: the emulator alone needs neither. */
import type { AgentDefinition } from '../activities/definitions/agent';
import type { AgentType } from '../workflows/core/typed-agent';
import type { startTestAgent as start, TestAgent, TestAgentOptions } from './agent/test-agent';

/**
 * Starts Temporal's test server, a worker with the agent, a store and an emulated model, all in this process or bound to it. One
 * per test file: the server takes longer to start than most runs.
 *
 * Contract: the agent's own code runs, over the vendors' real SDKs; nothing is sent anywhere. `close` ends everything, and the
 * server ends with this process at the latest.
 * Errors: `UserError` for an agent, an option or a provider that cannot be tested; `SetupError` if the test server is missing.
 */
export async function testAgent<Agent extends AgentType & Pick<AgentDefinition, 'chain'>>(
  agent: Agent,
  options: TestAgentOptions = {},
): Promise<TestAgent<Agent>> {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- jest has no import() in CommonJS (ADR 0029).
  const { startTestAgent } = require('./agent/test-agent') as {
    readonly startTestAgent: typeof start;
  };
  return startTestAgent(agent, options);
}
