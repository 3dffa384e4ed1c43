/** The vendors of `growth-bench.ts`, in a process of their own, so that their work is not counted as the worker's. */
import { noUsage } from '../workflows/core/budget/spend';
import { VendorEmulator } from '../testing/emulator/emulator';
import type { ReplyOptions } from '../testing/emulator/script';
import { reply } from '../testing/emulator/script';

/** Mounts: `counted` reports usage, `silent` reports none. */
const mounts: Readonly<Record<string, ReplyOptions>> = { counted: {}, silent: { usage: noUsage } };

/** Answers with a call of `look` `calls` times, then with a text, and so on for each run; sends its address; ends with its parent. */
async function main(calls: number): Promise<void> {
  const emulator = await VendorEmulator.start({ recordedBodyBytes: 1 });
  for (const [mount, options] of Object.entries(mounts))
    for (const wire of ['anthropic', 'responses', 'chat'] as const)
      emulator.script(
        (_request, index) => {
          const n = index % (calls + 1);
          return n === calls
            ? reply.text('done', options)
            : reply.toolCalls([{ name: 'look', input: { n } }], options);
        },
        { wire, mount },
      );
  process.send?.(emulator.url);
  process.once('disconnect', () => void emulator.stop());
}

void main(Number(process.argv[2]));
