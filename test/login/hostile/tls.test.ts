import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type LookupFunction } from 'node:net';
import { test } from 'node:test';
import { FetchProblem } from '../../../src/kit/http/fetch-problem.ts';
import { createGuardedFetch, type GuardedFetch } from '../../../src/kit/http/guarded-fetch.ts';
import { backendCertificate, httpsServer } from '../../upstream/tls-servers.ts';

const lookup: LookupFunction = (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
const OPTIONS = { isAddressAllowed: () => true, isPlainHttpAllowed: () => false, lookup };

test('accepts a certificate only from a trusted authority and for the requested name', async () => {
  await using server = await httpsServer((_request, response) => response.end('hello'));
  const { certificatePem } = await backendCertificate();
  const trusting = createGuardedFetch({ ...OPTIONS, ca: [certificatePem] });
  assert.equal(await (await trusting(`https://backend.test:${server.port}/`)).text(), 'hello');
  assert.equal(await reasonOf(trusting, `https://other.test:${server.port}/`), 'tls');
  assert.equal(await reasonOf(createGuardedFetch(OPTIONS), `https://backend.test:${server.port}/`), 'tls');
});

test('the environment cannot turn verification off', async (t) => {
  await using server = await httpsServer((_request, response) => response.end());
  t.mock.method(process, 'emitWarning', () => {});
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  t.after(() => {
    delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
  });
  assert.equal(await reasonOf(createGuardedFetch(OPTIONS), `https://backend.test:${server.port}/`), 'tls');
});

test('a server without TLS, and one that stalls the handshake', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    t.after(() => socket.destroy());
    if (speaks) socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const url = `https://backend.test:${(server.address() as AddressInfo).port}/`;
  let speaks = true;
  assert.equal(await reasonOf(createGuardedFetch(OPTIONS), url), 'tls');
  speaks = false;
  assert.equal(await reasonOf(createGuardedFetch({ ...OPTIONS, timeoutMs: 100 }), url), 'timeout');
});

async function reasonOf(fetch: GuardedFetch, url: string): Promise<string> {
  const problem: unknown = await fetch(url).then(
    (response) => `status ${response.status}`,
    (error: unknown) => error,
  );
  return problem instanceof FetchProblem ? problem.reason : String(problem);
}
