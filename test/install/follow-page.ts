import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { shellBlocks } from '../docs/markdown.ts';

const run = promisify(execFile);

export interface BlockRun {
  readonly page: string;
  /** Counted from 0. */
  readonly block: number;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Shell functions that stand for what a test must not do to the machine. */
  readonly instead: string;
}

/** Runs a block of a page as it stands. */
export async function followBlock({ page, block, cwd, env, instead }: BlockRun): Promise<string> {
  const { text } = shellBlocks(page)[block] ?? { text: 'false' };
  const { stdout } = await run('bash', ['--norc', '-euo', 'pipefail', '-c', `${instead}\n${text}`], { cwd, env });
  return stdout;
}
