/** Judges the request that a transcript becomes: every vendor takes it, and it invents nothing. */
import type { ModelRequest } from '../../../activities/providers/provider';
import {
  blankResultText,
  missingResultText,
  repairTranscript,
} from '../../../activities/providers/request/transcript-repair';
import { wellFormedText } from '../../../activities/providers/request/well-formed';
import type { Move, Speaker } from './moves';
import { speakers } from './moves';
import type { PlayedHistory } from './play-history';
import { playHistory } from './play-history';
import { refusalOf, voiceOf } from './vendor';

/** What was wrong with one request. */
export interface TranscriptProblem {
  readonly speaker: Speaker;
  readonly problem: string;
}

/** Everything that is wrong with what came of a history, on every wire, with and without a note. */
export function problemsOf(moves: readonly Move[]): readonly TranscriptProblem[] {
  const played = playHistory(moves);
  return speakers.flatMap((speaker) =>
    [undefined, 'Something went wrong.'].flatMap((note): TranscriptProblem[] => {
      const request: ModelRequest = {
        model: voiceOf(speaker).model,
        system: played.system,
        messages: played.messages,
        tools: played.tools,
        maxOutputTokens: 1_024,
        ...(note === undefined ? {} : { note }),
      };
      const problem = refusalOf(speaker, request) ?? inventionIn(played);
      return problem === undefined ? [] : [{ speaker, problem }];
    }),
  );
}

/** A result that nobody recorded, other than the one that says so. */
function inventionIn({ messages, contents }: PlayedHistory): string | undefined {
  const known = new Set([...contents].map(wellFormedText));
  const invented = repairTranscript(messages)
    .flatMap((message) => (message.role === 'tool' ? message.results : []))
    .find(
      ({ content }) =>
        ![missingResultText, blankResultText].includes(content) && !known.has(content),
    );
  return invented === undefined ? undefined : `invented result: ${invented.content}`;
}
