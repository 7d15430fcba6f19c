import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { tempDir } from '../../support/temp-dir.ts';
import { exchange, openTlsWorld } from './tls-world.ts';

interface Run {
  readonly code: number;
  readonly output: string;
}

/** Standard input is closed immediately, so that s_client ends after the handshake. */
function run(command: string, args: readonly string[]): Promise<Run> {
  return new Promise((resolve) => {
    const child = execFile(command, args, { timeout: 20_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: `${stdout}${stderr}` });
    });
    child.stdin?.end();
  });
}

async function openNamed(t: TestContext) {
  const world = await openTlsWorld(t);
  world.setEdge('app.localhost');
  world.setEdge('*.wild.localhost');
  return world;
}

suite('server names', () => {
  for (const name of ['app.localhost', 'APP.localhost', 'app.localhost.', 'one.wild.localhost']) {
    test(`gives ${name} the certificate of its host or wildcard`, async (t) => {
      const world = await openNamed(t);
      const canonical = name.toLowerCase().replace(/\.$/, '');
      const client = world.connect(name, { checkServerIdentity: () => undefined });
      await once(client, 'secureConnect');
      const pattern = canonical === 'app.localhost' ? canonical : '*.wild.localhost';
      assert.equal(client.getPeerCertificate().subjectaltname, `DNS:${pattern}`);
      assert.equal(client.authorized, true);
      assert.equal((await exchange(client, name)).answer.includes('h1 '), true);
      assert.equal(world.connections[0]?.servername, canonical);
      assert.deepEqual(world.connections[0]?.edge.hosts, [pattern]);
    });
  }

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    for (const [what, options] of [
      ['an unknown name', { servername: 'other.localhost' }],
      ['a name two labels below a wildcard', { servername: 'a.b.wild.localhost' }],
      ['a wildcard itself', { servername: '*.wild.localhost' }],
      ['no name', { servername: '' }],
    ] as const) {
      test(`answers ${what} over ${version} with the alert unrecognized_name and no certificate`, async (t) => {
        const world = await openNamed(t);
        const client = world.connect('', { ...options, maxVersion: version });
        const [error] = (await once(client, 'error')) as [NodeJS.ErrnoException];
        assert.match(error.code ?? '', /UNRECOGNIZED_NAME/);
        assert.deepEqual(client.getPeerCertificate(), {});
        assert.equal(world.connections.length, 0);
      });
    }

    test(`is understood by openssl s_client over ${version}`, async (t) => {
      const world = await openNamed(t);
      const flag = version === 'TLSv1.2' ? '-tls1_2' : '-tls1_3';
      const target = ['s_client', '-connect', `127.0.0.1:${world.port}`, flag];
      const good = await run('openssl', [...target, '-servername', 'app.localhost']);
      assert.match(good.output, /subject=CN = app\.localhost/);
      for (const wrong of [['-servername', 'other.localhost'], ['-servername', '127.0.0.1'], ['-noservername']]) {
        const { output } = await run('openssl', [...target, ...wrong]);
        assert.match(output, /unrecognized name/, wrong.join(' '));
        assert.match(output, /no peer certificate available/);
      }
      assert.deepEqual(world.failures, ['unknown_name', 'bad_name', 'no_name']);
    });
  }

  test('serves curl over HTTP/1.1 and HTTP/2, and rejects an address as name', async (t) => {
    const world = await openNamed(t);
    const caFile = join(await tempDir(t), 'ca.pem');
    await writeFile(caFile, world.ca.domainCaPem);
    const curl = (...args: string[]) => run('curl', ['-sS', '--noproxy', '*', '--cacert', caFile, ...args]);
    const url = `https://app.localhost:${world.port}/`;
    assert.equal((await curl('--http1.1', url)).output, `h1 app.localhost:${world.port}`);
    assert.equal((await curl('--http2', url)).output, `h2 app.localhost:${world.port}`);
    // curl sends no name for an address.
    const byAddress = await curl(`https://127.0.0.1:${world.port}/`);
    assert.match(byAddress.output, /unrecognized name/);
  });

  test('speaks HTTP/2 by ALPN, HTTP/1.1 without, and nothing else', async (t) => {
    const world = await openNamed(t);
    const session = connectHttp2(`https://app.localhost:${world.port}`, {
      createConnection: () => world.connect('app.localhost', { ALPNProtocols: ['h2'] }),
    });
    const stream = session.request({ ':path': '/' }).setEncoding('utf8');
    let body = '';
    for await (const chunk of stream) body += chunk;
    assert.match(body, /^h2 app\.localhost/);
    session.destroy();
    const foreign = world.connect('app.localhost', { ALPNProtocols: ['ftp'] });
    const [error] = (await once(foreign, 'error')) as [NodeJS.ErrnoException];
    assert.match(error.code ?? '', /NO_APPLICATION_PROTOCOL/);
    assert.deepEqual(await world.failed(1), ['no_shared_protocol']);
  });

  test('explains itself to a client of plain HTTP', async (t) => {
    const world = await openNamed(t);
    const client = connectTcp(world.port, '127.0.0.1').setEncoding('utf8');
    client.write('GET / HTTP/1.1\r\nHost: app.localhost\r\n\r\n');
    let answer = '';
    for await (const chunk of client) answer += chunk;
    assert.match(answer, /^HTTP\/1\.0 400 [\s\S]*https:\/\//);
    assert.deepEqual(world.failures, ['not_tls']);
  });

  test('drops an edge that is deleted while its certificate is issued', async (t) => {
    const world = await openNamed(t);
    world.beforeMint = () => world.removeEdge('app.localhost');
    const client = world.connect('app.localhost');
    const [error] = (await once(client, 'error')) as [NodeJS.ErrnoException];
    assert.match(error.code ?? '', /UNRECOGNIZED_NAME/);
  });
});
