/** What the Temporal server spends and is asked for, besides what histories show. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** Clock ticks of /proc, 100 a second on every Linux that Node supports. */
const msPerTick = 10;

/** CPU of a process since its start, all threads; undefined where there is no /proc. */
export async function cpuMsOf(pid: number): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // After the name of the program, which may hold spaces: utime and stime are fields 14 and 15 of the line.
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields === undefined ? undefined : (Number(fields[11]) + Number(fields[12])) * msPerTick;
}

/** Heartbeats in the server's metrics (Prometheus text). */
export function heartbeatsIn(metrics: string): number {
  const line =
    /^service_requests\{(?=[^}]*operation="RecordActivityTaskHeartbeat")(?=[^}]*service_name="frontend")[^}]*\} (\S+)$/gm;
  return [...metrics.matchAll(line)].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Address of the metrics, as the dev server prints it. Errors: rejects if its log has none. */
export async function metricsUrlIn(logFile: string): Promise<string> {
  for (let tries = 0; tries < 50; tries += 1) {
    const [, url] = /Temporal Metrics:\s+(\S+)/.exec(await readFile(logFile, 'utf8')) ?? [];
    if (url !== undefined) return url;
    await sleep(100);
  }
  throw new Error(
    `The server's log ${logFile} names no address of metrics, so heartbeats cannot be counted.`,
  );
}

/** The server brings its metrics up to date once a second. */
const metricsDelayMs = 1_500;

/** Heartbeats of activities that have reached the server so far: no event shows them, each is billed. */
export async function countHeartbeats(metricsUrl: string): Promise<number> {
  await sleep(metricsDelayMs);
  return heartbeatsIn(await (await fetch(metricsUrl)).text());
}
