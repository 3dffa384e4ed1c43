/** The result of an MCP tool as text for the model. */
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

type Content = CallToolResult['content'][number];

/** Bytes that base64 text encodes. */
const bytesOf = (base64: string): number => Math.floor((base64.length * 3) / 4);

function contentText(content: Content): string {
  switch (content.type) {
    case 'text':
      return content.text;
    case 'image':
    case 'audio':
      return `[${content.type} ${content.mimeType}, ${bytesOf(content.data)} bytes, not shown]`;
    case 'resource_link':
      return `[resource ${content.name}: ${content.uri}]`;
    case 'resource':
      return 'text' in content.resource
        ? `[resource ${content.resource.uri}]\n${content.resource.text}`
        : `[resource ${content.resource.uri}, ${bytesOf(content.resource.blob)} bytes, not shown]`;
  }
}

/** All content in order; structured content where there is no other. */
export function resultText(result: CallToolResult): string {
  const text = result.content.map(contentText).join('\n');
  return text === '' && result.structuredContent !== undefined
    ? JSON.stringify(result.structuredContent)
    : text;
}
