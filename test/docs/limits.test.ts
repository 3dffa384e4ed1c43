/** Every number of docs/limits.md is the constant of the code that enforces it. */
import { requestLimitsOf } from '../../activities/providers/request/request-limits';
import type { ProviderWire } from '../../activities/providers/provider';
import { reservedToolNames } from '../../activities/tools/built-in-tools';
import { sourceText, tableUnder } from './documents';

const page = { file: 'docs/limits.md', text: sourceText('docs/limits.md') };

/** The number that a constant, or a field of one, has in the code. */
function constant(file: string, name: string): number {
  const written = new RegExp(`\\b${name}(?: =|:) (\\d[\\d_]*(?: \\* \\d[\\d_]*)*)`);
  const [, product] = written.exec(sourceText(file)) ?? [];
  if (product === undefined) throw new Error(`${file} has no constant ${name} with a number`);
  return product.split(' * ').reduce((all, part) => all * Number(part.replaceAll('_', '')), 1);
}

const sections: Readonly<Record<string, Readonly<Record<string, readonly [string, string]>>>> = {
  'What you give a run': {
    'Goal, message, or answer': ['workflows/core/limits.ts', 'personTextChars'],
    'Messages that wait for the next model call, together': [
      'workflows/core/limits.ts',
      'inboxChars',
    ],
    'Messages that one model call carries': ['workflows/core/limits.ts', 'textsPerCallChars'],
    'Images and files of one goal, message, or answer': [
      'workflows/core/limits.ts',
      'attachmentsPerText',
    ],
    'One image or PDF': ['workflows/core/limits.ts', 'attachmentBytes'],
    'One text file': ['workflows/core/limits.ts', 'textFileBytes'],
    'A text file as the model reads it': ['workflows/core/limits.ts', 'personTextChars'],
    'Context value': ['workflows/core/limits.ts', 'contextBytes'],
    "Arguments that a person gives instead of the model's": [
      'workflows/core/limits.ts',
      'editedInputChars',
    ],
    'Levels of JSON in such arguments': ['workflows/core/limits.ts', 'editedInputDepth'],
    'Reason for stopping, escalating, or rejecting': ['client/check-input.ts', 'reasonChars'],
    'Reason of a rejection as the model reads it': [
      'workflows/core/people/decisions.ts',
      'reasonChars',
    ],
    'Id of a run': ['client/check-input.ts', 'idChars'],
    'Id of a schedule': ['client/check-input.ts', 'scheduleIdChars'],
  },
  'What you define': {
    'Tools of one agent': ['activities/definitions/agent-tools.ts', 'maxTools'],
    'Description of a tool': ['activities/tools/define-tool.ts', 'maxDescriptionChars'],
    "Schema of an MCP server's tool": ['activities/tools/mcp/mcp-definitions.ts', 'maxSchemaChars'],
    'All schemas of an MCP server': ['activities/tools/mcp/mcp-definitions.ts', 'maxServerChars'],
    "Runs in progress that a tenant's cap allows": [
      'activities/definitions/tenant-caps.ts',
      'mostRuns',
    ],
    'extraBody of a route; extraHeaders the same': [
      'activities/providers/settings/setting-rules.ts',
      'mostExtraBytes',
    ],
  },
  'Replies and calls': {
    'Tool calls in one reply': ['workflows/core/limits.ts', 'maxCallsPerReply'],
    'Text of one reply': ['activities/providers/stream/answer-bounds.ts', 'maxSaidCharacters'],
    'Bytes of one answer of a server': [
      'activities/providers/stream/answer-bounds.ts',
      'maxReplyBytes',
    ],
    "Arguments of a call in Temporal's history": ['workflows/core/limits.ts', 'inlineInputBytes'],
    'Arguments as people are shown them': [
      'workflows/core/secrets/shown-arguments.ts',
      'shownArgumentsChars',
    ],
    'Arguments of Temporal code (activity, workflow, Nexus)': [
      'activities/tools/existing-code/temporal-target.ts',
      'maxArgsChars',
    ],
    'Result of Temporal code': ['workflows/temporal-work.ts', 'maxResultChars'],
  },
  'Outputs of tools': {
    'Output as the model reads it': ['activities/tool-output/tool-output.ts', 'modelOutputChars'],
    'One reading of read_output': ['activities/tools/read-output.ts', 'maxLength'],
    'Output as it is stored': ['activities/tool-output/tool-output.ts', 'keptOutputChars'],
    'A stream, response, or generator that a tool returns': [
      'activities/tool-output/output-stream.ts',
      'maxStreamBytes',
    ],
    'Output of run_command': [
      'activities/tools/workspace/commands/run-command.ts',
      'maxOutputBytes',
    ],
    'Images and PDFs of one result': ['activities/tools/output-with-media.ts', 'maxMedia'],
    'A file that the workspace tools read or write': [
      'activities/tools/workspace/text-file.ts',
      'maxFileBytes',
    ],
    'One reading of read_file': ['activities/tools/workspace/read-file.ts', 'maxChars'],
    'Matches of one search_files': ['activities/tools/workspace/search-files.ts', 'maxMatches'],
    'Entries of one list_files': ['activities/tools/workspace/list-files.ts', 'maxListed'],
    'A message of an MCP server': ['activities/tools/mcp/mcp-frame.ts', 'maxFrameBytes'],
    'Text of an error in events, status, and history': [
      'workflows/core/limits.ts',
      'failureMessageChars',
    ],
  },
  'What a run gives back': {
    Answer: ['workflows/core/limits.ts', 'answerBytes'],
    'Structured output': ['workflows/core/limits.ts', 'answerBytes'],
    'Previews of replies and results in events': ['workflows/core/limits.ts', 'previewChars'],
    'HoldfastReason and the other search attributes': [
      'workflows/run-visibility.ts',
      'attributeChars',
    ],
  },
  'What the store takes': {
    'One blob': ['activities/stores/store-limits.ts', 'maxBlobBytes'],
    'The messages of one iteration': ['activities/stores/store-limits.ts', 'maxNodeBytes'],
    'Observations of one tenant': [
      'activities/stores/patterns/pattern-store.ts',
      'keptObservations',
    ],
    'Learned patterns of one tenant': ['activities/extract-patterns.ts', 'keptPatterns'],
  },
};

/** What is taken off a constant before it is a limit. */
const takenOff: Readonly<Record<string, number>> = { maxTools: reservedToolNames.length };

function numberOf(text: string): number {
  const [, number = '', unit = ''] = /^([\d,]+)(?: (MiB))?/.exec(text) ?? [];
  return Number(number.replaceAll(',', '')) * (unit === 'MiB' ? 1024 * 1024 : 1);
}

test.each(Object.entries(sections))('%s', (heading, constants) => {
  const shown = tableUnder(page, heading).map(([what = '', limit = '']) => [what, numberOf(limit)]);
  const enforced = Object.entries(constants).map(([what, [file, name]]) => [
    what,
    constant(file, name) - (takenOff[name] ?? 0),
  ]);
  expect(shown).toEqual(enforced);
});

const wires: Readonly<Record<string, ProviderWire>> = {
  Anthropic: 'anthropic',
  'OpenAI Responses': 'responses',
  'OpenAI Chat and compatibles': 'chat',
};

test('What vendors take', () => {
  const rows = tableUnder(page, 'What vendors take');
  expect(rows.map(([api]) => api)).toEqual(Object.keys(wires));
  for (const [api = '', ...cells] of rows) {
    const { bytes, images, imageBytes, pdfBytes, messages } = requestLimitsOf(wires[api]);
    const known = [
      bytes,
      images,
      imageBytes,
      pdfBytes,
      ...(messages === Infinity ? [] : [messages]),
    ];
    expect(cells.map(numberOf).slice(0, known.length)).toEqual(known);
  }
  const { imageEdge, manyImagesEdge, largeImages, pages } = requestLimitsOf('anthropic');
  const numbers = page.text.match(/Anthropic also takes .*/)?.[0].match(/[\d,]*\d/g) ?? [];
  expect(numbers.map(numberOf).slice(0, 4)).toEqual([
    imageEdge,
    manyImagesEdge,
    largeImages,
    pages,
  ]);
});
