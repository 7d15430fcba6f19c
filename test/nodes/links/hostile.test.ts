import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { after, suite, test } from 'node:test';
import { type ConnectionOptions, connect, createServer, type TLSSocket } from 'node:tls';
import { openInternalCa } from '../../support/internal-ca.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { type LinkedNode, LinkWorld, newAuthority, newNodeId } from '../support/link-world.ts';

const world = await LinkWorld.open({ after });
const received: string[] = [];
const a = await world.node({
  start: (links) => {
    links.serve('note', async ({ text }) => {
      received.push(JSON.stringify(text));
      return {};
    });
    links.serveFeed('numbers', () => {});
    links.serveStreams(() => false);
  },
});
const b = await world.node();

async function othersAreUnharmed(): Promise<void> {
  await eventually('the nodes are linked', () => b.links.get(a.id) !== undefined && a.links.get(b.id) !== undefined);
  received.splice(0);
  await b.links.call(a.id, 'note', { text: 'hello' });
  assert.deepEqual(received, ['"hello"']);
}

/** A certificate of the authority, for any node. */
async function identityOf(id: string, authority = world.authority): Promise<ConnectionOptions> {
  const { certificatePem: cert, privateKeyPem: key } = await authority.mint(id, Date.now());
  return { cert, key, ca: world.authority.caPem };
}

function dial(options: ConnectionOptions, node: LinkedNode = a): TLSSocket {
  const socket = connect({
    ...{ host: '127.0.0.1', port: node.port, ALPNProtocols: ['postern-peer/1'], checkServerIdentity: () => undefined },
    ...options,
  });
  after(() => socket.destroy());
  return socket.on('error', () => {}).resume();
}

suite('the listener rejects', () => {
  // Null: the reason of the one before, which is not logged again so soon.
  const strangers: readonly (readonly [string, () => Promise<ConnectionOptions>, RegExp | null])[] = [
    ['no certificate', async () => ({ ca: world.authority.caPem }), /peer did not return a certificate/],
    [
      'a certificate of another installation',
      async () => identityOf(newNodeId(), await newAuthority()),
      /rejected a connection to the peer listener/,
    ],
    [
      'a certificate of the internal CA',
      async () => {
        const ca = await openInternalCa({
          ...{ dataDir: await tempDir({ after }), domain: 'example.test' },
          clock: { nowMs: () => Date.now() },
        });
        const leaf = await ca.mintLeaf({ hosts: ['example.test'], ips: [], days: 1 });
        return { cert: leaf.certificatePem, key: leaf.privateKeyPem, ca: world.authority.caPem };
      },
      null,
    ],
    ['a node that the store does not have', () => identityOf(newNodeId()), /the store has no such node/],
    ['this node itself', () => identityOf(a.id), /this node dialled itself/],
    ['TLS 1.2', async () => ({ ...(await identityOf(b.id)), maxVersion: 'TLSv1.2' }), /unsupported protocol|version/],
    ['another ALPN name', async () => ({ ...(await identityOf(b.id)), ALPNProtocols: ['h2'] }), /application protocol/],
    ['no ALPN', async () => ({ ...(await identityOf(b.id)), ALPNProtocols: [] }), /does not speak the peer protocol/],
  ];
  for (const [name, options, line] of strangers) {
    test(name, async () => {
      a.logged.splice(0);
      const socket = dial(await options());
      await eventually('it is closed', () => socket.destroyed);
      if (line !== null) await eventually('it is logged', () => a.logged.some((one) => line.test(one)));
      await othersAreUnharmed();
    });
  }

  test('a flood of unknown nodes, without a flood of reads of the store or of log lines', async () => {
    const before = a.reads;
    a.logged.splice(0);
    const began = performance.now();
    const sockets = await Promise.all(Array.from({ length: 50 }, async () => dial(await identityOf(newNodeId()))));
    await eventually('all are closed', () => sockets.every(({ destroyed }) => destroyed));
    const allowed = 2 + Math.ceil((performance.now() - began) / 500);
    assert.ok(a.reads - before <= allowed, `${a.reads - before}`);
    const lines = a.logged.filter((line) => line.includes('the store has no such node')).length;
    assert.ok(lines <= 1 + Math.ceil((performance.now() - began) / 10_000), `${lines} lines`);
    await othersAreUnharmed();
  });

  test('silent connections: they crowd nobody out', async () => {
    const silent: Socket[] = [];
    for (let count = 0; count < 250; count += 1) {
      silent.push(
        connectTcp(a.port, '127.0.0.1')
          .on('error', () => {})
          .resume(),
      );
    }
    b.links.drop(a.id, 'a test');
    await othersAreUnharmed();
    await eventually('the oldest make room', () => silent.slice(0, 50).every(({ destroyed }) => destroyed));
    for (const socket of silent) socket.destroy();
  });

  test('garbage instead of TLS', async () => {
    const socket = connectTcp(a.port, '127.0.0.1').on('error', () => {});
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    socket.resume();
    await eventually('it is closed', () => socket.destroyed);
    await othersAreUnharmed();
  });
});

suite('a node that dials does not link to', () => {
  test('a server with a certificate that names another node, or of another authority', async () => {
    for (const authority of [world.authority, await newAuthority()]) {
      const { certificatePem: cert, privateKeyPem: key } = await authority.mint(newNodeId(), Date.now());
      const server = createServer({ cert, key, ALPNProtocols: ['postern-peer/1'] });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const id = newNodeId();
      const { port } = server.address() as { port: number };
      let data = 0;
      server.on('secureConnection', (socket) => {
        socket
          .on('error', () => {})
          .on('data', () => {
            data += 1;
          });
      });
      world.installation.put(id, { peerAddress: `127.0.0.1:${port}` });
      await eventually('it gives up', () => a.logged.some((line) => line.includes('cannot link') && line.includes(id)));
      assert.equal(a.links.get(id), undefined);
      assert.equal(data, 0, 'not one byte was sent to it');
      world.installation.remove(id);
      server.close();
    }
    await othersAreUnharmed();
  });

  test('an address that is none, and reports it', async () => {
    const id = newNodeId();
    world.installation.put(id, { peerAddress: 'nonsense' });
    await eventually('it is logged', () =>
      a.logged.some((line) => line.includes(id) && line.includes('not host:port')),
    );
    world.installation.remove(id);
    await othersAreUnharmed();
  });
});

suite('a node with a certificate that sends nonsense', () => {
  async function rogue(): Promise<{ readonly id: string; readonly session: ClientHttp2Session }> {
    const id = newNodeId();
    world.installation.put(id);
    const socket = dial(await identityOf(id));
    socket.pause();
    await once(socket, 'secureConnect');
    const session = connectHttp2('https://node', { createConnection: () => socket });
    session.on('error', () => {});
    await once(session, 'remoteSettings');
    return { id, session };
  }

  function open(session: ClientHttp2Session, path: string, headers = {}): ClientHttp2Stream {
    const head = { ':method': 'POST', ':path': path, ':authority': 'node', ...headers };
    return session.request(head, { endStream: false }).on('error', () => {});
  }

  async function answer(stream: ClientHttp2Stream): Promise<{ readonly status: number; readonly text: string }> {
    let status = 0;
    let text = '';
    stream.on('response', (head) => {
      status = Number(head[':status']);
    });
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    await eventually('it ends', () => stream.destroyed);
    return { status, text };
  }

  test('gets an error for malformed and oversized messages, and unknown paths', async () => {
    const { id, session } = await rogue();
    for (const body of ['', '[]', 'null', '"x"', '{', '{}{}', '\u0000', '{"a":1']) {
      const stream = open(session, '/call/note');
      stream.end(body);
      assert.deepEqual((await answer(stream)).status, 400, body);
    }
    const large = open(session, '/call/note');
    large.end(`{"text":"${'x'.repeat(200_000)}"}`);
    assert.equal((await answer(large)).status, 413);
    for (const why of ['a message is not a JSON object', 'a message has more than 65536 bytes']) {
      const isLogged = (line: string): boolean =>
        line.startsWith('refused a call') && line.includes(id) && line.includes(why);
      assert.equal(a.logged.filter(isLogged).length, 1, why);
    }
    for (const path of ['/call/', '/call/toString', '/call/__proto__', '/call/note/../note']) {
      const stream = open(session, path);
      stream.end('{}');
      assert.equal((await answer(stream)).status, 404, path);
    }
    for (const path of ['/', '/feed/', '/feed/toString', '/metrics']) {
      const stream = open(session, path);
      stream.end();
      assert.equal((await answer(stream)).status, 404, path);
    }
    assert.deepEqual(
      received.filter((text) => text !== '"hello"'),
      [],
    );
    session.destroy();
    world.installation.remove(id);
    await othersAreUnharmed();
  });

  test('cannot take all calls: those without an end are limited, and harm no other node', async () => {
    const { id, session } = await rogue();
    const streams: ClientHttp2Stream[] = [];
    let refused = 0;
    for (let count = 0; count < 1_500; count += 1) {
      const stream = open(session, '/call/note');
      stream.on('response', (head) => {
        refused += Number(head[':status'] === 429);
      });
      stream.write('{');
      streams.push(stream);
    }
    await eventually('500 are refused', () => refused === 500);
    await othersAreUnharmed();
    session.destroy();
    world.installation.remove(id);
    await othersAreUnharmed();
  });

  test('cannot open more than 16 feeds, or streams without end', async () => {
    const { id, session } = await rogue();
    for (let count = 0; count < 40; count += 1) open(session, '/feed/numbers');
    let streams = 0;
    for (let count = 0; count < 3_000; count += 1) {
      open(session, '/', { 'postern-tunnel': 'tn_1' });
      streams += 1;
    }
    assert.equal(streams, 3_000);
    await othersAreUnharmed();
    session.destroy();
    world.installation.remove(id);
    await othersAreUnharmed();
  });

  test('keeps no more than four connections', async () => {
    const id = newNodeId();
    world.installation.put(id);
    const options = await identityOf(id);
    const sockets: TLSSocket[] = [];
    for (let count = 0; count < 6; count += 1) {
      const socket = dial(options);
      await once(socket, 'secureConnect');
      sockets.push(socket);
    }
    await eventually('two are closed', () => sockets.filter(({ destroyed }) => destroyed).length >= 2);
    for (const socket of sockets) socket.destroy();
    world.installation.remove(id);
    await othersAreUnharmed();
  });

  test('is disconnected when it falls silent', async () => {
    const id = newNodeId();
    world.installation.put(id);
    const socket = dial(await identityOf(id));
    await once(socket, 'secureConnect');
    await eventually('it is closed', () => socket.destroyed);
    world.installation.remove(id);
    await othersAreUnharmed();
  });
});

suite('a node with a certificate that plays with frames of HTTP/2', () => {
  const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  const frame = (type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head.writeUInt8(type, 3);
    head.writeUInt8(flags, 4);
    head.writeUInt32BE(stream, 5);
    return Buffer.concat([head, payload]);
  };
  const repeated = (count: number, one: (n: number) => Buffer): Buffer =>
    Buffer.concat(Array.from({ length: count }, (_, n) => one(n)));
  const SETTINGS = frame(4, 0, 0);
  // Indexed fields of HPACK's static table: POST, https, /; with a literal for the authority.
  const head = Buffer.from([0x83, 0x87, 0x84, 0x01, 0x04, ...Buffer.from('node')]);
  const games: readonly { readonly name: string; readonly bytes: Buffer; readonly isEnded: boolean }[] = [
    { name: 'no preface', bytes: Buffer.alloc(4096, 'x'), isEnded: true },
    {
      name: 'a frame larger than allowed',
      bytes: Buffer.concat([PREFACE, SETTINGS, frame(0, 0, 1, Buffer.alloc(20_000))]),
      isEnded: true,
    },
    {
      name: 'data on a stream that was never opened',
      bytes: Buffer.concat([PREFACE, SETTINGS, frame(0, 0, 5, Buffer.alloc(10))]),
      isEnded: true,
    },
    {
      name: 'a stream with an even number',
      bytes: Buffer.concat([PREFACE, SETTINGS, frame(1, 4, 2, head)]),
      isEnded: true,
    },
    {
      name: 'a window beyond 2^31',
      bytes: Buffer.concat([PREFACE, SETTINGS, frame(8, 0, 0, Buffer.from([0x7f, 0xff, 0xff, 0xff]))]),
      isEnded: true,
    },
    {
      name: 'headers that never end',
      bytes: Buffer.concat([
        PREFACE,
        SETTINGS,
        frame(1, 0, 1, head),
        repeated(2_000, () => frame(9, 0, 1, Buffer.alloc(100))),
      ]),
      isEnded: true,
    },
    {
      name: 'broken header compression',
      bytes: Buffer.concat([PREFACE, SETTINGS, frame(1, 4, 1, Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff]))]),
      isEnded: true,
    },
    {
      name: 'twenty thousand settings',
      bytes: Buffer.concat([PREFACE, repeated(20_000, () => SETTINGS)]),
      isEnded: true,
    },
    {
      name: 'a reset of each of ten thousand streams',
      bytes: Buffer.concat([
        PREFACE,
        SETTINGS,
        repeated(10_000, (n) =>
          Buffer.concat([frame(1, 4, 2 * n + 1, head), frame(3, 0, 2 * n + 1, Buffer.from([0, 0, 0, 8]))]),
        ),
      ]),
      isEnded: false,
    },
    {
      name: 'frames of an unknown type',
      bytes: Buffer.concat([PREFACE, SETTINGS, repeated(1_000, () => frame(0xee, 0xff, 1, Buffer.alloc(100)))]),
      isEnded: false,
    },
  ];
  for (const { name, bytes, isEnded } of games) {
    test(name, async () => {
      const id = newNodeId();
      world.installation.put(id);
      a.logged.splice(0);
      const socket = dial(await identityOf(id));
      await once(socket, 'secureConnect');
      socket.write(bytes);
      if (isEnded) {
        await eventually('it is closed', () => socket.destroyed);
        await eventually('it is logged', () =>
          a.logged.some((line) => line.includes('broke the protocol') && line.includes(id)),
        );
      }
      await othersAreUnharmed();
      socket.destroy();
      world.installation.remove(id);
    });
  }
});
