import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { tempDir } from '../support/temp-dir.ts';
import { parseTrace, type Syscall } from './syscall-trace.ts';

const TRACED = 'read,readv,recvfrom,recvmsg,write,writev,sendto,sendmsg,pwrite64,pwritev,fsync,fdatasync';
/** A page of the database, so that a marker anywhere in it is shown. */
const SHOWN_BYTES = 4200;

/** Why tracing is not possible here, or null. */
export function tracingProblem(): string | null {
  const { error, status, stderr } = spawnSync('strace', ['-f', '-e', 'trace=write', 'true'], { encoding: 'utf8' });
  if (error !== undefined) return `strace cannot be run (${error.message}): install it`;
  return status === 0 ? null : `ptrace is not allowed here: ${stderr.trim().split('\n')[0]}`;
}

export interface Trace {
  /** Stops tracing and returns the calls. */
  stop(): Promise<Syscall[]>;
}

/** Follows all threads of a running process. */
export async function traceProcess(t: Pick<TestContext, 'after'>, pid: number): Promise<Trace> {
  const output = join(await tempDir(t), 'trace');
  const args = ['-f', '-y', '-s', String(SHOWN_BYTES), '-e', `trace=${TRACED}`, '-e', 'signal=none'];
  const tracer = spawn('strace', [...args, '-o', output, '-p', String(pid)], { stdio: ['ignore', 'ignore', 'pipe'] });
  const exited = once(tracer, 'exit');
  t.after(() => {
    tracer.kill('SIGKILL');
  });
  let words = '';
  tracer.stderr.setEncoding('utf8').on('data', (text: string) => {
    words += text;
  });
  while (!words.includes('attached')) {
    if (tracer.exitCode !== null) throw new Error(`strace did not attach: ${words}`);
    await sleep(10);
  }
  return {
    stop: async () => {
      tracer.kill('SIGINT');
      await exited;
      return parseTrace(await readFile(output, 'utf8'));
    },
  };
}
