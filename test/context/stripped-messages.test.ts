/** Tier 1 measures a tool's own output, not the fence around it (R-CTX-1). */
import { placeholderRef, strippedMessage } from '../../activities/context/stripped-messages';
import { fenceToolOutput } from '../../activities/untrusted/fence';
import type { ToolResultBlock } from '../../workflows/core/message';

function strip(content: string, name = 'look'): string {
  const result: ToolResultBlock = {
    type: 'tool-result',
    toolCallId: 'c',
    name,
    content,
    isError: false,
  };
  const message = strippedMessage({ role: 'tool', results: [result] }, 200, placeholderRef);
  return message.role === 'tool' ? (message.results[0]?.content ?? '') : '';
}

test.each([1, 120, 150, 199, 200])('a result of %d characters stays', (chars) => {
  const fenced = fenceToolOutput('look', 'x'.repeat(chars), 'c');
  expect(strip(fenced)).toBe(fenced);
});

test.each([201, 230, 1_000, 16_000])(
  'a result of %d characters is removed, and its size is stated',
  (chars) => {
    const text = strip(fenceToolOutput('look', 'x'.repeat(chars), 'c'));
    expect(text).toContain(`removed this result of ${chars} characters`);
    expect(text).not.toContain('xxx');
  },
);

test('text after the fence counts too, and so does all of a result without a fence', () => {
  const fenced = fenceToolOutput('look', 'x'.repeat(150), 'c');
  expect(strip(`${fenced}\n${'y'.repeat(50)}`)).toContain('removed this result of 201 characters');
  expect(strip('z'.repeat(200))).toBe('z'.repeat(200));
  expect(strip('z'.repeat(201))).toContain('removed this result of 201 characters');
});

test('lines that look like a fence inside a result are part of it', () => {
  const inside = `<tool_output tool="look" fence="0">\n${'x'.repeat(180)}\n</tool_output fence="0">`;
  expect(strip(fenceToolOutput('look', inside, 'c'))).toContain('removed this result of');
});
