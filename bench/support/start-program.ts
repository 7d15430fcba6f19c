import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface Program {
  readonly pid: number;
  readonly port: number;
  /** Of the HTTPS edge, where there is one. */
  readonly edgePort?: number;
  /** From the spawn to the ready line. */
  readonly readyAfterMs: number;
  stop(): Promise<void>;
}

const LAUNCHER = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url));
export const API_KEY = 'bench-api-key-0123456789abcdefghij';

export function startPosternServer(dataDir: string, env: Readonly<Record<string, string>> = {}): Promise<Program> {
  return startProgram([LAUNCHER, 'server'], {
    POSTERN_DATA_DIR: dataDir,
    POSTERN_API_LISTEN: '127.0.0.1:0',
    POSTERN_EDGE_LISTEN: '127.0.0.1:0',
    POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:0',
    POSTERN_API_KEY: API_KEY,
    ...env,
  });
}

/** A program that prints a JSON line with `"msg":"ready"` and an address; run by the Node that runs this. */
export async function startProgram(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Program> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let output = '';
  const address = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (output.length > 100_000) return;
      output += text;
      const found = /"api":"([^"]+)".*"msg":"ready"/.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    });
    void exited.then(() => reject(new Error(`the program ended: ${output}`)));
  });
  const readyAfterMs = performance.now() - startedAt;
  const edgeAddress = /"edge":"([^"]+)".*"msg":"ready"/.exec(output)?.[1];
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
