/** The messages of a run, as the model has them, a page at a time. */
import type { JSX } from 'preact';
import { useCallback, useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Message } from '../../../workflows/core/message';
import { useConsole, useLoaded } from '../api/console-context';
import type { Api } from '../api/gateway';
import { dataOf } from '../api/gateway';
import { ProblemNotice } from '../parts/notices';
import { countText, safeText } from '../parts/words';

/** Messages of a page. */
const pageSize = 30;
/** Characters of a result above which it is folded. */
const foldedChars = 800;

interface Page {
  readonly messages: readonly Message[];
  readonly offset: number;
  readonly total: number;
}

/** The page at the offset; the last one without. */
async function load(api: Api, runId: string, offset: number | undefined): Promise<Page> {
  const page = (from: number, limit: number) =>
    dataOf(
      api.GET('/v1/runs/{runId}/transcript', {
        params: { path: { runId }, query: { offset: from, limit } },
      }),
    );
  const from = offset ?? Math.max((await page(0, 1)).total - pageSize, 0);
  const { messages, total } = await page(from, pageSize);
  // The API's document names the role alone; the core's type has the rest.
  return { messages: messages as readonly unknown[] as readonly Message[], offset: from, total };
}

/** The transcript; loaded again when `version` changes, if it shows the end. */
export function Transcript({
  runId,
  version,
}: {
  readonly runId: string;
  readonly version: string;
}): JSX.Element {
  const { api } = useConsole();
  /** Undefined: the last page. Not in the key of the load, so that the page before stays until the next is there. */
  const offset = useRef<number | undefined>(undefined);
  const titleId = useId();
  const { value, problem, reload } = useLoaded(
    useCallback(() => load(api, runId, offset.current), [api, runId]),
    0,
  );
  useEffect(() => {
    if (version !== '' && offset.current === undefined) reload();
  }, [version]);
  const move = (to: number | undefined) => () => {
    offset.current = to;
    reload();
  };
  return (
    <section aria-labelledby={titleId} class="transcript" id="transcript" tabIndex={0}>
      <h2 id={titleId}>Transcript</h2>
      <ProblemNotice problem={problem} />
      {value !== undefined && (
        <>
          <div class="buttons">
            <button
              type="button"
              disabled={value.offset === 0}
              onClick={move(Math.max(value.offset - pageSize, 0))}
            >
              Earlier
            </button>
            <button
              type="button"
              disabled={value.offset + pageSize >= value.total}
              onClick={move(nextOffset(value))}
            >
              Later
            </button>
            <span class="hint">
              Messages {countText(Math.min(value.offset + 1, value.total))} to{' '}
              {countText(Math.min(value.offset + pageSize, value.total))} of{' '}
              {countText(value.total)}
            </span>
          </div>
          <ol class="messages">
            {value.messages.map((message, index) => (
              <MessageItem key={value.offset + index} message={message} />
            ))}
          </ol>
        </>
      )}
    </section>
  );
}

/** The last page follows the run. */
function nextOffset({ offset, total }: Page): number | undefined {
  return offset + 2 * pageSize >= total ? undefined : offset + pageSize;
}

function MessageItem({ message }: { readonly message: Message }): JSX.Element {
  return (
    <li class={`message ${message.role}`}>
      <strong>{message.role === 'assistant' ? safeText(message.model) : message.role}</strong>
      {message.role === 'tool'
        ? message.results.map(({ toolCallId, name, content, isError }) => (
            <div key={toolCallId}>
              <span class={isError ? 'bad' : 'hint'}>
                {isError ? 'error of' : 'result of'} {safeText(name)}
              </span>
              <LongText text={content} />
            </div>
          ))
        : message.blocks.map((block, index) => <Block key={index} block={block} />)}
    </li>
  );
}

type AnyBlock = Exclude<Message, { role: 'tool' }>['blocks'][number];

function Block({ block }: { readonly block: AnyBlock }): JSX.Element {
  switch (block.type) {
    case 'text':
    case 'refusal':
      return <LongText text={block.text} />;
    case 'reasoning':
      return (
        <details>
          <summary>Reasoning</summary>
          <pre>{safeText(block.text === '' ? 'The vendor shows none of it.' : block.text)}</pre>
        </details>
      );
    case 'tool-call':
      return (
        <div>
          <span class="hint">calls {safeText(block.name)}</span>
          <LongText text={JSON.stringify(block.input, undefined, 2)} />
        </div>
      );
    case 'vendor-block':
      return <LongText text={JSON.stringify(block.content, undefined, 2)} />;
    case 'image':
    case 'file':
      return (
        <p class="hint">
          {block.type} {safeText(block.name ?? '')} ({block.mediaType}, {countText(block.bytes)}{' '}
          bytes)
        </p>
      );
  }
}

/** A text as it is, its end folded away if it is long. */
function LongText({ text }: { readonly text: string }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const isLong = text.length > foldedChars;
  return (
    <>
      <pre>{safeText(isLong && !isOpen ? text.slice(0, foldedChars) : text)}</pre>
      {isLong && (
        <button
          type="button"
          class="quiet"
          aria-expanded={isOpen}
          onClick={() => {
            setOpen(!isOpen);
          }}
        >
          {isOpen ? 'Less' : `All ${countText(text.length)} characters`}
        </button>
      )}
    </>
  );
}
