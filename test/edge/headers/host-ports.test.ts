import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { rawExchange } from '../traffic/raw-exchange.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';

const upstream = await recordingUpstream({ after });

async function openSite(env: Readonly<Record<string, string>>) {
  const world = await EdgeWorld.open({ after }, env);
  const { host } = await world.site(await world.staticBackend(upstream.address));
  return async (port: string): Promise<number> => {
    const socket = await world.connect(host);
    const request = `GET / HTTP/1.1\r\nHost: ${host}${port}\r\nConnection: close\r\n\r\n`;
    const { statuses } = await rawExchange(socket, request);
    if (statuses[0] === 200) assert.equal(upstream.seen.at(-1)?.headers.host, `${host}${port}`);
    return statuses[0] ?? 0;
  };
}

suite('the port in Host', () => {
  test('is any by default, because of port mappings, and is forwarded unchanged', async () => {
    const status = await openSite({});
    for (const port of ['', ':443', ':8443', ':1', ':65535']) assert.equal(await status(port), 200, port);
  });

  test('is a plain number', async () => {
    const status = await openSite({});
    for (const port of [
      ':',
      ':0',
      ':00443',
      ':0443',
      ':65536',
      ':99999',
      ':443443',
      ':+443',
      ':0x1bb',
      ':443:443',
      ':https',
    ]) {
      assert.equal(await status(port), 400, port);
    }
  });

  test('edge_host_ports: only those listed, or none', async () => {
    const status = await openSite({ POSTERN_EDGE_HOST_PORTS: '443,8443' });
    for (const port of ['', ':443', ':8443']) assert.equal(await status(port), 200, port);
    for (const port of [':80', ':7443', ':1337']) assert.equal(await status(port), 400, port);
  });
});

suite('the dot of the root in Host', () => {
  test('names the same site over both protocols, and upstreams get the name without it', async () => {
    const world = await EdgeWorld.open({ after });
    const { host } = await world.site(await world.staticBackend(upstream.address));
    const forms = [
      `GET / HTTP/1.1\r\nHost: ${host}.\r\n`,
      `GET / HTTP/1.1\r\nHost: ${host}.:443\r\n`,
      `GET https://${host}./ HTTP/1.1\r\nHost: ${host}\r\n`,
      `GET https://${host}/ HTTP/1.1\r\nHost: ${host.toUpperCase()}.\r\n`,
    ];
    for (const form of forms) {
      const { statuses } = await rawExchange(await world.connect(host), `${form}Connection: close\r\n\r\n`);
      assert.equal(statuses[0], 200, form);
      assert.doesNotMatch(String(upstream.seen.at(-1)?.headers.host ?? '.'), /\.(?::|$)/);
    }
    const session = await world.http2(host);
    for (const fields of [{ ':authority': `${host}.` }, { ':authority': host, host: `${host}.` }]) {
      const stream = session.request({ ':path': '/', ...fields });
      const [{ ':status': status }] = await once(stream.resume(), 'response');
      assert.equal(status, 200, JSON.stringify(fields));
      assert.equal(upstream.seen.at(-1)?.headers.host, host);
    }
    session.destroy();
  });

  test('is one dot, and leads to no other site', async () => {
    const world = await EdgeWorld.open({ after });
    const backend = await world.staticBackend(upstream.address);
    const [{ host }, other] = [await world.site(backend), await world.site(backend)];
    const statusOf = async (name: string): Promise<number | undefined> => {
      const request = `GET / HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`;
      return (await rawExchange(await world.connect(host), request)).statuses[0];
    };
    assert.equal(await statusOf(`${other.host}.`), 421);
    assert.equal(await statusOf(`${host}..`), 421);
    assert.equal(await statusOf('.'), 400);
  });
});
