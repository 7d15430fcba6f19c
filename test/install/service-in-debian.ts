import assert from 'node:assert/strict';
import type { Cleanup } from '../support/cleanup.ts';
import { until } from '../support/cluster.ts';
import { type BootedDebian, bootDebian } from './booted-debian.ts';

const PATIENCE_MS = 300_000;

export interface ServiceWalk {
  /** The folder of the Debian. */
  readonly folder: string;
  readonly host: string;
  /** What is typed after "postern up HOST". */
  readonly flags: readonly string[];
  /** Requests a page of the host, and trusts the ACME server only. */
  readonly visit: string;
  readonly page: string;
}

/**
 * `postern up` on a Debian that systemd has booted: the unit holds what its page says, under the sandbox of a real
 * manager.
 */
export async function walkAsService(test: Cleanup, booted: BootedDebian, walk: ServiceWalk): Promise<void> {
  const { folder, host, flags, visit, page } = walk;
  const type = (line: string): Promise<string> => booted.type(line);
  let debian = booted;
  const said = await type(`postern up ${host} ${flags.join(' ')} --yes`);
  assert.match(said, /^postern runs, and starts at every boot\.$/m);
  await until('the ACME server issued', async () => (await type(`${visit} || true`)) === page, PATIENCE_MS);
  assert.equal(await type('systemd-analyze verify postern.service 2>&1'), '');
  const first = await mainPid(type);
  assert.notEqual(await type(`stat -c %u /proc/${first}`), '0\n', 'the service does not run as root');

  await type('systemctl reload postern');
  assert.equal(await mainPid(type), first);

  // A setting changes, so the server is replaced, and systemd follows.
  const login = await type(`postern up ${host} --login --allow-email ana@example.com --yes`);
  assert.match(login, /^\+ login at https:\/\/id\.app\.example\.com/m);
  const second = await mainPid(type);
  assert.notEqual(second, first);
  assert.equal(await type('systemctl is-active postern'), 'active\n');
  const redirected = async (): Promise<boolean> =>
    (
      await debian.type(`${visit} -H 'Accept: text/html' -o /dev/null -w '%{http_code} %{redirect_url}' || true`)
    ).startsWith('302 https://');
  await until('visitors are sent to the login', redirected, PATIENCE_MS);

  await type(`kill -KILL ${second}`);
  await until(
    'systemd starts it again',
    async () => (await mainPid(type)) !== second && (await redirected()),
    PATIENCE_MS,
  );

  await debian.shutDown();
  debian = await bootDebian(test, folder);
  await until('the server starts at boot', redirected, PATIENCE_MS);
  assert.match(await debian.type(`postern down ${host}`), /app\.example\.com/);
  await debian.shutDown();
}

async function mainPid(type: (line: string) => Promise<string>): Promise<string> {
  return (await type('systemctl show --property MainPID --value postern')).trim();
}
