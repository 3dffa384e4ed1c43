/** Name of the agent that is there without any file. */
export const builtInAgentName = 'coder';
