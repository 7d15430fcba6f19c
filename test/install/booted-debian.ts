import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Cleanup } from '../support/cleanup.ts';

const run = promisify(execFile);
const BOOT_MS = 120_000;
const ENV = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', HOME: '/root' };

/** A Debian in a folder that systemd has booted, on the network of this machine. */
export interface BootedDebian {
  /** Runs a line of shell there, as root. Resolves to what it prints. */
  type(line: string): Promise<string>;
  shutDown(): Promise<void>;
}

/**
 * Boots the folder with systemd-nspawn. Throws with its output where that does not work, such as in most containers.
 */
export async function bootDebian(test: Cleanup, folder: string): Promise<BootedDebian> {
  const machine = `postern-${process.pid}`;
  // Neither a systemd nor a machined of this machine is needed.
  const flags = ['--boot', '--quiet', '--register=no', '--keep-unit', `--machine=${machine}`, `--directory=${folder}`];
  const child = spawn('systemd-nspawn', flags, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const problem = once(child, 'error').then(([error]) => {
    output += String(error);
  });
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const ended = Promise.race([once(child, 'close'), problem]).then(() => {});
  const shutDown = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  test.after(shutDown);
  const type = async (line: string): Promise<string> => {
    const [init = ''] = childrenOf(child);
    const words = ['--target', init, '--all', 'sh', '-c', `cd /root; ${line}`];
    return (await run('nsenter', words, { env: ENV })).stdout;
  };
  const deadlineMs = performance.now() + BOOT_MS;
  // "degraded": a unit that no server needs has failed.
  while (!/^(running|degraded)/.test(await type('systemctl is-system-running || true').catch(() => ''))) {
    const isDead = child.exitCode !== null || child.pid === undefined;
    if (isDead || performance.now() > deadlineMs) throw new Error(`systemd does not boot: ${output.slice(-2_000)}`);
    await sleep(200);
  }
  return { type, shutDown };
}

function childrenOf({ pid }: ChildProcess): readonly string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
}
