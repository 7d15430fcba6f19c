import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { publicKeyOf } from '../../../tools/release/signature.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { type FakeRelease, fakeRelease, newKey } from './fake-release.ts';
import { type ReleaseServer, type ServerOptions, serveRelease } from './release-server.ts';
import { MACHINES, type Machine, type Outcome, type Run, runInstaller } from './run-installer.ts';

export interface InstallerWorld {
  readonly scratch: string;
  /** Where postern goes. */
  readonly target: string;
  readonly release: FakeRelease;
  readonly key: string;
  readonly server: ReleaseServer;
  readonly env: Readonly<Record<string, string>>;
  readonly install: (more?: Partial<Run>) => Promise<Outcome>;
  /** Everything below the target: nothing may be left behind. */
  readonly files: () => readonly string[];
  /** Puts an older version there first. */
  readonly put: (version: string) => string;
}

/** A signed release on a server, and an empty machine. */
export async function installerWorld(
  t: TestContext,
  options: ServerOptions & { readonly machine?: Machine; readonly version?: string; readonly verdict?: number } = {},
): Promise<InstallerWorld> {
  const { machine = MACHINES[0] as Machine, version = '1.2.3', verdict = 0 } = options;
  const scratch = await tempDir(t);
  // Users without privileges look into it.
  chmodSync(scratch, 0o755);
  const target = join(scratch, 'target');
  mkdirSync(target);
  const key = newKey(join(scratch, 'key'));
  const release = fakeRelease(join(scratch, 'release'), { version, key, verdict });
  const server = await serveRelease(t, release.folder, options);
  const env = {
    POSTERN_DOWNLOAD_URL: server.url,
    POSTERN_SIGNING_KEY: publicKeyOf(key),
    POSTERN_INSTALL_DIR: target,
  };
  return {
    scratch,
    target,
    release,
    key,
    server,
    env,
    install: (more = {}) => runInstaller({ machine, scratch, ...more, env: { ...env, ...more.env } }),
    files: () => readdirSync(target),
    put: (old) => {
      const { executable } = fakeRelease(join(scratch, `release-${old}`), { version: old });
      const file = join(target, 'postern');
      writeFileSync(file, readFileSync(executable), { mode: 0o755 });
      return readFileSync(file, 'utf8');
    },
  };
}
