/** Name of the agent that needs no agents file. */
export const builtInAgentName = 'coder';
