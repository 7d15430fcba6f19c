import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { suite, test } from 'node:test';
import { loadConfig } from '../../../src/app/settings/load.ts';
import { printConfig } from '../../../src/app/settings/print.ts';
import { formatListenAddress } from '../../../src/kit/net/listen-address.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { TestWorld } from '../../support/test-world.ts';

suite('an edge on several addresses', () => {
  test('serves the same hosts on all of them', async (t) => {
    const edges = await EdgeWorld.open(t, { POSTERN_EDGE_LISTEN: '127.0.0.1:0, [::1]:0' });
    const { addresses } = edges.world.server;
    const { host } = await edges.site(await edges.httpResponse('here'));
    assert.deepEqual(addresses.edge, addresses.edgeAll?.[0]);
    assert.equal(addresses.edgeAll?.length, 2);
    for (const address of addresses.edgeAll) {
      assert.equal((await edges.ask(host, '/', { ...address })).text, 'here', formatListenAddress(address));
    }
  });

  test('counts the connections of one client together', async (t) => {
    const edges = await EdgeWorld.open(t, {
      POSTERN_EDGE_LISTEN: '127.0.0.1:0,127.0.0.2:0',
      POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:0,127.0.0.2:0',
      POSTERN_EDGE_CONNECTIONS_PER_ADDRESS: '1',
    });
    const { edgeAll = [], edgeHttpAll = [] } = edges.world.server.addresses;
    const { host } = await edges.site(await edges.httpResponse('one'));
    const localAddress = '127.0.0.1';
    const held = await edges.connect(host, { ...edgeAll[0], localAddress } as object);
    await assert.rejects(edges.connect(host, { ...edgeAll[1], localAddress } as object));
    held.destroy();

    const plain = edgeHttpAll.map((address) =>
      connect({ ...address, localAddress })
        .on('error', () => {})
        .resume(),
    );
    t.after(() => {
      for (const socket of plain) socket.destroy();
    });
    await Promise.race(plain.map((socket) => once(socket, 'close')));
    assert.equal(plain.filter((socket) => socket.destroyed).length, 1);
  });

  test('lists them in the ready line, whose other fields stay', async (t) => {
    const { world } = await EdgeWorld.open(t, { POSTERN_EDGE_LISTEN: '127.0.0.1:0,[::1]:0' });
    const line = JSON.parse(world.logLines.find((text) => text.includes('"ready"')) ?? '{}');
    const [first, second] = (world.server.addresses.edgeAll ?? []).map(formatListenAddress);
    assert.equal(line.addresses.edge, first);
    assert.deepEqual(line.addresses.edge_all, [first, second]);
    assert.deepEqual(line.addresses.edge_http_all, [line.addresses.edge_http]);
  });

  test('accepts IPv4 on [::] alone, and next to 0.0.0.0 on the same port', async (t) => {
    const dual = await EdgeWorld.open(t, { POSTERN_EDGE_LISTEN: '[::]:0' });
    const { host } = await dual.site(await dual.httpResponse('both'));
    for (const dialled of ['127.0.0.1', '::1']) {
      assert.equal((await dual.ask(host, '/', { host: dialled, headers: { host } })).text, 'both', dialled);
    }
    const port = await freePort();
    const pair = await EdgeWorld.open(t, { POSTERN_EDGE_LISTEN: `[::]:${port},0.0.0.0:${port}` });
    const site = await pair.site(await pair.httpResponse('pair'));
    for (const dialled of ['127.0.0.1', '::1']) {
      assert.equal((await pair.ask(site.host, '/', { host: dialled })).text, 'pair', dialled);
    }
  });

  test('opens none of them when one fails, and names it', async (t) => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    t.after(() => taken.close());
    const { port } = taken.address() as AddressInfo;
    const free = await freePort();
    const env = {
      POSTERN_ROLES: 'api,edge',
      POSTERN_EDGE_LISTEN: `127.0.0.1:${free},127.0.0.1:${port}`,
      POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:0',
    };
    await assert.rejects(TestWorld.open(t, { env, dataDir: await tempDir(t) }), {
      message: `cannot listen on 127.0.0.1:${port}: port ${port} is already in use. Set another address with edge_listen (POSTERN_EDGE_LISTEN)`,
    });
    const socket = connect(free, '127.0.0.1');
    const [error] = await once(socket, 'error');
    assert.equal(error.code, 'ECONNREFUSED');
  });

  test('lets an edge name any of the ports', async (t) => {
    const world = await TestWorld.open(t, { env: { POSTERN_EDGE_LISTEN: '127.0.0.1:8443,127.0.0.1:9443' } });
    const create = (port: number) => world.api('POST', '/edges/https', { hostports: [`app.example.com:${port}`] });
    const refused = await create(7443);
    assert.equal(refused.status, 400);
    assert.match(
      refused.text,
      /visitors can use 443, 8443, or 9443: write one of these, or add the port to edge_listen/,
    );
    assert.equal((await create(9443)).status, 201);
  });
});

suite('edge_listen', () => {
  const load = (value: string) => loadConfig({ flags: new Map([['edge-listen', value]]), env: {} });
  const printed = (value: string) => /^edge_listen: (.*) #/m.exec(printConfig(load(value)))?.[1];

  test('prints one address as before, and several as a list', () => {
    assert.equal(printed('127.0.0.1:7443'), '127.0.0.1:7443');
    assert.equal(printed('0.0.0.0:443,[::]:443'), '[0.0.0.0:443, "[::]:443"]');
    assert.equal(printed('0.0.0.0:443, 0.0.0.0:443'), '0.0.0.0:443');
  });

  test('reads a YAML list', () => {
    const readText = () => 'edge_listen: ["0.0.0.0:443", "[::]:443"]\n';
    const { config } = loadConfig({ flags: new Map([['config', 'x.yaml']]), env: {}, readText });
    assert.deepEqual(config.edge_listen.map(formatListenAddress), ['0.0.0.0:443', '[::]:443']);
  });

  test('rejects bad lists, and addresses that include each other', () => {
    const many = Array.from({ length: 33 }, (_, index) => `127.0.0.1:${index + 1}`).join();
    for (const bad of ['443', '127.0.0.1:443,', ',', '127.0.0.1:443,nonsense', '127.0.0.1:443;[::]:443', many]) {
      assert.throws(() => load(bad), /edge_listen .*allowed: HOST:PORT or \[IPV6\]:PORT, or a list/, bad);
    }
    assert.throws(() => load('127.0.0.1:443,0.0.0.0:443'), /edge_listen has 0\.0\.0\.0:443, which includes 127\.0/);
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '::');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
