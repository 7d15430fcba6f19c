import { chmod, chown, mkdir } from 'node:fs/promises';
import type { Cleanup } from '../support/cleanup.ts';
import { tempDir } from '../support/temp-dir.ts';

/** nobody, who exists on every Linux and owns nothing. */
const NOBODY = 65_534;

export interface NonRoot {
  /** For `spawn`: empty if the tests themselves run without privileges. */
  readonly identity: { readonly uid?: number; readonly gid?: number };
  /** A home that belongs to the user; nothing else on the machine does. */
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A user without privileges and without anything of the checkout in its environment. */
export async function nonRootUser(test: Cleanup): Promise<NonRoot> {
  const home = await tempDir(test);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    await chown(home, NOBODY, NOBODY);
    await shareCompiledCode();
  }
  return {
    identity: isRoot ? { uid: NOBODY, gid: NOBODY } : {},
    home,
    env: { HOME: home, PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' },
  };
}

/** Node keeps the compiled code of each user in a folder of its own, which this user could not make. */
async function shareCompiledCode(): Promise<void> {
  const folder = process.env['NODE_COMPILE_CACHE'];
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o1777);
}
