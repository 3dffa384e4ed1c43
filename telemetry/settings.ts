/** What OpenTelemetry's environment variables ask for; everything else that they could ask for is refused. */
import { z } from 'zod';
import { SetupError } from '../workers/setup-error';

/** The variables that decide; others that begin with OTEL_ are those of the SDK's parts (OTEL_BSP_*, OTEL_SPAN_*). */
const schema = z.object({
  OTEL_SDK_DISABLED: z
    .enum(['true', 'false'], { error: 'set it to true or false' })
    .default('false'),
  OTEL_SERVICE_NAME: z.string().optional(),
  OTEL_RESOURCE_ATTRIBUTES: z
    .string()
    .regex(/^\s*[^=,\s]+=[^,]*(,\s*[^=,\s]+=[^,]*)*$/, 'set it to key=value,key=value')
    .optional(),
  OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none'], { error: 'set it to otlp or none' }).optional(),
  OTEL_METRICS_EXPORTER: z
    .enum(['otlp', 'prometheus', 'none'], { error: 'set it to otlp, prometheus or none' })
    .optional(),
  OTEL_LOGS_EXPORTER: z
    .literal('none', {
      error:
        'set it to none or leave it out: the log goes to standard error as JSON, for a collector to read',
    })
    .optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .enum(['http/protobuf', 'http/json'], {
      error: 'set it to http/protobuf or leave it out: traces and metrics go out over HTTP',
    })
    .optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint(),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: endpoint(),
  OTEL_EXPORTER_OTLP_HEADERS: headers(),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: headers(),
  OTEL_EXPORTER_OTLP_METRICS_HEADERS: headers(),
  OTEL_EXPORTER_PROMETHEUS_HOST: z
    .string()
    .regex(/^[\w.:-]+$/, 'set it to an address, such as 127.0.0.1')
    .default('localhost'),
  OTEL_EXPORTER_PROMETHEUS_PORT: z
    .string()
    .regex(/^\d{1,5}$/, 'set it to a port, such as 9464')
    .refine((value) => Number(value) <= 65_535, { error: 'the port is at most 65535' })
    .default('9464'),
  OTEL_METRIC_EXPORT_INTERVAL: z
    .string()
    .regex(/^[1-9]\d{0,8}$/, 'set it to milliseconds, such as 60000')
    .default('60000'),
  OTEL_TRACES_SAMPLER: z
    .literal('parentbased_always_on', {
      error:
        'leave it out: a run is traced whole or not at all, as the client that starts it decides; else sample in the collector',
    })
    .optional(),
  OTEL_PROPAGATORS: z
    .enum(['tracecontext', 'tracecontext,baggage'], {
      error: 'leave it out: runs take W3C Trace Context',
    })
    .optional(),
});

function endpoint(): z.ZodOptional<z.ZodString> {
  return z
    .string()
    .regex(/^https?:\/\/[^\s/]+/, 'set it to a URL such as http://localhost:4318')
    .optional();
}

function headers(): z.ZodOptional<z.ZodString> {
  return z
    .string()
    .regex(/^\s*[^=,\s]+=[^,]*(,\s*[^=,\s]+=[^,]*)*$/, 'set it to key=value,key=value')
    .optional();
}

type Headers = Readonly<Record<string, string>>;

/** Where one kind of telemetry goes. */
interface OtlpTarget {
  readonly url: string;
  readonly headers: Headers;
}

/** What is wanted; nothing by default. */
export interface TelemetrySettings {
  readonly serviceName: string;
  readonly resource: Headers;
  readonly traces?: OtlpTarget;
  readonly metrics?:
    | ({ readonly type: 'otlp'; readonly intervalMs: number } & OtlpTarget)
    /** `bindAddress` is host and port of the page that Prometheus scrapes. */
    | { readonly type: 'prometheus'; readonly bindAddress: string };
}

const defaultEndpoint = 'http://localhost:4318';

/** `key=value,key=value`, with percent escapes in values. */
function pairs(text = ''): Headers {
  const entries = text.split(',').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at < 0 ? [] : [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())]];
  });
  return Object.fromEntries(entries) as Headers;
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** The address of one kind: its own variable as it is, else the common one with the kind's path. */
function urlOf(own: string | undefined, common: string | undefined, path: string): string {
  return own ?? `${(common ?? defaultEndpoint).replace(/\/+$/, '')}/v1/${path}`;
}

/** Values of these may be secrets. */
const secretName = /_HEADERS$/;

function faultOf({ path: [name], message }: z.core.$ZodIssue, source: Headers): string {
  const key = String(name);
  const value = source[key] ?? '';
  const shown = secretName.test(key)
    ? `set (${value.length} characters, not shown)`
    : JSON.stringify(value.replace(/\/\/[^@/\s]*@/, '//***@').slice(0, 80));
  return `  - ${key} is ${shown}: ${message}`;
}

function metricsOf(values: z.infer<typeof schema>): TelemetrySettings['metrics'] {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: common, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: own } = values;
  const exporter = values.OTEL_METRICS_EXPORTER ?? ((own ?? common) ? 'otlp' : 'none');
  if (exporter === 'none') return undefined;
  if (exporter === 'prometheus') {
    const { OTEL_EXPORTER_PROMETHEUS_HOST: host, OTEL_EXPORTER_PROMETHEUS_PORT: port } = values;
    // The SDK's native part takes addresses only.
    const address = host === 'localhost' ? '127.0.0.1' : host;
    return {
      type: 'prometheus',
      bindAddress: `${address.includes(':') ? `[${address}]` : address}:${port}`,
    };
  }
  return {
    type: 'otlp',
    url: urlOf(own, common, 'metrics'),
    headers: {
      ...pairs(values.OTEL_EXPORTER_OTLP_HEADERS),
      ...pairs(values.OTEL_EXPORTER_OTLP_METRICS_HEADERS),
    },
    intervalMs: Number(values.OTEL_METRIC_EXPORT_INTERVAL),
  };
}

function tracesOf(values: z.infer<typeof schema>): OtlpTarget | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: common, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own } = values;
  const exporter = values.OTEL_TRACES_EXPORTER ?? ((own ?? common) ? 'otlp' : 'none');
  if (exporter === 'none') return undefined;
  return {
    url: urlOf(own, common, 'traces'),
    headers: {
      ...pairs(values.OTEL_EXPORTER_OTLP_HEADERS),
      ...pairs(values.OTEL_EXPORTER_OTLP_TRACES_HEADERS),
    },
  };
}

/**
 * Reads the variables. Each kind is on if its exporter is named, or an endpoint is given and its exporter is not `none`.
 *
 * Errors: one `SetupError` that lists every variable that asks for what is not there, with its value and the remedy.
 */
export function telemetrySettings(
  variables: Readonly<Record<string, string | undefined>>,
): TelemetrySettings {
  // As OpenTelemetry has it: an empty variable counts as absent.
  const given = Object.fromEntries(
    Object.entries(variables).flatMap(([name, value = '']) =>
      value.trim() === '' ? [] : [[name, value.trim()]],
    ),
  );
  const parsed = schema.safeParse(given);
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => faultOf(issue, given));
    throw new SetupError(['Telemetry cannot be set up:', ...faults].join('\n'));
  }
  const values = parsed.data;
  const resource = pairs(values.OTEL_RESOURCE_ATTRIBUTES);
  const serviceName = values.OTEL_SERVICE_NAME ?? resource['service.name'] ?? 'holdfast';
  const settings = { serviceName, resource: { ...resource, 'service.name': serviceName } };
  if (values.OTEL_SDK_DISABLED === 'true') return settings;
  const [traces, metrics] = [tracesOf(values), metricsOf(values)];
  return {
    ...settings,
    ...(traces === undefined ? {} : { traces }),
    ...(metrics === undefined ? {} : { metrics }),
  };
}
