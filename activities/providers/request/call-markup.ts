/** The marks with which models write a tool call when their server does not read it, in one form: `<function=NAME>…</function>`. */

const name = '([\\w.-]{1,64})';
const begun = '\n<function=$1>';
const ended = '</function>\n';

/**
 * Marks of models, each with what stands for it. Behind a backtick they are quoted, and stay. Distances are bounded, so that no text
 * takes long.
 *
 * Source: DeepSeek's DSML (TokenRhythm/opensquilla#985, lsdefine/GenericAgent#804) and its older marks, Mistral's `[TOOL_CALLS]`,
 * Kimi's sections, GLM's `<arg_key>`, the channels of gpt-oss, Gemma's `call:`.
 */
const marks: readonly (readonly [RegExp, string])[] = [
  [/(?<!`)<([|｜‖]{1,2}) ?DSML ?\1 ?(?=invoke|tool_calls|function_calls|calls|parameter)/gi, '\n<'],
  [/<\/([|｜‖]{1,2}) ?DSML ?\1 ?/gi, '</'],
  [
    new RegExp(
      `(?<!\`)\\[TOOL_CALLS\\]\\s{0,20}${name}(?:\\[CALL_ID\\]\\w{1,64})?(?:\\[ARGS\\])?\\s{0,20}(?=\\{)`,
      'g',
    ),
    begun,
  ],
  [
    new RegExp(
      `(?<!\`)<\\|tool_call_begin\\|>\\s{0,20}(?:functions\\.)?${name}(?::\\d{1,9})?\\s{0,20}<\\|tool_call_argument_begin\\|>`,
      'g',
    ),
    begun,
  ],
  [/<\|tool_calls?_(?:section_)?end\|>/g, ended],
  [
    new RegExp(
      `(?<!\`)<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?\\s{0,20}${name}(?:<｜tool▁sep｜>|\\s{1,20})`,
      'g',
    ),
    begun,
  ],
  [/<｜tool▁calls?▁end｜>/g, ended],
  [new RegExp(`(?<!\`)<tool_call>\\s{0,20}${name}\\s{0,20}(?=<arg_key>|</tool_call>)`, 'g'), begun],
  [
    new RegExp(
      `(?<!\`)(?:<\\|channel\\|>\\w{1,20} {0,4})?to=functions\\.${name}[^{\\n]{0,80}<\\|message\\|>`,
      'g',
    ),
    begun,
  ],
  [/<\|call\|>/g, ended],
  [new RegExp(`(?<!\`)<\\|tool_call>call:${name}(?=\\{)`, 'g'), begun],
  [/<tool_call\|>/g, ended],
  // Within a line, behind the end of a sentence.
  [/([.:!?…])[ \t]{0,20}(<(?:function=|invoke name=)["']?[\w.-]{1,64}["']?>)/g, '$1\n$2'],
];

/** The text with one form for the marks of all models. Contract: pure; a text without such marks is returned unchanged. */
export function withPlainMarks(text: string): string {
  return marks.reduce((plain, [mark, form]) => plain.replace(mark, form), text);
}
