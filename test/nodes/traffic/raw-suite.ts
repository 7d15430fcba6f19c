import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get } from 'node:http';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, suite, test } from 'node:test';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { issue } from '../../edge/tls/test-authority.ts';
import { type Cluster, until } from '../../support/cluster.ts';

/** TCP ports, TLS pass-through and plain HTTP on every node, for agents of another one. */
export function rawSuite(cluster: Cluster): void {
  const { first } = cluster;
  const others = cluster.others(first);

  suite('raw tunnels through every node except the one with the agent', () => {
    test('tcp: both ends may end first, large data both ways, and the port closes everywhere with the tunnel', async () => {
      const port = await listening(
        createServer({ allowHalfOpen: true }, (socket) => {
          socket.on('error', () => {});
          socket.write('220 hello\r\n');
          let heard = 0;
          socket.on('data', (part: Buffer) => {
            heard += part.length;
            if (part.toString('latin1').endsWith('QUIT\r\n')) socket.end('221 bye\r\n');
          });
          socket.on('end', () => socket.end(`heard ${heard}\r\n`));
        }),
      );
      const agent = await cluster.agent([{ proto: 'tcp', addr: port }], { at: [first], connections: 1 });
      await cluster.visible(agent);
      const target = Number((agent.publicUrl ?? '').split(':').at(-1));
      for (const { address } of others) {
        const quitter = connect({ port: target, host: address });
        quitter.write('QUIT\r\n');
        assert.equal(await text(quitter), '220 hello\r\n221 bye\r\n');
        const ender = connect({ port: target, host: address, allowHalfOpen: true });
        ender.end('x'.repeat(3_000_000));
        assert.equal(await text(ender), '220 hello\r\nheard 3000000\r\n');
      }
      await agent.close();
      for (const { name, address } of others) {
        await until(`${name} closes the port`, async () => {
          const client = connect({ port: target, host: address });
          const isRefused = await once(client, 'connect').then(
            () => false,
            (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
          );
          client.destroy();
          return isRefused;
        });
      }
    });

    test("tls: the client sees the service's own certificate, and the bytes arrive unchanged", async () => {
      const host = `own-${randomBytes(4).toString('hex')}.localhost`;
      const authority = await issue({ commonName: 'CA of the service', isCa: true });
      const { certificatePem, keyPem } = await issue({
        commonName: host,
        issuer: authority,
        usages: ['server'],
        dnsNames: [host],
      });
      const server = createTlsServer({ cert: certificatePem, key: keyPem }, (socket) => {
        socket.on('error', () => {});
        socket.pipe(socket);
      });
      const port = await listening(server);
      const agent = await cluster.agent([{ proto: 'tls', addr: port, domain: host }], { at: [first], connections: 1 });
      await cluster.visible(agent);
      const sent = randomBytes(2_000_000);
      for (const { address, port: edgePort } of others) {
        const client = connectTls({
          port: edgePort,
          host: address,
          servername: host,
          ca: [authority.certificatePem],
        });
        await once(client, 'secureConnect');
        assert.equal(client.getPeerCertificate().subject.CN, host);
        client.end(sent);
        const parts: Buffer[] = [];
        for await (const part of client) parts.push(part as Buffer);
        assert.ok(sent.equals(Buffer.concat(parts)));
      }
      await agent.close();
    });

    test('http: on the plain listener', async () => {
      const local = createServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nplain'));
      });
      const agent = await cluster.agent([{ proto: 'http', addr: await listening(local) }], {
        at: [first],
        connections: 1,
      });
      await cluster.visible(agent);
      const { host } = new URL(agent.publicUrl ?? '');
      for (const { address, ports } of others) {
        const request = get({ host: address, port: ports.edgeHttp, path: '/', headers: { host }, agent: false });
        const [response] = await once(request, 'response');
        assert.deepEqual([response.statusCode, await text(response)], [200, 'plain']);
      }
      await agent.close();
    });

    test('the service is down: the connection is broken off, not ended', async () => {
      const server = createServer();
      const port = await listening(server);
      await new Promise((resolve) => server.close(resolve));
      const agent = await cluster.agent([{ proto: 'tcp', addr: port }], { at: [first], connections: 1 });
      await cluster.visible(agent);
      for (const { address } of others) {
        const client = connect({ port: Number((agent.publicUrl ?? '').split(':').at(-1)), host: address });
        assert.equal(await refusal(client), 'ECONNRESET');
      }
      await agent.close();
    });
  });
}

async function listening(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function refusal(client: NodeJS.EventEmitter): Promise<string> {
  const [error] = await once(client, 'error');
  return error.code;
}
