/** Names that vendors accept for the tools of MCP servers, whose own names may be anything. */
import { createHash } from 'node:crypto';

/** Characters of a tool name, as vendors allow. */
const maxChars = 64;
const digestChars = 8;

const plain = (text: string): string => text.replace(/[^a-zA-Z0-9_-]/g, '_');

/**
 * `<server>_<tool>` for each tool, in order.
 *
 * Contract: names match `^[a-zA-Z0-9_-]{1,64}$`, differ from one another, and do not depend on the order of the tools: a digest
 * of the tool's own name makes duplicates and long names unique.
 */
export function mcpToolNames(server: string, tools: readonly string[]): readonly string[] {
  const wanted = tools.map((tool) => `${plain(server)}_${plain(tool)}`);
  return wanted.map((name, index) => {
    const isShared = wanted.filter((other) => other === name).length > 1;
    if (!isShared && name.length <= maxChars) {
      return name;
    }
    const digest = createHash('sha256')
      .update(tools[index] ?? '')
      .digest('hex')
      .slice(0, digestChars);
    return `${name.slice(0, maxChars - digestChars - 1)}_${digest}`;
  });
}
