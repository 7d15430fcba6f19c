import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, get, type RequestListener } from 'node:http';
import { createServer as createTlsServer, get as getTls } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { drainingServer } from '../../../src/app/main/sockets/listener.ts';
import { systemClock } from '../../../src/kit/clock.ts';
import { openInternalCa } from '../../support/internal-ca.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** A process that does not end must fail the test, not hang it. */
const TIMEOUT_MS = 240_000;

const LONG_MS = 60_000;
const SLOW_MS = 300;

const slowly: RequestListener = (_request, response) => {
  setTimeout(() => response.end('whole'), SLOW_MS);
};

async function listening(t: TestContext, isTls: boolean) {
  const leaf = isTls ? await testLeaf(t) : null;
  const server =
    leaf === null ? createServer() : createTlsServer({ cert: leaf.certificatePem, key: leaf.privateKeyPem });
  const draining = drainingServer(server);
  server.on('request', slowly);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => draining.drain(0));
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true });
  const fetchText = async () => {
    const request = leaf === null ? get({ port, agent }) : getTls({ port, host: '127.0.0.1', ca: leaf.caPem });
    const [response] = (await once(request, 'response')) as [import('node:http').IncomingMessage];
    return Buffer.concat(await response.toArray()).toString();
  };
  /** Resolves when the server has received the next request. */
  const received = () => once(server, 'request');
  return { draining, port, fetchText, received };
}

async function testLeaf(t: TestContext) {
  const ca = await openInternalCa({ dataDir: await tempDir(t), domain: 'localhost', clock: systemClock });
  return ca.mintLeaf({ hosts: ['localhost'], ips: ['127.0.0.1'], days: 1 });
}

async function elapsedMs(action: Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await action;
  return performance.now() - startMs;
}

for (const isTls of [false, true]) {
  suite(`drainingServer ${isTls ? 'with' : 'without'} TLS`, { timeout: TIMEOUT_MS }, () => {
    test('lets a request in flight finish, and then waits no longer', async (t) => {
      const { draining, fetchText, received } = await listening(t, isTls);
      const isReceived = received();
      const answer = fetchText();
      await isReceived;
      const took = await elapsedMs(draining.drain(LONG_MS));
      assert.equal(await answer, 'whole');
      assert(took < LONG_MS / 2, `${took} ms`);
    });

    test('does not wait for kept-alive connections', async (t) => {
      const { draining, fetchText } = await listening(t, isTls);
      await fetchText();
      assert((await elapsedMs(draining.drain(LONG_MS))) < LONG_MS / 2);
    });

    test('does not wait for connections that never sent anything', async (t) => {
      const { draining, port } = await listening(t, isTls);
      const silent = connect(port, '127.0.0.1');
      await once(silent, 'connect');
      while (draining.connectionCount === 0) await sleep(5);
      assert((await elapsedMs(draining.drain(LONG_MS))) < LONG_MS / 2);
      silent.destroy();
    });

    test('answers one more request on a connection that lingers, then closes it', async (t) => {
      const { draining, fetchText } = await listening(t, isTls);
      // Node's client without TLS reuses the connection; with TLS it is a new one, accepted and still silent.
      if (!isTls) await fetchText();
      const late = isTls ? fetchText() : null;
      while (draining.connectionCount === 0) await sleep(5);
      const drained = draining.drain(LONG_MS, LONG_MS);
      assert.equal(await (late ?? fetchText()), 'whole');
      assert((await elapsedMs(drained)) < LONG_MS / 2);
    });

    test('closes connections that sent nothing when they have lingered', async (t) => {
      const { draining, port } = await listening(t, isTls);
      const silent = connect(port, '127.0.0.1');
      await once(silent, 'connect');
      while (draining.connectionCount === 0) await sleep(5);
      assert((await elapsedMs(draining.drain(LONG_MS, 20))) < LONG_MS / 2);
      silent.destroy();
    });

    test('cuts off unfinished requests at the deadline', async (t) => {
      const { draining, fetchText, received } = await listening(t, isTls);
      const isReceived = received();
      const answer = assert.rejects(fetchText());
      await isReceived;
      await draining.drain(10);
      await answer;
    });

    test('rejects new connections once draining', async (t) => {
      const { draining, port } = await listening(t, isTls);
      await draining.drain(LONG_MS);
      const late = connect(port, '127.0.0.1');
      const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException];
      assert.equal(error.code, 'ECONNREFUSED');
    });
  });
}
