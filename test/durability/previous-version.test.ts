import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, suite, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Flow, FlowCookies } from '../../src/modules/login/flow-cookies.ts';
import { restoreStore } from '../../src/store/backup/restore-store.ts';
import { loadKeyring } from '../../src/store/keyring.ts';
import { FURNISHED_ENV } from '../conformance/furnished-world.ts';
import { EdgeWorld } from '../support/edge-world.ts';
import { IdentityBrowser } from '../support/identity-world.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { startPostern, startServerProcess } from '../support/server-process.ts';
import { type ExportedPasskey, SoftAuthenticator } from '../support/soft-authenticator.ts';
import { tempDir } from '../support/temp-dir.ts';
import { assertKept, type StoredContents, storedContents } from './stored-contents.ts';

/**
 * Each holds what the version left: a data directory with one of everything, a backup of it, cookies, the agent's
 * sources, and what its API said. `tools/write-version-fixture.ts` writes such a file.
 */
const VERSIONS = ['0.1.0'];
const AUTHTOKEN = 'previous-version-test-authtoken-0123456789';
const NODE_MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));

interface Facts {
  /** The server's clock continues here, so that nothing expires while the file waits. */
  readonly writtenAtMs: number;
  readonly contents: StoredContents;
  /** Name and value of each cookie, as the browser sends it. */
  readonly guest: { readonly host: string; readonly cookie: string };
  readonly people: {
    readonly passkey: ExportedPasskey;
    /** Invitations: of the person with the passkey, and of another one. */
    readonly spentLink: string;
    readonly link: string;
    /** As the identity host published them. */
    readonly keys: unknown;
  };
  readonly flow: Flow;
  readonly flowCookie: string;
}

for (const version of VERSIONS) {
  const folder = await tempDir({ after });
  const fixture = fileURLToPath(new URL(`./fixtures/${version}.tar.gz`, import.meta.url));
  execFileSync('tar', ['-xzf', fixture, '-C', folder, '--no-same-owner']);
  const facts = JSON.parse(readFileSync(join(folder, 'facts.json'), 'utf8')) as Facts;
  const clock = { nowMs: () => facts.writtenAtMs };
  // Each test opens a copy: a server writes into it.
  const copyOf = async (name: string): Promise<string> => {
    const dataDir = join(folder, name);
    await cp(join(folder, 'data'), dataDir, { recursive: true });
    return dataDir;
  };

  suite(`what ${version} wrote`, () => {
    test('a data directory opens with everything in it, and a guest’s cookies still open the site', async (t) => {
      const dataDir = await copyOf('opened');
      const edge = await EdgeWorld.open(t, {}, { dataDir, clock });
      assertKept(await storedContents(edge), facts.contents);
      const { host, cookie } = facts.guest;
      const answer = await edge.ask(host, '/', { headers: { cookie } });
      assert.deepEqual([answer.status, answer.text], [200, 'for guests']);
      assert.notEqual((await edge.ask(host, '/')).status, 200);
    });

    test('people log in with the passkeys that they registered, and invitations work once', async (t) => {
      const edge = await EdgeWorld.open(t, FURNISHED_ENV, { dataDir: await copyOf('people'), clock });
      await assertPeopleKept(edge, facts);
    });

    test('its internal CAs go on', async (t) => {
      const dataDir = await copyOf('authorities');
      const ca = readFileSync(join(dataDir, 'internal-ca', 'domain-localhost', 'certificate.pem'));
      const printed = startPostern(t, { args: ['ca', 'print', '--data-dir', dataDir] });
      await printed.exited;
      const [now = ''] = /-----BEGIN[\s\S]*?-----END CERTIFICATE-----/.exec(printed.stdout()) ?? [];
      assert.equal(new X509Certificate(now).fingerprint256, new X509Certificate(ca).fingerprint256);
    });

    for (const engine of ['sqlite', 'postgres'] as const) {
      test(`a backup restores into an empty store on ${engine}`, async (t) => {
        const dataDir = join(folder, `restored-${engine}`);
        await mkdir(dataDir, { mode: 0o700 });
        await cp(join(folder, 'data', 'secret.key'), join(dataDir, 'secret.key'));
        const databaseUrl = engine === 'postgres' ? await ownDatabase(t) : undefined;
        const target =
          databaseUrl === undefined
            ? ({ engine: 'sqlite', dataDir } as const)
            : ({ engine: 'postgres', dataDir, url: databaseUrl } as const);
        await restoreStore({ target, file: join(folder, 'store.backup'), replace: false });
        const place = { dataDir, clock, ...(databaseUrl !== undefined && { databaseUrl }) };
        const edge = await EdgeWorld.open(t, FURNISHED_ENV, place);
        assertKept(await storedContents(edge), facts.contents);
        await assertPeopleKept(edge, facts);
      });
    }

    test('its cookie of a login in progress is accepted', () => {
      const keyring = loadKeyring({ dataDir: join(folder, 'data'), configured: null, mayCreate: false });
      const randomText = (): string => assert.fail('no cookie is made');
      const flows = new FlowCookies({
        seal: (purpose, given) => keyring.seal(given, `purpose/${purpose}`),
        open: (purpose, sealed) => keyring.open(sealed, `purpose/${purpose}`),
        randomText,
      });
      assert.deepEqual(flows.find([facts.flowCookie], facts.flow.state), facts.flow);
    });

    test('its agent connects to this server with its token, and carries a request', async (t) => {
      const dataDir = await copyOf('with-agent');
      const ready = await startServerProcess(t, dataDir).ready();
      const { edge, tunnel } = ready.addresses as unknown as { edge: string; tunnel: string };
      const service = createServer((_request, response) => response.end('served by the old agent'));
      await once(service.listen(0, '127.0.0.1'), 'listening');
      t.after(() => service.close());
      const ca = readFileSync(join(dataDir, 'internal-ca', 'other', 'certificate.pem'), 'utf8');

      await symlink(NODE_MODULES, join(folder, 'agent', 'node_modules'));
      const { connect } = (await import(
        pathToFileURL(join(folder, 'agent', 'src', 'agent', 'index.ts')).href
      )) as typeof import('../../src/tunnel/agent/index.ts');
      const { port } = service.address() as AddressInfo;
      const agent = await connect({
        serverAddr: tunnel,
        authtoken: AUTHTOKEN,
        ca,
        tunnels: [{ proto: 'https', addr: port, domain: 'old.localhost' }],
      });
      t.after(() => agent.close());

      const [host, edgePort] = edge.split(':');
      const sent = request({ host, port: edgePort, servername: 'old.localhost', rejectUnauthorized: false });
      sent.setHeader('host', 'old.localhost').end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      assert.equal(response.statusCode, 200);
      assert.equal(await text(response), 'served by the old agent');
    });
  });
}

async function assertPeopleKept(edge: EdgeWorld, { people }: Facts): Promise<void> {
  const origin = `https://${FURNISHED_ENV.POSTERN_IDENTITY_HOST}`;
  const browser = (): IdentityBrowser => new IdentityBrowser({ edge, origin });
  const device = SoftAuthenticator.holding(origin, people.passkey);
  assert.equal((await browser().logIn(device)).headers['location'], '/account');
  assert.equal((await browser().accept(people.spentLink, new SoftAuthenticator(origin))).status, 410);
  assert.equal((await browser().accept(people.link, new SoftAuthenticator(origin))).status, 303);
  assert.deepEqual(JSON.parse((await browser().open('/jwks')).text), people.keys);
}

async function ownDatabase(t: { after(task: () => Promise<void>): void }): Promise<string> {
  const postgres = await startPostgres();
  t.after(() => postgres.stop());
  const database = await freshDatabase(postgres);
  t.after(() => database.drop());
  return database.url;
}
