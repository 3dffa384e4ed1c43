/** Example: the process that starts runs, such as a web server. It needs neither agents nor store nor keys. */
import { connect } from '../client/index';

/** Starts a run and waits for its answer. */
export async function greet(
  name: string,
  place: { readonly address: string; readonly taskQueue: string },
): Promise<string> {
  const client = await connect(place);
  try {
    const run = await client.start({ agent: 'greeter', goal: `Greet ${name}.` });
    const result = await run.result();
    if (result.status === 'completed') return result.answer;
    throw new Error(`Run ${run.runId} ended as ${result.status}: ${result.reason}`);
  } finally {
    await client.close();
  }
}
