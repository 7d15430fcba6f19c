import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { readPage } from '../../docs/markdown.ts';
import { missingBalancer, startHaproxy, startNginx } from '../../support/balancers.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';

/** Loopback addresses: of the balancers, and of the visitor. */
const BALANCER = '127.0.0.9';
const VISITOR = '127.0.0.77';

const upstream = await recordingUpstream({ after });
const edges = await EdgeWorld.open({ after }, { POSTERN_PROXY_PROTOCOL_FROM: `${BALANCER}/32` });
const { host } = await edges.site(await edges.staticBackend(upstream.address));

async function visit(port: number): Promise<unknown> {
  const { status } = await edges.ask(host, '/', { port, localAddress: VISITOR });
  assert.equal(status, 200);
  return upstream.seen.at(-1)?.headers['x-forwarded-for'];
}

function haproxy(server: string): Promise<number> {
  return startHaproxy(
    { after },
    `
global
  maxconn 100
defaults
  mode tcp
  timeout connect 10s
  timeout client 30s
  timeout server 30s
listen edge
  bind 127.0.0.1:PORT
  server postern 127.0.0.1:${edges.port} source ${BALANCER} ${server}`,
  );
}

suite('HAProxy', { skip: missingBalancer('haproxy') }, () => {
  for (const option of ['send-proxy', 'send-proxy-v2', 'send-proxy-v2 proxy-v2-options crc32c,unique-id']) {
    test(`${option} carries the visitor's address`, async () => {
      assert.equal(await visit(await haproxy(option)), VISITOR);
    });
  }

  for (const option of ['check inter 50 send-proxy', 'check check-send-proxy inter 50 send-proxy-v2']) {
    test(`${option} finds the edge healthy`, async () => {
      const port = await haproxy(option);
      for (let round = 0; round < 3; round += 1) {
        assert.equal(await visit(port), VISITOR);
        await new Promise((resolve) => setTimeout(resolve, 60));
      }
      assert.doesNotMatch(await edges.metrics(), /refusals_total\{listener="edge",reason="(malformed|missing)"\}/);
    });
  }

  test('without the option gets no connection', async () => {
    const port = await haproxy('');
    await assert.rejects(edges.ask(host, '/', { port }));
  });
});

suite('nginx', { skip: missingBalancer('nginx stream') }, () => {
  test("proxy_protocol on carries the visitor's address", async () => {
    const stream = `stream { server { listen 127.0.0.1:PORT; proxy_pass 127.0.0.1:${edges.port}; proxy_protocol on; proxy_bind ${BALANCER}; } }`;
    assert.equal(await visit(await startNginx({ after }, stream)), VISITOR);
  });
});

suite('the configurations of docs/how-to/run-behind-a-proxy.md', () => {
  const page = readPage('docs/how-to/run-behind-a-proxy.md');
  const block = (language: string): string =>
    new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page)?.[1] ?? assert.fail(language);

  test('of HAProxy', { skip: missingBalancer('haproxy') }, async () => {
    const [https = ''] = /[\s\S]*?(?=listen http\n)/.exec(block('haproxy')) ?? [];
    const local = https
      .replace('bind :443', 'bind 127.0.0.1:PORT')
      .replace('10.0.0.9:443', `127.0.0.1:${edges.port} source ${BALANCER}`);
    assert.equal(await visit(await startHaproxy({ after }, local)), VISITOR);
  });

  test('of nginx', { skip: missingBalancer('nginx stream') }, async () => {
    const local = block('nginx')
      .replace('listen 443;', 'listen 127.0.0.1:PORT;')
      .replace('10.0.0.9:443;', `127.0.0.1:${edges.port}; proxy_bind ${BALANCER};`);
    assert.equal(await visit(await startNginx({ after }, local)), VISITOR);
  });
});

suite('curl', () => {
  test('--haproxy-protocol is understood, and required from the balancer', async () => {
    const trust = join(await tempDir({ after }), 'trust.pem');
    await writeFile(trust, edges.ca.join('\n'));
    const curl = (...args: readonly string[]) =>
      promisify(execFile)('curl', [
        ...['-sS', '--cacert', trust, '--resolve', `${host}:${edges.port}:127.0.0.1`, '--interface', BALANCER],
        ...['--max-time', '20', '-o', '/dev/null', '-w', '%{http_code}', ...args, `https://${host}:${edges.port}/`],
      ]);
    assert.equal((await curl('--haproxy-protocol')).stdout, '200');
    assert.equal(upstream.seen.at(-1)?.headers['x-forwarded-for'], BALANCER);
    await assert.rejects(curl());
  });
});
