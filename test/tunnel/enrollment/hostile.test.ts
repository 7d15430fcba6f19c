import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer as createTcpServer, type LookupFunction, type Socket } from 'node:net';
import { after, suite, type TestContext, test } from 'node:test';
import { createServer } from 'node:tls';
import type { RedeemRequest } from '../../../src/tunnel/gateway/ports.ts';
import { invitationLine } from '../../../src/tunnel/protocol/invitation-line.ts';
import { ALPN } from '../../../src/tunnel/protocol/protocol.ts';
import { gatewayCertificate, testAuthority } from '../../agent/support/fake-gateway.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { loneGateway } from '../support/lone-gateway.ts';
import { RawAgent } from '../support/raw-agent.ts';
import { invitationIn, joinWith, newToken, outcomeOf } from './joining.ts';

const SECRET = Buffer.alloc(16, 3).toString('base64url');

/** `gateway.test`, which the certificate is for, is this machine. */
const lookup: LookupFunction = (_name, { all }, done) => {
  if (all === true) done(null, [{ address: '127.0.0.1', family: 4 }]);
  else done(null, '127.0.0.1', 4);
};

/** A gateway of somebody else. Returns what agents said to it after the handshake. */
async function impostor(t: TestContext, more = ''): Promise<{ readonly port: number; readonly heard: Buffer[] }> {
  const { certificatePem, keyPem } = await gatewayCertificate();
  const heard: Buffer[] = [];
  const server = createServer({ cert: `${certificatePem}\n${more}`, key: keyPem, ALPNProtocols: [ALPN] }, (socket) => {
    socket.on('error', () => {}).on('data', (chunk: Buffer) => heard.push(chunk));
  });
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return { port: (server.address() as AddressInfo).port, heard };
}

suite('an agent that joins through somebody in between', () => {
  test('says nothing to a gateway whose CA is not that of the invitation', async (t) => {
    const { port, heard } = await impostor(t);
    const line = invitationLine({ gateway: `127.0.0.1:${port}`, caSha256: 'cd'.repeat(32), secret: SECRET });
    await assert.rejects(joinWith(line), /its certificate comes from another CA\. Nothing was sent/);
    assert.deepEqual(heard, []);
  });

  test('says nothing to a gateway that only shows the right CA', async (t) => {
    const { edge } = await TunnelWorld.open(t);
    const { invitation } = await edge.api('POST', '/agent_invitations', {});
    const { caSha256 } = invitationIn(invitation);
    const own = edge.ca.find(
      (pem) => new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase() === caSha256,
    );
    const { port, heard } = await impostor(t, own ?? assert.fail('the invitation names another CA'));
    const gateway = `127.0.0.1:${port}`;
    const line = invitationLine({ ...invitationIn(invitation), gateway });
    assert.equal(await outcomeOf(joinWith(line)), 'ERR_POSTERN_AGENT_CERTIFICATE');
    assert.deepEqual(heard, []);
    assert.equal(await outcomeOf(joinWith(invitation)), 'joined', 'the invitation was not spent');
  });

  test('says nothing to a gateway whose certificate the system does not trust, if the invitation names no CA', async (t) => {
    const { port, heard } = await impostor(t);
    const line = invitationLine({ gateway: `gateway.test:${port}`, caSha256: null, secret: SECRET });
    await assert.rejects(joinWith(line, { lookup }), /is signed by an authority that is not trusted/);
    assert.deepEqual(heard, []);
    const ca = [(await testAuthority()).certificatePem];
    await assert.rejects(joinWith(line, { ca, lookup, timings: { welcomeTimeoutMs: 50 } }), /did not answer/);
    assert.ok(heard.length > 0, 'with --root-ca it is trusted');
  });

  test('joins when the connection is cut before the answer, with one credential', async (t) => {
    const world = await TunnelWorld.open(t);
    const { edge } = world;
    const { invitation } = await edge.api('POST', '/agent_invitations', { acl: ['bind:cut.localhost'] });
    const cutter = await cuttingProxy(t, world.port);
    const line = invitationLine({ ...invitationIn(invitation), gateway: `127.0.0.1:${cutter.port}` });
    cutter.cutWhen = async () => (await edge.api('GET', '/agent_invitations')).agent_invitations.length === 0;
    await joinWith(line);
    assert.ok(cutter.cuts > 0, 'the first answer was lost');
    const { credentials } = await edge.api('GET', '/credentials?limit=100');
    const made = credentials.filter(({ acl }: { acl: string[] }) => acl.includes('bind:cut.localhost'));
    assert.equal(made.length, 1);
  });
});

/** Withholds what the gateway says once the agent has sent its message, and cuts when the test says so. */
async function cuttingProxy(t: TestContext, port: number) {
  const state = { cuts: 0, port: 0, cutWhen: async (): Promise<boolean> => false };
  const sockets = new Set<Socket>();
  const server = createTcpServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => {}));
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    client.pipe(upstream).on('close', end);
    client.on('close', end);
    let isHeld = false;
    upstream.on('data', (chunk: Buffer) => {
      if (state.cuts > 0) client.write(chunk);
      else if (!isHeld) {
        isHeld = true;
        void hold(chunk);
      } else held.push(chunk);
    });
    const held: Buffer[] = [];
    const hold = async (first: Buffer): Promise<void> => {
      client.write(first);
      // Everything before the answer goes through, piece by piece.
      while (!client.destroyed) {
        if (await state.cutWhen()) {
          state.cuts += 1;
          end();
          return;
        }
        const next = held.shift();
        if (next !== undefined) client.write(next);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  state.port = (server.address() as AddressInfo).port;
  return state;
}

suite('a gateway that strangers send invitations to', () => {
  const asked: RedeemRequest[] = [];
  let nowMs = Date.now();
  const opened = loneGateway(
    { after },
    {
      clock: { nowMs: () => nowMs },
      credentials: {
        isCurrent: () => true,
        find: () => null,
        get: () => null,
        refresh: () => Promise.resolve(),
        onChange: () => () => {},
      },
      invitations: {
        redeem: (request) => {
          asked.push(request);
          return Promise.resolve(request.secret === SECRET ? { id: 'cr_1', acl: [] } : null);
        },
      },
    },
  );
  const message = (secret: string, fields: object = {}): object => ({
    ...{ t: 'enroll', version: 1, secret, token: newToken(), name: 'x' },
    ...fields,
  });
  const raw = async (): Promise<RawAgent> => {
    const { address } = await opened;
    const ca = [(await testAuthority()).certificatePem];
    return RawAgent.open({ port: Number(address.split(':').at(-1)), edge: { ca }, servername: 'gateway.test' });
  };
  const answerTo = async (...messages: readonly object[]): Promise<string> => {
    const agent = await raw();
    for (const each of messages) agent.say(each);
    // A connection that got an answer stays open for a second.
    await Promise.race(
      [agent.message('enrolled'), agent.message('refused'), agent.closed()].map((each) => each.catch(() => {})),
    );
    const [first] = agent.received;
    agent.destroy();
    return first === undefined ? 'closed' : first.t === 'refused' ? first.code : first.t;
  };

  test('limits wrong ones per address, and counts no right one', async () => {
    for (let at = 0; at < 12; at += 1) assert.equal(await answerTo(message(SECRET)), 'enrolled');
    asked.length = 0;
    const answers = await Promise.all(Array.from({ length: 15 }, (_, at) => answerTo(message(`wrong-${at}`))));
    const counted = Map.groupBy(answers, (answer) => answer);
    assert.equal(counted.get('ERR_POSTERN_AGENT_INVITATION')?.length, 10);
    assert.equal(counted.get('ERR_POSTERN_AGENT_GUESSES')?.length, 5);
    assert.equal(asked.length, 10);
    assert.equal(await answerTo(message(SECRET)), 'ERR_POSTERN_AGENT_GUESSES', 'nor is a right one looked at then');
    nowMs += 60_000;
    assert.equal(await answerTo(message(SECRET)), 'enrolled');
  });

  test('closes on anything else than one well-formed message', async () => {
    asked.length = 0;
    const hello = {
      t: 'hello',
      version: 1,
      token: 'x',
      agent_version: '',
      os: '',
      metadata: '',
      remote_management: true,
    };
    const wrong: readonly object[] = [
      { t: 'enroll' },
      ...['version', 'secret', 'token', 'name'].flatMap((field) =>
        [null, 0.5, {}, [], true, 'x'.repeat(300)].map((value) => message(SECRET, { [field]: value })),
      ),
      { t: 'bye' },
    ];
    const answers = await Promise.all(wrong.map((each) => answerTo(each)));
    for (const [at, answer] of answers.entries()) {
      assert.equal(answer, 'closed', JSON.stringify(wrong[at]).slice(0, 100));
    }
    assert.deepEqual(asked, []);
    assert.equal(await answerTo(message(SECRET, { version: 2 })), 'ERR_POSTERN_AGENT_PROTOCOL');
    // The second message ends the connection, whatever the first one would have got.
    for (const second of [message(SECRET), hello]) {
      assert.ok(['closed', 'enrolled'].includes(await answerTo(message(SECRET), second)));
    }
    const agent = await raw();
    agent.write(`{"t":"enroll","secret":"${'x'.repeat(70_000)}`);
    await agent.closed();
    agent.destroy();
    const { errors, gateway } = await opened;
    assert.deepEqual([errors, gateway.counts.connections], [[], 0]);
  });
});
