/** Names that vendors accept for the tools of MCP servers, whose own names may be anything. */
import { createHash } from 'node:crypto';

/** Characters of a tool name, as vendors allow. */
const maxChars = 64;
const digestChars = 8;

/** A name with the characters that vendors accept. */
export const plainName = (text: string): string => text.replace(/[^a-zA-Z0-9_-]/g, '_');

/**
 * `<server>_<tool>` for each tool, in order, or `<server>_` and the name that the author gave it.
 *
 * Contract: names match `^[a-zA-Z0-9_-]{1,64}$`, differ from one another, and do not depend on the order of the tools: a digest
 * of the tool's own name makes duplicates and long names unique. What the author named, and the names in `taken`, stay as they are.
 */
export function mcpToolNames(
  server: string,
  tools: readonly string[],
  renamed: (tool: string) => string | undefined = () => undefined,
  taken: readonly string[] = [],
): readonly string[] {
  const wanted = tools.map((tool) => `${plainName(server)}_${plainName(renamed(tool) ?? tool)}`);
  const all = [...wanted, ...taken];
  return wanted.map((name, index) => {
    const tool = tools[index] ?? '';
    const isShared = all.filter((other) => other === name).length > 1;
    if (renamed(tool) !== undefined || (!isShared && name.length <= maxChars)) return name;
    const digest = createHash('sha256').update(tool).digest('hex').slice(0, digestChars);
    return `${name.slice(0, maxChars - digestChars - 1)}_${digest}`;
  });
}
