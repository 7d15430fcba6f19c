import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcp } from 'node:net';
import { after, suite, test } from 'node:test';
import { createServer as createTls } from 'node:tls';
import { agentFailure } from '../../../src/proxy/edge/tunnels/tunnel-failures.ts';
import { issue } from '../../edge/tls/test-authority.ts';
import { deadAddress, recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { bothWays } from './ways.ts';

const world = await TunnelWorld.open({ after });

suite('a service that cannot be reached is 502, and the page names its address', () => {
  const cases: readonly { name: string; words: RegExp; addr: () => Promise<string> }[] = [
    { name: 'nothing listens', words: /the connection was refused/, addr: deadAddress },
    { name: 'a name that does not resolve', words: /does not resolve/, addr: async () => 'nowhere.invalid:80' },
    {
      name: 'it closes without an answer',
      words: /closed before the response/,
      addr: () => listeningTcp((bytes, end) => bytes.includes('\r\n\r\n') && end('')),
    },
    {
      name: 'it speaks something else',
      words: /does not follow the protocol/,
      addr: () => listeningTcp((_bytes, end) => end('SSH-2.0-OpenSSH_9.9\r\n')),
    },
    {
      name: 'its certificate is not trusted',
      words: /certificate or handshake/,
      addr: async () => `https://localhost:${await untrustedService()}`,
    },
  ];
  for (const { name, words, addr } of cases) {
    test(name, async () => {
      const address = await addr();
      for (const { host } of await bothWays(world, { addr: address })) {
        const answer = await world.edge.ask(host, '/', { headers: { accept: 'text/html' } });
        assert.equal(answer.status, 502);
        assert.ok(answer.text.includes(address.replace('https://', '')), answer.text);
        assert.match(answer.text, words);
        assert.equal(answer.headers['postern-tunnel-error'], undefined);
      }
    });
  }
});

test('a group sends each request to the least busy member', async () => {
  const { id } = await world.edge.api('POST', '/backends/tunnel_group', { labels: { app: 'balance' } });
  const { host } = await world.edge.site(id);
  const members = await Promise.all(['a', 'b'].map((name) => holdingMember(name)));
  const [first, second] = members as [Member, Member];
  const held: Promise<unknown>[] = [];
  for (let n = 0; n < 10; n += 1) {
    const arrived = Promise.race(members.map((member) => member.next()));
    held.push(world.edge.ask(host, `/${n}`));
    await arrived;
  }
  assert.deepEqual([first.held.length, second.held.length], [5, 5]);
  // Once one of them is free again, everything goes there until it is as busy as the other.
  for (const release of first.held.splice(0)) release();
  await Promise.all(held.filter((_, n) => first.seen.includes(`/${n}`)));
  for (let n = 10; n < 15; n += 1) {
    const arrived = first.next();
    held.push(world.edge.ask(host, `/${n}`));
    await arrived;
  }
  assert.deepEqual([first.held.length, second.held.length], [5, 5]);
  for (const release of [...first.held, ...second.held]) release();
  await Promise.all(held);
});

test('skips a member whose service is down, and does not resend a body that its agent has received', async () => {
  const { id } = await world.edge.api('POST', '/backends/tunnel_group', { labels: { app: 'half' } });
  const { host } = await world.edge.site(id);
  const local = await recordingUpstream({ after });
  await world.agent([{ labels: { app: 'half' }, addr: await deadAddress() }]);
  const whole = await world.agent([{ labels: { app: 'half' }, addr: local.address }]);
  for (let n = 0; n < 20; n += 1) {
    assert.equal(await world.edge.status(host, '/', { method: n % 2 === 0 ? 'GET' : 'POST' }), 200);
  }
  local.forget();
  const statuses: number[] = [];
  for (let n = 0; n < 20; n += 1) statuses.push(await world.edge.status(host, '/', { method: 'POST', body: `${n}` }));
  assert.deepEqual(
    statuses.filter((status) => status !== 200 && status !== 502),
    [],
  );
  assert.equal(local.seen.length, statuses.filter((status) => status === 200).length);
  await whole.close();
  assert.equal(await world.edge.status(host), 502);
});

test('does not resend a request that a service received and did not answer', async () => {
  const { id } = await world.edge.api('POST', '/backends/tunnel_group', { labels: { app: 'silent' } });
  const { host } = await world.edge.site(id);
  let came = 0;
  for (const name of ['a', 'b']) {
    const addr = await listeningTcp((bytes, end) => {
      if (!bytes.includes('\r\n\r\n')) return;
      came += 1;
      end('');
    });
    await world.agent([{ labels: { app: 'silent', name }, addr }]);
  }
  assert.equal(await world.edge.status(host, '/', { method: 'POST' }), 502);
  assert.equal(came, 1);
});

test('only reasons that guarantee it let a request be sent elsewhere', () => {
  const unsent = ['refused', 'timeout', 'dns', 'tls', 'agent_out_of_files'];
  const words = [...unsent, 'unanswered', 'protocol', 'closed', 'a new one', 'constructor'];
  assert.deepEqual(
    words.filter((word) => !agentFailure(word, '127.0.0.1:1').mayHaveBeenSent),
    unsent,
  );
});

interface Member {
  /** Releases waiting requests. */
  readonly held: (() => void)[];
  readonly seen: string[];
  /** Resolves with the next request. */
  next(): Promise<void>;
}

async function holdingMember(name: string): Promise<Member> {
  const held: (() => void)[] = [];
  const seen: string[] = [];
  let onArrived = (): void => {};
  const server = createServer((request, response) => {
    seen.push(request.url ?? '');
    held.push(() => response.end(name));
    onArrived();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(() => server.close());
  await world.agent([{ labels: { app: 'balance', name }, addr: (server.address() as AddressInfo).port }]);
  const next = (): Promise<void> =>
    new Promise((resolve) => {
      onArrived = resolve;
    });
  return { held, seen, next };
}

async function listeningTcp(onData: (bytes: string, end: (words: string) => void) => unknown): Promise<string> {
  const server = createTcp((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => onData(chunk.toString('latin1'), (words) => socket.end(words)));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function untrustedService(): Promise<number> {
  const { certificatePem, keyPem } = await issue({ commonName: 'localhost', dnsNames: ['localhost'] });
  const server = createTls({ cert: certificatePem, key: keyPem }, (socket) => socket.end());
  server.on('tlsClientError', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(() => server.close());
  return (server.address() as AddressInfo).port;
}
