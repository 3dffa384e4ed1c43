/** A call that was written as text is no answer, and an answer that shows or names a call is no call. */
import { writtenCall } from '../../activities/providers/request/written-call';
import { fc } from '../support/properties';

const tools = ['read_file', 'add', 'search', 'refund_order', 'list_files'];
const call = '{"name": "read_file", "arguments": {"path": "a.txt"}}';
const fenced = (text: string, language = 'json'): string => `\`\`\`${language}\n${text}\n\`\`\``;

describe('a call', () => {
  test.each<readonly [string, string, string]>([
    ['bare JSON', call, 'read_file'],
    ['bare JSON over several lines', JSON.stringify(JSON.parse(call), undefined, 2), 'read_file'],
    ['bare JSON in the taught keys', '{"tool_name": "add", "arguments": {"a": 1, "b": 2}}', 'add'],
    ['bare JSON of a tool without input', '{"tool_name": "list_files"}', 'list_files'],
    ['parameters for arguments', '{"tool": "add", "parameters": {"a": 1, "b": 2}}', 'add'],
    ['arguments as text', '{"name": "add", "arguments": "{\\"a\\": 1}"}', 'add'],
    ['the form of the API', `{"type":"function","function":${call}}`, 'read_file'],
    ['a list of calls', `[${call}, {"name": "add", "arguments": {}}]`, 'read_file'],
    ['calls under a key', `{"tool_calls": [{"id": "1", "function": ${call}}]}`, 'read_file'],
    ['JSON under a heading', `The tool call is:\n\n${call}`, 'read_file'],
    ['an announcement in the third person', `The next step is to read it.\n${call}`, 'read_file'],
    ['advice to itself', `To read it, use the read_file tool:\n${fenced(call)}`, 'read_file'],
    [
      'a thought, then a tag',
      `<think>I need it.</think>\n<tool_call>\n${call}\n</tool_call>`,
      'read_file',
    ],
    [
      'an invented response after a tag',
      `<tool_call>\n${call}\n</tool_call>\n<tool_response>ok</tool_response>\nThe file was read.`,
      'read_file',
    ],
    [
      'DSML (TokenRhythm/opensquilla#985)',
      'I look.\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name="read_file">\n<｜DSML｜parameter name="path" string="true">a</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
      'read_file',
    ],
    [
      'DSML with other bars, without a section (sgl-project/sglang#40236)',
      '<‖DSML‖invoke name="read_file"><‖DSML‖parameter name="path">a</‖DSML‖parameter></‖DSML‖invoke>',
      'read_file',
    ],
    [
      'DSML with doubled bars (lsdefine/GenericAgent#804)',
      '<｜｜DSML｜｜tool_calls>\n<｜｜DSML｜｜invoke name="read_file">\n</｜｜DSML｜｜invoke>',
      'read_file',
    ],
    [
      "Mistral's list",
      '[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a"}}]',
      'read_file',
    ],
    ["Mistral's marks", '[TOOL_CALLS]read_file[CALL_ID]abcDEF123[ARGS]{"path": "a"}', 'read_file'],
    [
      "Kimi's sections",
      '<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"path": "a"}<|tool_call_end|><|tool_calls_section_end|>',
      'read_file',
    ],
    [
      "DeepSeek's older marks",
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n{"path":"a"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
      'read_file',
    ],
    [
      "GLM's keys",
      '<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.txt</arg_value>\n</tool_call>',
      'read_file',
    ],
    [
      'a channel of gpt-oss',
      '<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{"path":"a"}<|call|>',
      'read_file',
    ],
    ["Gemma's marks", '<|tool_call>call:read_file{path:a.txt}<tool_call|>', 'read_file'],
    [
      'markup behind a sentence',
      'I read it now: <function=read_file>{"path": "a"}</function>',
      'read_file',
    ],
    ['two calls', `${call}\n${call}`, 'read_file'],
    [
      'a call of Anthropic',
      '{"type": "tool_use", "id": "x", "name": "read_file", "input": {"path": "a"}}',
      'read_file',
    ],
    ['a json fence', fenced(call), 'read_file'],
    ['a fence without a language', fenced(call, ''), 'read_file'],
    ['a fence of another language', fenced(call, 'tool_call'), 'read_file'],
    ['two fences', `${fenced(call)}\n\n${fenced(call)}`, 'read_file'],
    ['a fence that was cut off', `\`\`\`json\n${call}`, 'read_file'],
    ['single backticks', `\`${call}\``, 'read_file'],
    ['prose, then JSON', `I will look into the file first.\n\n${call}`, 'read_file'],
    ['prose, then JSON in the same line', `Let me read it: ${call}`, 'read_file'],
    [
      'prose around a fence',
      `To do that I need to read it.\n${fenced(call)}\nThis shows its lines.`,
      'read_file',
    ],
    ['JSON, then an invented result', `${call}\n\nResult: hello world`, 'read_file'],
    ['a word of courtesy, then JSON', `Sure!\n${call}`, 'read_file'],
    ['a tag', `<tool_call>\n${call}\n</tool_call>`, 'read_file'],
    ['a tag that was never closed', `<tool_call>${call}`, 'read_file'],
    ['prose, then a tag', `I'll check the order.\n<tool_call>\n${call}\n</tool_call>`, 'read_file'],
    [
      'a function tag',
      '<function=refund_order>\n<parameter=id>\nA-17\n</parameter>\n</function>',
      'refund_order',
    ],
    [
      'a function tag in a tag',
      '<tool_call>\n<function=add>\n<parameter=a>1</parameter>\n</function>\n</tool_call>',
      'add',
    ],
    [
      'an invoke tag',
      '<function_calls>\n<invoke name="search">\n<parameter name="q">x</parameter>\n</invoke>\n</function_calls>',
      'search',
    ],
    ['a Mistral mark', `[TOOL_CALLS] [${call}]`, 'read_file'],
    ['a Llama mark', `<|python_tag|>${call}`, 'read_file'],
    ['name and JSON', 'refund_order {"id": "A-17"}', 'refund_order'],
    ['name, brackets, JSON', 'refund_order({"id": "A-17"})', 'refund_order'],
    ['a call in Python', 'add(a=1, b=2)', 'add'],
    ['a call in Python in a fence', fenced('print(search(q="x"))', 'tool_code'), 'search'],
    [
      'an action with its input',
      'Thought: I need to add them.\nAction: add\nAction Input: {"a": 1, "b": 2}',
      'add',
    ],
    ['doubled braces', '{{"name": "read_file", "arguments": {"path": "a.txt"}}}', 'read_file'],
    ['JSON that was cut off', '{"name": "read_file", "arguments": {"path": "a.t', 'read_file'],
    [
      'a repeat after a failure',
      `The last call failed. I will correct the path:\n${call}`,
      'read_file',
    ],
  ])('%s', (_what, text, name) => {
    expect(writtenCall(text, tools)).toEqual({ name, isKnown: true });
  });

  test.each<readonly [string, string]>([
    ['bare JSON', '{"name": "delete_file", "arguments": {"path": "a"}}'],
    ['a tag', '<tool_call>{"name": "delete_file", "parameters": {"path": "a"}}</tool_call>'],
    ['a function tag', '<function=delete_file><parameter=path>a</parameter></function>'],
    ['the taught keys', fenced('{"tool_name": "delete_file", "arguments": {"path": "a"}}')],
  ])('of a tool that does not exist: %s', (_what, text) => {
    expect(writtenCall(text, tools)).toEqual({ name: 'delete_file', isKnown: false });
  });
});

describe('an answer', () => {
  test.each<readonly [string, string]>([
    ['plain text', 'The order was refunded.'],
    ['a name of a tool', 'search'],
    [
      'marks of a model in backticks',
      'Kimi begins a call with `<|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{}` and Mistral with `[TOOL_CALLS]read_file{}`.',
    ],
    ['markup in backticks', 'The form is: `<function=read_file>{"path": "a"}</function>`.'],
    ['a sentence about a tool', 'I used read_file to read a.txt, then add. The sum is 3.'],
    ['what a tool takes', 'read_file takes one input: {"path": "a.txt"}.'],
    ['JSON without a call', '{"total": 3, "files": ["a.txt"]}'],
    ['JSON with the name of a tool', '{"name": "search", "version": "1.0.0"}'],
    ['a record with a name only', '{"name": "add"}'],
    ['a package', fenced('{"name": "add", "version": "1.0.0", "dependencies": {}}')],
    [
      'a definition of a tool',
      '{"name": "add", "description": "Adds.", "parameters": {"type": "object"}}',
    ],
    ['a record of a person', '{"name": "Ada", "input": {"age": 36}}'],
    ['an action that is no tool', '{"action": "approve", "input": {"id": 3}}'],
    ['a result by the name of a tool', 'search: {"hits": 3}'],
    [
      'an example of a call',
      `A call of the tool has a name and arguments, for example:\n${fenced(call)}`,
    ],
    [
      'advice to a reader',
      `You can call it from your client:\n${fenced(call)}\nIt returns the text.`,
    ],
    ['a body of a request', `The endpoint expects this body:\n\n${call}`],
    [
      'what Qwen writes',
      `Models of this family write calls like this:\n<tool_call>\n${call}\n</tool_call>\nThe server parses them.`,
    ],
    ['a tag in a sentence', 'The template wraps each call in <tool_call> and </tool_call>.'],
    ['JSON in the middle of a line', `I sent ${call} and got the text back.`],
    ['JSON in backticks', `The call was \`${call}\``],
    ['JSON in the middle of an announcement', `I will keep ${call} in the notes.`],
    ['JSON in backticks that were announced', `I will put this in the notes: \`${call}\``],
    ['a report', `The call that failed was:\n${call}\nThe file does not exist.`],
    ['a line of a log', `The log contains this entry:\n${fenced(call)}`],
    [
      'code that calls',
      fenced('const text = await client.call({"name": "read_file", "arguments": {}});', 'js'),
    ],
    ['code that is named like a tool', `Here is the code:\n${fenced('add(2, 3)', 'python')}`],
    ['code with more than the call', fenced('def total():\n    return 0\n\nadd(2, 3)', 'python')],
    [
      'a command',
      `Run this:\n${fenced('curl -d \'{"name": "add", "arguments": {}}\' localhost', 'sh')}`,
    ],
    ['a file of lines', fenced('{"at": 1}\n{"name": "add", "arguments": {}}', 'jsonl')],
    [
      'a configuration',
      `Put this into tools.json:\n${fenced('{"tools": [{"name": "add", "arguments": {}}]}')}`,
    ],
    ['a list of steps', 'Steps taken:\nAction: add\nInput: 1 and 2\n\nThe sum is 3.'],
    [
      'a long answer that holds a call',
      `${'The two systems differ in how they describe work to a model. '.repeat(8)}\n${call}\n`,
    ],
    ['a list of what was sent', `1. ${call} was sent first.\n2. Then nothing.`],
    [
      'a change of a program',
      `I fixed the parser. It now accepts\n${fenced(call)}\nand refuses the rest.`,
    ],
    ['a quotation', `> ${call}\n\nThis is what the user pasted.`],
    ['an assignment', `const call = ${call};`],
    ['an instruction for a test', `Use the following JSON to test the endpoint:\n${fenced(call)}`],
    ['an instruction to a reader', `Post this to /v1/tools:\n${fenced(call)}`],
    ['a table of calls', `| call | result |\n| --- | --- |\n| ${call} | ok |`],
    ['signatures', 'Summary\n\nsearch(query) returns hits.\nread_file(path) returns text.'],
    ['a table', '| tool | arguments |\n| --- | --- |\n| add | {"a": 1} |'],
    ['nothing', ''],
    ['braces', '{{{{[[[['],
  ])('%s', (_what, text) => {
    expect(writtenCall(text, tools)).toBeUndefined();
  });

  test('where the agent has no such tool', () => {
    expect(writtenCall('{"tool": "add", "parameters": {"a": 1}}', [])).toBeUndefined();
    expect(writtenCall(`I will add.\n${fenced(call)}`, ['add'])).toBeUndefined();
  });
});

test('never throws, and takes no longer than the text is long', () => {
  const part = fc.constantFrom(
    '```json\n',
    '```',
    '\n',
    '{',
    '}',
    '[',
    '"name":',
    '"add"',
    '"arguments":',
    ',',
    'add(',
    ')',
    '<tool_call>',
    ' I will ',
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 60 }), (parts) => {
      writtenCall(parts.join(''), tools);
    }),
  );
  const startedAt = performance.now();
  for (const unit of [
    '{',
    '{"a":',
    '```\n',
    '<tool_call>',
    'add(',
    '\n ',
    '"',
    'Action: add\nInput: ',
  ])
    writtenCall(unit.repeat(200_000 / unit.length), tools);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});
