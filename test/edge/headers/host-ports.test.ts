import assert from 'node:assert/strict';
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
