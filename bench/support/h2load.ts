import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { LoadResult } from './load.ts';

const run = promisify(execFile);

export interface H2loadOptions {
  /** Default: `https`. */
  readonly scheme?: 'http' | 'https';
  readonly protocol: 'h1' | 'h2';
  readonly host: string;
  /** Default: 127.0.0.1. */
  readonly address?: string;
  readonly port: number;
  readonly path: string;
  readonly requests: number;
  readonly connections: number;
  /** Per connection, over HTTP/2. */
  readonly streams: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly directory: string;
  /** For all connections together; absent: as fast as possible. */
  readonly perSecond?: number;
}

export interface H2loadResult extends LoadResult {
  /** Total size of all bodies as transferred. */
  readonly bodyBytes: number;
}

export async function hasH2load(): Promise<boolean> {
  return run('h2load', ['--version']).then(
    () => true,
    () => false,
  );
}

/** nghttp2's load generator, on loopback, for a given count of requests. All must return 2xx. */
export async function h2load(options: H2loadOptions): Promise<H2loadResult> {
  const log = join(options.directory, `h2load-${randomUUID()}.log`);
  const { stdout } = await run('h2load', [
    ...(options.protocol === 'h1' ? ['--h1', '-m', '1'] : ['-m', String(options.streams)]),
    ...['-n', String(options.requests), '-c', String(options.connections), '-t', '1', `--log-file=${log}`],
    ...(options.perSecond === undefined ? [] : [`--rps=${options.perSecond / options.connections}`]),
    ...Object.entries(options.headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
    `--connect-to=${options.address ?? '127.0.0.1'}:${options.port}`,
    `${options.scheme ?? 'https'}://${options.host}:${options.port}${options.path}`,
  ]);
  const succeeded = Number(/status codes: (\d+) 2xx/.exec(stdout)?.[1]);
  if (succeeded !== options.requests) throw new Error(`${succeeded} of ${options.requests} succeeded:\n${stdout}`);
  const [, amount, unit] = /finished in ([\d.]+)(us|ms|s)/.exec(stdout) ?? [];
  const seconds = Number(amount) / { us: 1e6, ms: 1e3, s: 1 }[unit as 'us' | 'ms' | 's'];
  const lines = (await readFile(log, 'utf8')).trimEnd().split('\n');
  await rm(log);
  const latencies = lines.map((line) => Number(line.split('\t')[2]) / 1000).sort((a, b) => a - b);
  const bodyBytes = Number(/\((\d+)\) data/.exec(stdout)?.[1]);
  return { requests: succeeded, seconds, latencies, bodyBytes };
}
