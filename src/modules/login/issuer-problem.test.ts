import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { type TestContext, test } from 'node:test';
import { FetchProblem } from '../../kit/http/fetch-problem.ts';
import { createGuardedFetch } from '../../kit/http/guarded-fetch.ts';
import { type AgentIssuerOptions, agentIssuers } from './issuer-problem.ts';

const SPECIAL = [
  '127.0.0.1',
  '::1',
  '::ffff:127.0.0.1',
  '::127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::7f00:1',
  '0.0.0.0',
  '::',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '100.64.0.1',
  '169.254.169.254',
  'fe80::1',
  'fe80::1%eth0',
  'fd00::1',
  'fec0::1',
];

function opened({
  lookup = resolvingTo('127.0.0.1'),
  ...options
}: Partial<AgentIssuerOptions> & { lookup?: LookupFunction } = {}) {
  return agentIssuers({
    allowedCidrs: [],
    isUpstreamAllowed: () => true,
    isPlainHttpAllowed: () => true,
    createFetch: (limits) => createGuardedFetch({ ...limits, lookup }),
    ...options,
  });
}

test('checks a name by its resolved address when it is dialled', async () => {
  for (const address of SPECIAL) {
    const { fetch } = opened({ lookup: resolvingTo(address) });
    const problem = await fetch('https://idp.example/token').catch((error: unknown) => error);
    assert.ok(problem instanceof FetchProblem, address);
    assert.equal(problem.reason, 'address_refused', address);
    assert.match(problem.message, /agent_issuer_allow_cidrs/);
  }
});

test('does not dial a name that was public and is private now (DNS rebinding)', async () => {
  const answers = ['203.0.113.7', '127.0.0.1'];
  const judged: string[] = [];
  const { fetch } = opened({
    allowedCidrs: ['203.0.113.0/24'],
    // Ends the first request before it leaves this machine.
    isUpstreamAllowed: (ip) => {
      judged.push(ip);
      return false;
    },
    lookup: (_name, _options, done) => done(null, [{ address: answers.shift() ?? '', family: 4 }]),
  });
  for (let turn = 0; turn < 2; turn += 1)
    await assert.rejects(fetch('https://idp.example/'), /connections to the address \S+ are not allowed/);
  assert.deepEqual(judged, ['203.0.113.7', '127.0.0.1']);
});

test('allows plain http only for listed ranges, and only where operators may use it', async (t) => {
  const { port, asked } = await inside(t);
  const url = `http://idp.example:${port}/`;
  await refused(opened(), url, 'plain_http');
  await refused(opened({ allowedCidrs: ['10.0.0.0/8'] }), url, 'address_refused');
  await refused(opened({ allowedCidrs: ['127.0.0.0/8'], isPlainHttpAllowed: () => false }), url, 'plain_http');
  await refused(opened({ allowedCidrs: ['10.0.0.0/8'], lookup: resolvingTo('1.1.1.1') }), url, 'address_refused');
  assert.equal(asked(), 0);
  assert.equal((await opened({ allowedCidrs: ['127.0.0.0/8'] }).fetch(url)).status, 200);
  assert.equal(asked(), 1);
});

test('a listed range does not bypass the limits of operators', async (t) => {
  const { port, asked } = await inside(t);
  const issuers = opened({ allowedCidrs: ['127.0.0.0/8'], isUpstreamAllowed: (_ip, dialled) => dialled !== port });
  await refused(issuers, `http://127.0.0.1:${port}/`, 'address_refused');
  assert.equal(asked(), 0);
});

async function refused({ fetch }: ReturnType<typeof opened>, url: string, reason: string): Promise<void> {
  await assert.rejects(fetch(url), (error) => error instanceof FetchProblem && error.reason === reason);
}

async function inside(t: TestContext): Promise<{ port: number; readonly asked: () => number }> {
  let count = 0;
  const server = createServer((_request, response) => {
    count += 1;
    response.end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return { port: (server.address() as AddressInfo).port, asked: () => count };
}

function resolvingTo(address: string): LookupFunction {
  return (_name, _options, done) => done(null, [{ address, family: address.includes(':') ? 6 : 4 }]);
}
