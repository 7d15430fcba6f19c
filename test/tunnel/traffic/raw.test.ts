import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get } from 'node:http';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, suite, test } from 'node:test';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import pg from 'pg';
import { issue } from '../../edge/tls/test-authority.ts';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { startPostgres } from '../../support/postgres.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';

const world = await TunnelWorld.open({ after });

async function listening(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(() => server.close());
  return (server.address() as AddressInfo).port;
}

suite('tcp', () => {
  test('PostgreSQL: a session, a large result, a COPY-sized parameter, and a cancelled query', async (t) => {
    const postgres = await startPostgres();
    t.after(() => postgres.stop());
    const direct = new URL(postgres.url);
    const agent = await world.agent([{ proto: 'tcp', addr: `${direct.hostname}:${direct.port}` }]);
    const { hostname, port } = new URL((agent.publicUrl ?? '').replace('tcp:', 'http:'));
    assert.notEqual(port, direct.port);
    const through = new URL(postgres.url);
    through.hostname = hostname;
    through.port = port;
    const pool = new pg.Pool({ connectionString: through.href, max: 4 });
    const { rows } = await pool.query('select g, repeat(md5(g::text), 20) as filling from generate_series(1, 20000) g');
    assert.equal(rows.length, 20_000);
    assert.equal(rows[19_999].filling.slice(0, 32), createHash('md5').update('20000').digest('hex'));
    const sent = randomBytes(4_000_000);
    const { rows: sizes } = await pool.query('select length($1::bytea) as length, md5($1::bytea) as md5', [sent]);
    assert.deepEqual(sizes[0], { length: sent.length, md5: createHash('md5').update(sent).digest('hex') });
    const counts = Array.from({ length: 40 }, (_, n) => pool.query('select $1::int as n', [n]));
    assert.deepEqual(
      (await Promise.all(counts)).map((answer) => answer.rows[0].n),
      Array.from({ length: 40 }, (_, n) => n),
    );
    await assert.rejects(pool.query('set statement_timeout = 50; select pg_sleep(10)'), { code: '57014' });
    await pool.end();
    await agent.close();
    await assert.rejects(new pg.Client({ connectionString: through.href }).connect(), { code: 'ECONNREFUSED' });
  });

  test('a line protocol that the server ends, and one that the client ends', async () => {
    const port = await listening(
      createServer({ allowHalfOpen: true }, (socket) => {
        socket.on('error', () => {});
        socket.write('220 hello\r\n');
        let heard = '';
        socket.setEncoding('utf8').on('data', (part: string) => {
          heard += part;
          if (heard.endsWith('QUIT\r\n')) socket.end('221 bye\r\n');
        });
        socket.on('end', () => socket.end(`heard ${heard.length}\r\n`));
      }),
    );
    const agent = await world.agent([{ proto: 'tcp', addr: port }]);
    const target = Number((agent.publicUrl ?? '').split(':').at(-1));
    const quitter = connect({ port: target, host: '127.0.0.1' });
    quitter.write('QUIT\r\n');
    assert.equal(await text(quitter), '220 hello\r\n221 bye\r\n');
    const ender = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    ender.end('x'.repeat(100_000));
    assert.equal(await text(ender), '220 hello\r\nheard 100000\r\n');
    await agent.close();
  });

  test('the service is down: the connection is broken off, not ended', async () => {
    const server = createServer();
    const port = await listening(server);
    await new Promise((resolve) => server.close(resolve));
    const agent = await world.agent([{ proto: 'tcp', addr: port }]);
    const client = connect({ port: Number((agent.publicUrl ?? '').split(':').at(-1)), host: '127.0.0.1' });
    const [error] = await once(client, 'error');
    assert.equal(error.code, 'ECONNRESET');
    await agent.close();
  });
});

test("tls: the client sees the service's own certificate, and nobody in between the bytes", async () => {
  const host = `own-${randomBytes(4).toString('hex')}.localhost`;
  const authority = await issue({ commonName: 'CA of the service', isCa: true });
  const { certificatePem, keyPem } = await issue({
    commonName: host,
    issuer: authority,
    usages: ['server'],
    dnsNames: [host],
  });
  const server = createTlsServer({ cert: certificatePem, key: keyPem, ALPNProtocols: ['smtp'] }, (socket) => {
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  const port = await listening(server);
  const agent = await world.agent([{ proto: 'tls', addr: port, domain: host }]);
  assert.equal(agent.publicUrl, `tls://${host}:${world.edge.port}`);
  const dial = (ca: string | readonly string[], servername: string): TLSSocket =>
    connectTls({
      port: world.edge.port,
      host: '127.0.0.1',
      servername,
      ca: [ca].flat(),
      ALPNProtocols: ['smtp'],
    });
  const client = dial(authority.certificatePem, host);
  await once(client, 'secureConnect');
  assert.equal(client.alpnProtocol, 'smtp');
  assert.equal(client.getPeerCertificate().subject.CN, host);
  const sent = randomBytes(2_000_000);
  client.end(sent);
  const parts: Buffer[] = [];
  for await (const part of client) parts.push(part as Buffer);
  assert.ok(sent.equals(Buffer.concat(parts)));
  const distrustful = dial(world.edge.ca, host);
  const [error] = await once(distrustful, 'error');
  assert.match(error.message, /certificate/);
  await agent.close();
});

test('http: on the plain listener, under its name only, and not on the TLS one', async () => {
  const local = await recordingUpstream({ after });
  const agent = await world.agent([{ proto: 'http', addr: local.address }]);
  const url = new URL(agent.publicUrl ?? '');
  const plainPort = world.edge.world.server.addresses.edgeHttp?.port;
  assert.deepEqual([url.protocol, Number(url.port)], ['http:', plainPort]);
  const ask = async (host: string): Promise<{ status: number | undefined; body: string }> => {
    const request = get({ host: '127.0.0.1', port: plainPort, path: '/x?y', headers: { host }, agent: false });
    const [response] = await once(request, 'response');
    return { status: response.statusCode, body: await text(response) };
  };
  const answer = await ask(url.host);
  assert.equal(answer.status, 200);
  const seen = JSON.parse(answer.body);
  assert.deepEqual([seen.url, seen.headers['x-forwarded-proto']], ['/x?y', 'http']);
  assert.notEqual((await ask('other.localhost')).status, 200);
  await assert.rejects(world.edge.ask(url.hostname));
  await agent.close();
  assert.notEqual((await ask(url.host)).status, 200);
});
