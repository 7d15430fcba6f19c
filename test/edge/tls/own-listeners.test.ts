import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import { connect } from 'node:tls';
import { ALPN } from '../../../src/tunnel/protocol/protocol.ts';
import { TestWorld } from '../../support/test-world.ts';
import { type Issued, issue, managedRecord } from './test-authority.ts';

const API = 'api.apps.test';
const GATEWAY = 'gateway.apps.test';

const world = await TestWorld.open(
  { after },
  {
    env: {
      POSTERN_ROLES: 'api,edge,gateway',
      POSTERN_EDGE_LISTEN: '127.0.0.1:0',
      POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:0',
      POSTERN_TUNNEL_LISTEN: '127.0.0.1:0',
      POSTERN_SHUTDOWN_TIMEOUT: '1',
      POSTERN_API_TLS_CERT: 'internal',
      POSTERN_API_URL: `https://${API}`,
      POSTERN_TUNNEL_NAMES: GATEWAY,
    },
  },
);
const authority = await issue({ commonName: 'authority', isCa: true });
const { addresses } = world.server;
const ports = { api: addresses.api.port, tunnel: addresses.tunnel?.port ?? 0 };

async function manage(hostname: string, commonName: string, change?: (pair: Issued) => Issued): Promise<void> {
  const pair = await issue({ commonName, dnsNames: [hostname], issuer: authority, usages: ['server'] });
  const record = managedRecord(`mc_${hostname}`, hostname, change === undefined ? pair : change(pair));
  const put = { ...record, parent: null, uniqueKeys: [], references: [] };
  assert.ok((await world.store.commit({ puts: [put] })).ok);
}

async function shown(port: number, servername: string): Promise<string> {
  const protocol = port === ports.tunnel ? ALPN : 'http/1.1';
  const options = { host: '127.0.0.1', port, servername, ALPNProtocols: [protocol] };
  const client = connect({ ...options, rejectUnauthorized: false });
  await once(client, 'secureConnect');
  const { issuer, subject } = client.getPeerCertificate();
  client.destroy();
  return String(issuer.CN).startsWith('Postern internal CA') ? 'internal' : String(subject.CN);
}

suite('the listeners of the API and of tunnels', () => {
  test('present a managed certificate for their own names, from its arrival on', async () => {
    assert.equal(await shown(ports.api, API), 'internal');
    assert.equal(await shown(ports.tunnel, GATEWAY), 'internal');
    await manage(API, 'api 1');
    await manage(GATEWAY, 'gateway 1');
    assert.equal(await shown(ports.api, API), 'api 1');
    assert.equal(await shown(ports.api, API.toUpperCase()), 'api 1');
    assert.equal(await shown(ports.tunnel, GATEWAY), 'gateway 1');
    await manage(API, 'api 2');
    assert.equal(await shown(ports.api, API), 'api 2');
  });

  test('present no certificate of another name', async () => {
    await manage('site.apps.test', 'site');
    await manage(GATEWAY, 'gateway 2');
    for (const name of ['site.apps.test', GATEWAY, 'localhost', 'stranger.apps.test', ''])
      assert.equal(await shown(ports.api, name), 'internal');
    assert.equal(await shown(ports.tunnel, API), 'internal');
  });

  test('present the internal one while the managed one cannot be used', async () => {
    const other = await issue({ commonName: 'other' });
    await manage(API, 'broken', (pair) => ({ ...pair, keyPem: other.keyPem }));
    assert.equal(await shown(ports.api, API), 'internal');
    await manage(API, 'api 3');
    assert.equal(await shown(ports.api, API), 'api 3');
  });
});
