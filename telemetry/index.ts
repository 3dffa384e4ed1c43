/** Entry of `holdfast/telemetry`: traces, metrics and logs of a worker, by OpenTelemetry's own environment variables. */
export { startTelemetry, type Telemetry } from './start-telemetry';
