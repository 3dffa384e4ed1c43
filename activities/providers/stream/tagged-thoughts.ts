/** Separates the thoughts that a model wrote in tags at the beginning of its text, which a server without a fitting parser leaves there. */

/**
 * Tags around thoughts, in lower case. Source: ggml-org/llama.cpp#24671, youssofal/MTPLX#149, Mistral's `[THINK]`, Seed-OSS,
 * Kimi-VL, Gemma 4 (NousResearch/hermes-agent#67632), and the channels of gpt-oss (ddalcu/mlx-serve#247).
 */
const tags: readonly (readonly [open: string, close: string])[] = [
  ...['think', 'thinking', 'thought', 'thoughts', 'reasoning', 'seed:think'].map(
    (name) => [`<${name}>`, `</${name}>`] as const,
  ),
  ['[think]', '[/think]'],
  ['\u25c1think\u25b7', '\u25c1/think\u25b7'],
  ['<|channel>thought', '<channel|>'],
  ['<|channel|>analysis<|message|>', '<|end|>'],
];

/** What stands before an answer, in lower case. */
const answerMarks = [
  '<|start|>assistant<|channel|>final<|message|>',
  '<|channel|>final<|message|>',
] as const;

/**
 * A closing tag that ends its line, or that the answer follows without a blank; its opening tag was a part of the prompt, or was
 * lost.
 */
const orphan =
  /(?:<\/(?:think|thinking|thoughts?|reasoning|seed:think)>|\[\/think\]|\u25c1\/think\u25b7)(?:[ \t]*(?:\r?\n|$)|(?=[\p{L}\p{N}{"*#]))/iu;

/** Orphans that are looked for in one text. */
const mostOrphans = 8;

/** The end of the text that may be the beginning of a tag. */
function possibleTag(text: string, tag: string): string {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length -= 1) {
    const end = text.slice(-length);
    if (tag.startsWith(end.toLowerCase())) return end;
  }
  return '';
}

/** True within a fence, or within backticks of the last line: there a tag is a sample. */
function endsInCode(text: string): boolean {
  const fences = text.match(/^[ \t]*```/gm)?.length ?? 0;
  const ticks = text.slice(text.lastIndexOf('\n') + 1).match(/`/g)?.length ?? 0;
  return fences % 2 === 1 || ticks % 2 === 1;
}

/**
 * A text without the thoughts before a closing tag that was never opened.
 *
 * Contract: pure; a closing tag in code, or followed by a blank and words in its line, is a part of the text.
 */
export function splitAtOrphan(text: string): { readonly thought: string; readonly answer: string } {
  let [thought, answer] = ['', text];
  for (let found = 0; found < mostOrphans; found += 1) {
    const match = orphan.exec(answer);
    if (match === null) break;
    const before = answer.slice(0, match.index);
    const isOpened = tags.some(([open]) => before.toLowerCase().includes(open));
    if (isOpened || endsInCode(before)) break;
    thought += before;
    answer = answer.slice(match.index + match[0].length).trimStart();
  }
  return { thought, answer };
}

/** Whether a text is the beginning of a tag or mark. */
function mayBecomeMark(text: string): boolean {
  return [...tags.flat(), ...answerMarks].some((mark) => mark.startsWith(text) && mark !== text);
}

/** The mark of an answer that a text begins with, or nothing. */
function answerMarkOf(text: string): string {
  return answerMarks.find((mark) => text.startsWith(mark)) ?? '';
}

/** Reads one reply's text as it streams. */
export class TaggedThoughts {
  #thought = '';
  #answer = '';
  /** What cannot be told yet. */
  #held = '';
  /** Closing tag of the thought that is open. */
  #closing: string | undefined;
  #isAnswer = false;
  #hasThought = false;

  /** Takes a piece; returns what of it, and of what was held, is the answer's. */
  accept(piece: string): string {
    this.#held += piece;
    while (!this.#isAnswer)
      if (!(this.#closing === undefined ? this.#open() : this.#close(this.#closing))) return '';
    const said = this.#held;
    this.#answer += said;
    this.#held = '';
    return said;
  }

  /** Thoughts and answer once the text has ended. A thought that was never closed is no answer. */
  whole(): { readonly thought: string; readonly answer: string } {
    const isThought = this.#closing !== undefined;
    const { thought, answer } = splitAtOrphan(this.#answer + (isThought ? '' : this.#held));
    return { thought: this.#thought + (isThought ? this.#held : '') + thought, answer };
  }

  /** Reads an opening tag, or finds the answer's beginning. False if more must arrive. */
  #open(): boolean {
    const text = this.#held.trimStart();
    const lower = text.toLowerCase();
    if (text === '') return false;
    const opened = tags.find(([open]) => lower.startsWith(open));
    const orphaned = tags.find(([, close]) => lower.startsWith(close));
    if (opened !== undefined || orphaned !== undefined) {
      this.#hasThought = true;
      this.#closing = opened?.[1];
      this.#held = text.slice((opened?.[0] ?? orphaned?.[1] ?? '').length);
      return true;
    }
    if (mayBecomeMark(lower)) return false;
    const mark = answerMarkOf(lower);
    if (this.#hasThought || mark !== '') this.#held = text.slice(mark.length);
    this.#isAnswer = true;
    return true;
  }

  /** Reads up to the closing tag. False if it has not arrived. */
  #close(closing: string): boolean {
    const place = this.#held.toLowerCase().indexOf(closing);
    if (place < 0) {
      const rest = possibleTag(this.#held, closing);
      this.#thought += this.#held.slice(0, this.#held.length - rest.length);
      this.#held = rest;
      return false;
    }
    this.#thought += this.#held.slice(0, place);
    this.#held = this.#held.slice(place + closing.length);
    this.#closing = undefined;
    return true;
  }
}
