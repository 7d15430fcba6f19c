import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import { ApiConnection } from '../support/api-connection.ts';
import { type PosternProcess, startServerProcess } from '../support/server-process.ts';
import { BASE_URL } from './module-writes.ts';

export const API_KEY = 'durability-key-0123456789abcdefghij';

export interface ServerUnderFire {
  readonly process: PosternProcess;
  readonly api: ApiConnection;
  /** SIGKILL to the started process: the launcher if that is a separate process, otherwise the server. */
  readonly kill: () => Promise<void>;
  /** SIGKILL to the server itself, however it was started. */
  readonly killServer: () => Promise<void>;
}

export interface StartOptions {
  /** The Node that runs the launcher; an old one makes it a separate process. */
  readonly node?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A server process on the store, with sockets to it. */
export async function startUnderFire(
  test: Pick<TestContext, 'after'>,
  location: StoreLocation,
  options: StartOptions = {},
): Promise<ServerUnderFire> {
  const process = spawnUnderFire(test, location, options);
  const { addresses } = await process.ready();
  const api = new ApiConnection(addresses.api, API_KEY);
  test.after(() => api.close());
  const gone = async () => {
    // Launcher and server write to the same pipes, so these close when both are gone.
    await process.exited;
    api.close();
  };
  return {
    process,
    api,
    kill: () => {
      process.child.kill('SIGKILL');
      return gone();
    },
    killServer: () => {
      killByPidFile(location.dataDir, process);
      return gone();
    },
  };
}

/** Does not wait until it is ready. */
export function spawnUnderFire(
  test: Pick<TestContext, 'after'>,
  location: StoreLocation,
  { node, env }: StartOptions = {},
): PosternProcess {
  return startServerProcess(test, location.dataDir, {
    ...(node !== undefined && { node }),
    env: {
      POSTERN_API_KEY: API_KEY,
      POSTERN_API_URL: BASE_URL,
      // The same program is started repeatedly.
      NODE_COMPILE_CACHE: compileCache(),
      ...(location.engine === 'postgres' && { POSTERN_DATABASE_URL: location.url }),
      ...env,
    },
  });
}

/**
 * SQLite's store names its process there; on PostgreSQL there is no such file, and the started process is the server.
 */
function killByPidFile(dataDir: string, { child }: PosternProcess): void {
  let pid = child.pid ?? 0;
  try {
    pid = Number(readFileSync(join(dataDir, 'postern.pid'), 'utf8'));
  } catch {
    // Then there is no other process.
  }
  process.kill(pid, 'SIGKILL');
}

/** The test runner's, if it runs the test. */
let cache: string | null = process.env['NODE_COMPILE_CACHE'] ?? null;
function compileCache(): string {
  if (cache !== null) return cache;
  const made = mkdtempSync(join(tmpdir(), 'postern-compiled-'));
  process.on('exit', () => rmSync(made, { recursive: true, force: true }));
  cache = made;
  return made;
}
