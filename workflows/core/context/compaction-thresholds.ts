/** How a run keeps its conversation within the model's window: every threshold, with unit, default, and source. */

/** Thresholds of compaction. People set them per agent; nothing that a model says can. */
export interface CompactionConfig {
  /** Share of the window from which people are warned and the compaction is prepared. Default 0.8 (R-CTX-2). */
  readonly warnShare: number;
  /** Share of the window from which the conversation is compacted. Default 0.9 (R-CTX-3). */
  readonly compactShare: number;
  /** Newest messages that are never summarized; more if a tool call and its results would be separated. Default 4 (R-CTX-4). */
  readonly keptTail: number;
  /** Messages that a conversation must have before any of it is summarized. Default 6 (R-CTX-5). */
  readonly minMessages: number;
  /** Characters up to which an old tool result stays. Default 200 (R-CTX-1). */
  readonly stripChars: number;
  /** Share of its tokens by which a compaction must shrink the request, or the next tier follows. Default 0.1 (ADR 0024). */
  readonly minShrinkShare: number;
  /** Compactions between two replies of the model. Default 3 (R-CTX-7). */
  readonly maxCompactions: number;
}

/** What holds unless an agent says otherwise. */
export const defaultCompaction: CompactionConfig = {
  warnShare: 0.8,
  compactShare: 0.9,
  keptTail: 4,
  minMessages: 6,
  stripChars: 200,
  minShrinkShare: 0.1,
  maxCompactions: 3,
};
