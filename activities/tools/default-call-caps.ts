/** How often a run may call a high-risk tool, by the tool's name. */

/** Calls per run, unless the definition says otherwise (R-GUARD-4). */
export const defaultCallCaps: ReadonlyMap<string, number> = new Map([
  ['edit_file', 8],
  ['delete_file', 3],
  ['run_command', 10],
  ['run_terminal_command', 100],
  ['web_search', 8],
]);
