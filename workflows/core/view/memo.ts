/** The memo of a run: what people read in Temporal's own tools, without any content of the run. */
import { shellWord } from './shell-word';

/** Its agent, and the commands that explain and show it, to be pasted. */
export function memoOf(runId: string, agent: string): Readonly<Record<string, string>> {
  const id = shellWord(runId);
  return { agent, why: `holdfast why ${id}`, show: `holdfast show ${id}` };
}
