/** The environment: defaults, names, and errors that name variable, value and remedy without showing secrets. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { withoutSecrets } from '../../activities/untrusted/known-secrets';
import { serverOptionsFrom } from '../../workers/connection';
import { readEnvironment } from '../../workers/env';

const directory = '/srv/app';

function faultsOf(source: Record<string, string>): string {
  try {
    readEnvironment(source, directory);
  } catch (thrown) {
    return String(thrown);
  }
  return 'no fault';
}

describe('readEnvironment', () => {
  it('reads the caps of tenants, and names what is wrong with them', () => {
    const read = (caps: string) => readEnvironment({ HOLDFAST_TENANT_CAPS: caps }).tenantCaps;
    expect(read('{"*":{"usd":50},"acme":{"tokens":9,"runs":2}}')).toEqual({
      '*': { usd: 50 },
      acme: { tokens: 9, runs: 2 },
    });
    expect(faultsOf({ HOLDFAST_TENANT_CAPS: '{usd: 5}' })).toMatch(/HOLDFAST_TENANT_CAPS .*JSON/);
    expect(faultsOf({ HOLDFAST_TENANT_CAPS: '{"a b":{"usd":5}}' })).toMatch(/name a tenant/);
    expect(faultsOf({ HOLDFAST_TENANT_CAPS: '{"acme":{"usd":-5}}' })).toMatch(/TENANT_CAPS/);
  });

  it('has a default for everything that is not a secret', () => {
    const state = '/home/ann/.local/state/holdfast';
    const found = readEnvironment({ HOME: '/home/ann' }, directory);
    const [own = ''] = /app-[0-9a-f]{8}/.exec(found.stateDirectory) ?? [];
    expect(found).toEqual({
      temporal: { namespace: 'default', tls: false },
      taskQueue: 'holdfast',
      store: `sqlite:${state}/${own}/holdfast.db`,
      stateDirectory: `${state}/${own}`,
      cacheDirectory: `${state}/cache`,
      searchPath: '',
      anthropic: {},
      openai: {},
      models: [],
      logLevel: 'info',
      sandbox: false,
      ci: false,
      openTelemetry: {},
    });
  });

  it('takes every variable', () => {
    const environment = readEnvironment(
      {
        TEMPORAL_ADDRESS: 'temporal.example.com:7233',
        TEMPORAL_NAMESPACE: 'prod.a1b2c',
        TEMPORAL_API_KEY: 'key-1',
        TEMPORAL_TLS_SERVER_NAME: 'inner.example.com',
        TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/pem/ca',
        TEMPORAL_TLS_CLIENT_CERT_PATH: '/pem/crt',
        TEMPORAL_TLS_CLIENT_KEY_PATH: '/pem/key',
        HOLDFAST_TASK_QUEUE: 'agents',
        HOLDFAST_STORE: 'postgres://u:p@db/holdfast',
        HOLDFAST_STATE_DIR: '/var/lib/agents',
        HOLDFAST_CACHE_DIR: 'tmp/cache',
        HOLDFAST_MODEL: 'anthropic/claude-x, openrouter/meta/llama-3',
        HOLDFAST_SANDBOX: 'network',
        HOLDFAST_LOG_LEVEL: 'debug',
        HOLDFAST_BUILD_ID: 'v7',
        ANTHROPIC_API_KEY: 'a',
        ANTHROPIC_BASE_URL: 'http://127.0.0.1:1',
        OPENAI_API_KEY: 'o',
        OPENAI_BASE_URL: 'https://llm.example.com/v1',
        PATH: '/bin',
        OTEL_SERVICE_NAME: 'support',
        CI: 'true',
      },
      directory,
    );
    expect(environment).toEqual({
      temporal: {
        address: 'temporal.example.com:7233',
        namespace: 'prod.a1b2c',
        apiKey: 'key-1',
        tls: true,
        tlsServerName: 'inner.example.com',
        tlsServerCaPath: '/pem/ca',
        tlsClientCertPath: '/pem/crt',
        tlsClientKeyPath: '/pem/key',
      },
      taskQueue: 'agents',
      store: 'postgres://u:p@db/holdfast',
      stateDirectory: '/var/lib/agents',
      cacheDirectory: '/srv/app/tmp/cache',
      searchPath: '/bin',
      anthropic: { apiKey: 'a', baseUrl: 'http://127.0.0.1:1' },
      openai: { apiKey: 'o', baseUrl: 'https://llm.example.com/v1' },
      models: [
        { provider: 'anthropic', model: 'claude-x' },
        { provider: 'openrouter', model: 'meta/llama-3' },
      ],
      sandbox: { network: true },
      logLevel: 'debug',
      buildId: 'v7',
      ci: true,
      openTelemetry: { OTEL_SERVICE_NAME: 'support' },
    });
  });

  it('keeps its state outside the working directory, for each its own, where it is told to', () => {
    const at = (folder: string, source = {}) =>
      readEnvironment({ HOME: '/home/ann', ...source }, folder);
    expect(at('/srv/app').stateDirectory).toBe(at('/srv/app/').stateDirectory);
    expect(at('/srv/app').stateDirectory).not.toBe(at('/tmp/app').stateDirectory);
    expect(at('/srv/app', { XDG_STATE_HOME: '/state' }).cacheDirectory).toBe(
      '/state/holdfast/cache',
    );
    expect(at('/srv/app', { HOLDFAST_STATE_DIR: 'var' })).toMatchObject({
      store: 'sqlite:/srv/app/var/holdfast.db',
      cacheDirectory: '/srv/app/var/cache',
    });
  });

  it('treats an empty variable as absent', () => {
    expect(readEnvironment({ TEMPORAL_ADDRESS: ' ' }, directory).temporal).toEqual({
      namespace: 'default',
      tls: false,
    });
  });

  it.each([
    ['TEMPORAL_ADDRESS', 'http://localhost:7233', 'host:port'],
    ['TEMPORAL_ADDRESS', 'localhost', 'host:port'],
    ['TEMPORAL_NAMESPACE', 'two words', 'without spaces'],
    ['TEMPORAL_TLS', 'perhaps', 'true or false'],
    ['HOLDFAST_DEPLOYMENT', 'my.agents', 'a name without dots and spaces'],
    ['HOLDFAST_SANDBOX', 'yes', 'true (commands have no network), network or false'],
    ['HOLDFAST_LOG_LEVEL', 'loud', 'trace, debug, info'],
    ['HOLDFAST_MODEL', 'claude', 'provider/model'],
    ['ANTHROPIC_BASE_URL', 'localhost:1234', 'http://'],
  ])('names %s, its value %j and the remedy', (name, value, remedy) => {
    const fault = faultsOf({ [name]: value });
    expect(fault).toContain(`${name} is ${JSON.stringify(value)}: `);
    expect(fault).toContain(remedy);
  });

  it.each([
    ['OPENAI_API_KEY', 'sk-secret with a space'],
    ['ANTHROPIC_API_KEY', 'sk-ant-secret\nsecond line'],
    ['HOLDFAST_STORE', 'mysql://root:secret@db/x'],
  ])('does not show the value of %s', (name, value) => {
    const fault = faultsOf({ [name]: value });
    expect(fault).toContain(`${name} is set (${value.length} characters, not shown): set it to`);
    expect(fault).not.toContain('secret');
  });

  it('does not show credentials in a base URL that is wrong', () => {
    expect(faultsOf({ OPENAI_BASE_URL: 'ftp://me:pass@llm/v1' })).toContain('"ftp://***@llm/v1"');
  });

  it('wants certificate and key together, whichever is there', () => {
    expect(faultsOf({ TEMPORAL_TLS_CLIENT_KEY_PATH: '/key' })).toContain(
      'TEMPORAL_TLS_CLIENT_KEY_PATH is set but TEMPORAL_TLS_CLIENT_CERT_PATH is not: set both',
    );
  });

  it('wants a build id where a worker has versions', () => {
    expect(faultsOf({ HOLDFAST_DEPLOYMENT: 'agents' })).toContain(
      'HOLDFAST_DEPLOYMENT is set but HOLDFAST_BUILD_ID is not: set both',
    );
  });

  it('refuses a port that there cannot be', () => {
    expect(faultsOf({ TEMPORAL_ADDRESS: 'localhost:70000' })).toContain('at most 65535');
    expect(faultsOf({ TEMPORAL_ADDRESS: 'localhost:65535' })).toBe('no fault');
  });

  it('lists all faults at once', () => {
    const fault = faultsOf({
      TEMPORAL_ADDRESS: 'x',
      HOLDFAST_LOG_LEVEL: 'y',
      TEMPORAL_TLS_CLIENT_CERT_PATH: '/crt',
    });
    expect(fault.match(/^ {2}- /gm)).toHaveLength(3);
    expect(fault).toContain('TEMPORAL_TLS_CLIENT_KEY_PATH is not: set both');
  });
});

describe("Temporal's environment configuration", () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-profile-'));
  const file = path.join(folder, 'temporal.toml');
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });
  writeFileSync(
    file,
    `[profile.prod]
address = "prod.example.com:7233"
namespace = "agents"
api_key = "key-of-the-profile"
[profile.prod.grpc_meta]
Tenant = "acme"
[profile.empty]
namespace = "x"
`,
  );
  const misspelled = path.join(folder, 'misspelled.toml');
  writeFileSync(misspelled, '[profile.prod]\nadress = "x:1"');
  const serverOf = (variables: Record<string, string>) =>
    serverOptionsFrom(readEnvironment(variables, folder).temporal);

  it('is a profile of a file, which variables override', async () => {
    const profile = { TEMPORAL_CONFIG_FILE: 'temporal.toml', TEMPORAL_PROFILE: 'prod' };
    expect(await serverOf(profile)).toEqual({
      address: 'prod.example.com:7233',
      namespace: 'agents',
      apiKey: 'key-of-the-profile',
      tls: true,
      metadata: { tenant: 'acme' },
    });
    const overridden = { ...profile, TEMPORAL_NAMESPACE: 'other', TEMPORAL_TLS: 'false' };
    expect(await serverOf(overridden)).toMatchObject({ namespace: 'other', tls: false });
    expect(withoutSecrets('key-of-the-profile')).not.toContain('key-of');
  });

  it('takes certificates and headers from variables without a file', async () => {
    const server = await serverOf({
      HOME: folder,
      TEMPORAL_ADDRESS: 'a:1',
      TEMPORAL_TLS_SERVER_CA_CERT_DATA: 'pem',
      TEMPORAL_GRPC_META_X_TEAM: 'agents',
    });
    expect(server).toMatchObject({ address: 'a:1', metadata: { 'x-team': 'agents' } });
    expect((server.tls as { serverRootCACertificate: Buffer }).serverRootCACertificate).toEqual(
      new TextEncoder().encode('pem'),
    );
  });

  it('has no say without one of its variables', () => {
    const { temporal } = readEnvironment({ HOME: folder, TEMPORAL_ADDRESS: 'a:1' }, folder);
    expect(temporal).not.toHaveProperty('configuration');
  });

  it.each([
    ['a profile that is not there', { TEMPORAL_PROFILE: 'stage' }, /Profile 'stage' not found/],
    ['a profile without an address', { TEMPORAL_PROFILE: 'empty' }, /it names no address/],
    ['an unknown key', { TEMPORAL_CONFIG_FILE: misspelled }, /unrecognized in .*: adress/],
    [
      'a certificate that is not there',
      { TEMPORAL_PROFILE: 'prod', TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/no/ca' },
      /ENOENT/,
    ],
  ])('refuses %s, with the remedy', async (_, variables, reason) => {
    const refused = serverOf({ TEMPORAL_CONFIG_FILE: file, ...variables });
    await expect(refused).rejects.toThrow(reason);
    await expect(refused).rejects.toThrow(/Correct TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE/);
  });
});
