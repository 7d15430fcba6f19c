import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Program {
  readonly pid: number;
  readonly port: number;
  /** Port of the HTTPS edge, where there is one. */
  readonly edgePort?: number;
  /** From the spawn to the ready line. */
  readonly readyAfterMs: number;
  stop(): Promise<void>;
}

const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));
export const API_KEY = 'bench-api-key-0123456789abcdefghij';

const running = new Set<ChildProcess>();
// A bench that is ended early leaves no server behind.
process.once('exit', () => {
  for (const child of running) child.kill('SIGTERM');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

/** `checkout`: runs another checkout's source, for comparison. */
export function startPosternServer(
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
  checkout = CHECKOUT,
): Promise<Program> {
  return startProgram([join(checkout, 'bin', 'postern.mjs'), 'server'], {
    POSTERN_DATA_DIR: dataDir,
    POSTERN_API_LISTEN: '127.0.0.1:0',
    POSTERN_EDGE_LISTEN: '127.0.0.1:0',
    POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:0',
    POSTERN_TUNNEL_LISTEN: '127.0.0.1:0',
    POSTERN_API_KEY: API_KEY,
    ...env,
  });
}

const READY = /"api":"([^"]+)".*"msg":"ready"/;

/**
 * A program that prints a JSON line with `"msg":"ready"` and an address (or `ready`, with an address as its group); run
 * by the Node that runs this. Its output goes to a file, as to a journal: with a pipe to this process, the load
 * generator would pay for reading the log.
 */
export async function startProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  ready = READY,
): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-log-'));
  const log = join(folder, 'log');
  const output = openSync(log, 'w');
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', output, 'inherit'],
  });
  running.add(child);
  let hasEnded = false;
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve())).then(() => {
    hasEnded = true;
    running.delete(child);
    closeSync(output);
    rmSync(folder, { recursive: true, force: true });
  });
  let address: string | undefined;
  while (address === undefined) {
    if (hasEnded) throw new Error('the program ended before it was ready');
    address = ready.exec(readFileSync(log, 'utf8'))?.[1];
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const readyAfterMs = performance.now() - startedAt;
  const edgeAddress = /"edge":"([^"]+)".*"msg":"ready"/.exec(readFileSync(log, 'utf8'))?.[1];
  return {
    pid: child.pid as number,
    port: Number(address.split(':').at(-1)),
    ...(edgeAddress !== undefined && { edgePort: Number(edgeAddress.split(':').at(-1)) }),
    readyAfterMs,
    stop: async () => {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
