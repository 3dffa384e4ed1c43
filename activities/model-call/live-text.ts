/** Shows the text of one attempt to whoever watches the run, while it arrives (ADR 0062). */
import { previewChars } from '../../workflows/core/limits';
import type { TextPiece } from '../../workflows/core/model-call/live-text';
import { stripHidden } from '../../workflows/core/secrets/hidden-characters';
import { withoutCallBlock } from '../providers/request/text-tool-protocol';
import { splitAtOrphan } from '../providers/stream/tagged-thoughts';
import type { LiveTexts } from '../stores/live-texts';
import { withoutSecrets } from '../untrusted/known-secrets';
import { lastWordStart, placeBetweenSecrets } from '../untrusted/sanitizer';

/** Milliseconds between two pieces: short enough to be read as a flow, long enough to hold several words (ADR 0062). */
const pieceEveryMs = 100;
/** Every so many pieces the store is asked whether somebody watches: twice a second (ADR 0062). */
const lookEvery = 5;
/** Milliseconds for which the end of a text may hold up the reply: a store that is slow loses text, not time. */
const mostEndMs = 500;

/** Characters of the end of a text that are cleaned again with each piece, as what follows can change them. */
const openChars = 8_192;
/** Characters from which the beginning of them is settled. */
const settledFromChars = 3 * openChars;

/** A text that grows, as people may see it. */
export class VisibleText {
  /** Cleaned; nothing that follows changes it. */
  #settled = '';
  #open = '';

  /** `isTextProtocol`: a call of a tool in the text is no word of the model to people. */
  constructor(private readonly isTextProtocol: boolean) {}

  add(piece: string): void {
    this.#open += piece;
  }

  /** Without secrets, hidden characters, and thoughts; before the end also without the last word, which may become a secret. */
  visible(isEnded: boolean): string {
    const { answer } = splitAtOrphan(this.#open);
    if (answer !== this.#open) this.#settled = '';
    this.#open = answer;
    while (this.#open.length > settledFromChars) {
      const at = placeBetweenSecrets(this.#open, this.#open.length - openChars);
      this.#settled += cleaned(this.#open.slice(0, at));
      this.#open = this.#open.slice(at);
    }
    const end = isEnded ? this.#open.length : lastWordStart(this.#open);
    const text = this.#settled + cleaned(this.#open.slice(0, end));
    return this.isTextProtocol ? withoutCallBlock(text, isEnded) : text;
  }
}

function cleaned(text: string): string {
  return withoutSecrets(stripHidden(text));
}

/** Characters that two texts begin with. */
function commonStart(left: string, right: string): number {
  if (right.startsWith(left)) return left.length;
  let at = 0;
  while (at < left.length && left[at] === right[at]) at += 1;
  return at;
}

/** Of which call, and where it is shown. */
export interface LiveTextPlace extends Omit<TextPiece, 'number' | 'offset' | 'text'> {
  readonly runKey: string;
  readonly isTextProtocol: boolean;
}

/**
 * The text of one attempt.
 *
 * Contract: while nobody watches, it costs one read of the store in half a second, and none for a short text that takes less
 * than a tenth. It never fails, and holds up the reply for at most half a second: what the store does not take is lost.
 */
export class LiveText {
  readonly #text: VisibleText;
  #timer: NodeJS.Timeout | undefined;
  #turns = 0;
  #received = 0;
  #isWatched = false;
  #isOver = false;
  /** What watchers have; undefined: nothing yet, perhaps the text of an attempt before. */
  #written: string | undefined;
  #pieces = 0;
  /** Settles when the store is done with the piece before. */
  #last: Promise<void> | undefined;

  constructor(
    private readonly texts: Pick<LiveTexts, 'isWatched' | 'write'>,
    private readonly place: LiveTextPlace,
  ) {
    this.#text = new VisibleText(place.isTextProtocol);
    // What the attempt before had said is taken back.
    if (place.attempt > 1) this.#begin();
  }

  /** Takes a piece of the text. */
  add(text: string): void {
    this.#text.add(text);
    this.#received += text.length;
    this.#begin();
  }

  /** The reply has ended, or broke: the rest is shown. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    // A short text that came at once is in the timeline as a whole.
    const isShort = this.#turns === 0 && this.#received <= previewChars;
    if (this.#timer === undefined || isShort) return;
    const late = AbortSignal.timeout(mostEndMs);
    await Promise.race([
      Promise.resolve(this.#last).then(() => this.#turn(true)),
      new Promise((resolve) => {
        late.addEventListener('abort', resolve, { once: true });
      }),
    ]);
    // What is late would take the place of the next call's text.
    this.#isOver = true;
  }

  #begin(): void {
    this.#timer ??= setInterval(() => {
      this.#last ??= this.#turn(false).finally(() => {
        this.#last = undefined;
      });
    }, pieceEveryMs).unref();
  }

  async #turn(isEnded: boolean): Promise<void> {
    const { texts, place } = this;
    try {
      const isLookDue = this.#turns % lookEvery === 0;
      this.#turns += 1;
      if (isLookDue) this.#isWatched = await texts.isWatched(place.runKey);
      if (this.#isWatched && !this.#isOver) await this.#write(isEnded);
    } catch {
      // Text may be lost; the next piece, or none, holds what this one held.
    }
  }

  async #write(isEnded: boolean): Promise<void> {
    const { runKey, isTextProtocol: _, ...place } = this.place;
    const text = this.#text.visible(isEnded);
    if (text === this.#written) return;
    const offset = commonStart(this.#written ?? '', text);
    // Also if the write fails: it may have arrived all the same.
    this.#pieces += 1;
    const piece = { ...place, number: this.#pieces, offset, text: text.slice(offset) };
    await this.texts.write(runKey, piece, this.#written === undefined);
    this.#written = text;
  }
}
