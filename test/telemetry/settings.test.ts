/** OpenTelemetry's variables: what they turn on, and what is refused before anything starts. */
import { telemetrySettings } from '../../telemetry/settings';
import { SetupError } from '../../workers/setup-error';

const endpoint = 'http://collector:4318';

test.each<[string, Readonly<Record<string, string>>]>([
  ['nothing', {}],
  ['empty variables', { OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_TRACES_EXPORTER: ' ' }],
  ['a name alone', { OTEL_SERVICE_NAME: 'support' }],
  [
    'exporters that are none',
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_TRACES_EXPORTER: 'none',
      OTEL_METRICS_EXPORTER: 'none',
    },
  ],
  ['a disabled SDK', { OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }],
])('%s turns nothing on', (_what, variables) => {
  const { traces, metrics } = telemetrySettings(variables);
  expect({ traces, metrics }).toEqual({});
});

test('an endpoint turns traces and metrics on, with headers and names', () => {
  expect(
    telemetrySettings({
      OTEL_EXPORTER_OTLP_ENDPOINT: `${endpoint}/base/`,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20YQ==, x-more=1',
      OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'x-more=2',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=other',
      OTEL_SERVICE_NAME: 'support',
    }),
  ).toEqual({
    serviceName: 'support',
    resource: { 'deployment.environment.name': 'test', 'service.name': 'support' },
    traces: {
      url: `${endpoint}/base/v1/traces`,
      headers: { authorization: 'Basic YQ==', 'x-more': '1' },
    },
    metrics: {
      type: 'otlp',
      url: `${endpoint}/base/v1/metrics`,
      headers: { authorization: 'Basic YQ==', 'x-more': '2' },
      intervalMs: 60_000,
    },
  });
});

test('the address of one kind is taken as it is; Prometheus gets a page', () => {
  expect(
    telemetrySettings({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://cloud.langfuse.com/api/public/otel/v1/traces',
      OTEL_METRICS_EXPORTER: 'prometheus',
    }),
  ).toEqual({
    serviceName: 'holdfast',
    resource: { 'service.name': 'holdfast' },
    traces: { url: 'https://cloud.langfuse.com/api/public/otel/v1/traces', headers: {} },
    metrics: { type: 'prometheus', bindAddress: '127.0.0.1:9464' },
  });
  const open = { OTEL_METRICS_EXPORTER: 'prometheus', OTEL_EXPORTER_PROMETHEUS_HOST: '::' };
  expect(telemetrySettings(open).metrics).toEqual({
    type: 'prometheus',
    bindAddress: '[::]:9464',
  });
});

/** Every wrong use of this room: a variable with a value, and what the message says. */
test.each([
  ['OTEL_TRACES_EXPORTER', 'jaeger', /is "jaeger": set it to otlp or none/],
  ['OTEL_METRICS_EXPORTER', 'console', /is "console": set it to otlp, prometheus or none/],
  ['OTEL_LOGS_EXPORTER', 'otlp', /is "otlp": set it to none.*JSON/],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', /is "grpc": set it to http\/protobuf/],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317', /is "collector:4317": set it to a URL/],
  [
    'OTEL_EXPORTER_OTLP_HEADERS',
    'Bearer-abc',
    /is set \(10 characters, not shown\): set it to key=/,
  ],
  ['OTEL_RESOURCE_ATTRIBUTES', 'team', /is "team": set it to key=value/],
  ['OTEL_SDK_DISABLED', 'yes', /is "yes": set it to true or false/],
  ['OTEL_TRACES_SAMPLER', 'traceidratio', /is "traceidratio": leave it out.*collector/],
  ['OTEL_PROPAGATORS', 'b3', /is "b3": leave it out/],
  ['OTEL_EXPORTER_PROMETHEUS_PORT', '70000', /is "70000": the port is at most 65535/],
  ['OTEL_EXPORTER_PROMETHEUS_HOST', 'a b', /is "a b": set it to an address/],
  ['OTEL_METRIC_EXPORT_INTERVAL', '0', /is "0": set it to milliseconds/],
])('refuses %s=%s', (name, value, message) => {
  const read = (): unknown => telemetrySettings({ [name]: value });
  expect(read).toThrow(SetupError);
  expect(read).toThrow(message);
  expect(read).toThrow(name);
});
