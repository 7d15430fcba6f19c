import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { EdgeClients } from '../support/edge-clients.ts';
import { IdentityBrowser } from '../support/identity-world.ts';
import { startServerProcess } from '../support/server-process.ts';
import { SoftAuthenticator } from '../support/soft-authenticator.ts';
import { tempDir } from '../support/temp-dir.ts';

const ORIGIN = 'https://id.localhost';
const API_KEY = 'people-kill-api-key-0123456789abcdef';
const ENV = { POSTERN_IDENTITY_HOST: 'id.localhost', POSTERN_API_KEY: API_KEY, POSTERN_LOG_LEVEL: 'info' };
/** Milliseconds from sending a registration to the kill; null: after its answer. */
const KILLS = [null, 0, 4, 12, 40];

interface Invited {
  readonly id: string;
  readonly link: string;
  readonly device: SoftAuthenticator;
  /** null: nobody knows, since the server was killed before it answered. */
  isRegistered: boolean | null;
}

async function running(t: Parameters<typeof startServerProcess>[0], dataDir: string) {
  const server = startServerProcess(t, dataDir, { env: ENV });
  const { base_url, addresses } = await server.ready();
  const port = Number((addresses as unknown as { edge: string }).edge.split(':').at(-1));
  const edge = new EdgeClients({ address: '127.0.0.1', port, ca: [] });
  const api = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${base_url}${path}`, {
      method,
      headers: { authorization: `Bearer ${API_KEY}`, 'service-version': '2', 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    assert.ok(response.ok, `${method} ${path}: ${response.status}`);
    return response.json() as Promise<Record<string, string>>;
  };
  const kill = async (): Promise<void> => {
    server.child.kill('SIGKILL');
    await server.exited;
    edge.disconnect();
  };
  return { api, kill, browser: () => new IdentityBrowser({ edge, origin: ORIGIN }) };
}

test('after kill -9 at any moment of a registration, a used invitation stays used, and an answered passkey works', async (t) => {
  const dataDir = await tempDir(t);
  const all: Invited[] = [];
  for (const [round, waitMs] of [...KILLS, null].entries()) {
    const { api, kill, browser } = await running(t, dataDir);
    for (const person of all) {
      const status = (await browser().open(new URL(person.link).pathname + new URL(person.link).search)).status;
      const { passkey_count: passkeys } = await api('GET', `/user_accounts/${person.id}`);
      // A registration is there as a whole, or not at all.
      assert.ok(
        (status === 410 && Number(passkeys) === 1) || (status === 200 && Number(passkeys) === 0),
        `${status} ${passkeys}`,
      );
      if (person.isRegistered !== null) assert.equal(status === 410, person.isRegistered);
      person.isRegistered = status === 410;
      const loggedIn = person.isRegistered && (await browser().logIn(person.device)).headers['location'];
      assert.equal(loggedIn, person.isRegistered && '/account');
    }
    const [one, other] = await Promise.all(
      ['registers', 'waits'].map(async (what): Promise<Invited> => {
        const { id = '', invitation_url: link = '' } = await api('POST', '/user_accounts', {
          email: `${what}-${round}@example.com`,
        });
        return { id, link, device: new SoftAuthenticator(ORIGIN), isRegistered: false };
      }),
    );
    assert.ok(one !== undefined && other !== undefined);
    all.push(one, other);
    const answered = browser()
      .accept(one.link, one.device)
      .then(
        ({ status }) => status === 303,
        () => null,
      );
    if (waitMs === null) one.isRegistered = await answered;
    // The ceremony itself takes longer than the last step: the kill meets it at different places.
    else await Promise.race([answered, sleep(waitMs * 5)]);
    await kill();
    one.isRegistered = await answered;
  }
});
