/** Changes inside of a history's payloads, which are JSON in base64. */
import type { Mutation } from '../mutations';
import { changeJson } from '../mutations';

/** Changes one part of one payload. */
export function changePayload(random: () => number): Mutation {
  const share = random();
  const change = changeJson(random);
  return {
    name: `in payload ${share.toFixed(6)}: ${change.name}`,
    apply: (bytes) => {
      const text = bytes.toString();
      const all = [...text.matchAll(/"data": ?"([A-Za-z0-9+/=]{4,})"/g)];
      const found = all[Math.floor(share * all.length)];
      const data = found?.[1];
      if (found === undefined || data === undefined) return bytes;
      const changed = change.apply(Buffer.from(data, 'base64')).toString('base64');
      const start = found.index + found[0].lastIndexOf(data);
      return Buffer.from(`${text.slice(0, start)}${changed}${text.slice(start + data.length)}`);
    },
  };
}
