/** The counters of runs. */

/** Every counter, with what it counts. `docs/telemetry.md`, the dashboard and the alerts name the same ones. */
export const counters = {
  agent_runs_started: 'Runs that began',
  agent_runs_ended:
    'Runs that ended, by status; reason names the breaker or limit that ended a failed one',
  agent_iterations: 'Iterations',
  agent_tool_calls: 'Tool calls that were started',
  agent_errors_recoverable: 'Errors that went back to the model, by code',
  agent_retry_attempts: 'Errors of a tool that went back to the model, to try again, by tool',
  agent_errors_healed: 'Errors that are over, by code and by what healed them',
  agent_corrections: 'Errors that the model could correct, each counted once however often it came',
  agent_corrections_first_retry: 'Those of them that were over at the first retry, without help',
  agent_infra_errors: 'Failures that the model never sees, by code and provider',
  agent_provider_retries: 'Requests that were sent again on the same route, by provider and code',
  agent_provider_failovers: 'Moves to another route, by the provider left and the one taken',
  agent_provider_cooldowns: 'Cooldowns of a route that began in this run, by provider and reason',
  agent_compactions: 'Compactions of the conversation, by tier',
  agent_recoveries: 'Recoveries of stuck runs, by strategy and decision',
  agent_waits_started: 'Waits that began, by kind',
  agent_waits_ended: 'Waits that ended, by kind',
  agent_tokens: 'Tokens, by provider, model and type',
  agent_cost_nanousd:
    'Cost as far as prices are known, in billionths of a US dollar, by provider and model',
} as const;

/** The name of a counter. */
export type CounterName = keyof typeof counters;
