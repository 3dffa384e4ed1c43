/** The phase in which a run ends: what is in flight returns first, so that nothing is lost. */
import type { EndingTools } from '../tools/state';
import type { EndingPlan } from './phases';

/** The phase. The calls of the reply that the end interrupted stay in it, so that their results are kept in order. */
export interface Ending extends EndingPlan, EndingTools {
  /** Id of the model call, the compaction, the plan, or the preparation in flight. */
  readonly outstanding?: string;
  /** How many of the inbox's texts that model call carries. */
  readonly sentTexts?: number;
}
