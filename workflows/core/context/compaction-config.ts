/** How a run keeps its conversation within the model's window (layer 4): every threshold, with unit, default and source. */

/** Thresholds of compaction. People set them per agent; nothing that a model says can. */
export interface CompactionConfig {
  /** Share of the window from which people are warned and the compaction is prepared. Default 0.8 (seed 001). */
  readonly warnShare: number;
  /** Share of the window from which the conversation is compacted. Default 0.9 (seed 001). */
  readonly compactShare: number;
  /** Newest messages that are never summarised; more where a tool call and its results would be parted. Default 4 (seed 001). */
  readonly keptTail: number;
  /** Messages that a conversation must have before any of it is summarised. Default 6 (seed 001). */
  readonly minMessages: number;
  /** Characters up to which an old tool result is left as it is. Default 200 (seed 001). */
  readonly stripChars: number;
  /** Share of its tokens by which a compaction must shrink the request, or the next tier follows. Default 0.1 (ADR 0024). */
  readonly minShrinkShare: number;
  /** Compactions without a reply of the model in between. Default 3 (case compaction-01). */
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
