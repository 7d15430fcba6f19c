import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { connect } from 'node:tls';
import { eventually, openCrlServer } from '../edge/revocation/crl-server.ts';
import { presents } from '../edge/revocation/revocation-world.ts';
import { type Issued, issue } from '../edge/tls/test-authority.ts';
import { trustIn } from '../support/edge-world.ts';
import { type PosternProcess, startServerProcess } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { crl } from '../support/test-crl.ts';

const HOST = 'killed.localhost';
const server = await openCrlServer({ after });
const root = await issue({ commonName: 'root', isCa: true });
const alice = await issue({ commonName: 'alice', issuer: root, usages: ['client'] });
const bob = await issue({ commonName: 'bob', issuer: root, usages: ['client'] });

async function apiOf(process: PosternProcess, dataDir: string) {
  const { base_url: url } = await process.ready();
  const key = (await readFile(join(dataDir, 'first-api-key'), 'utf8')).trim();
  return async (method: string, path: string, body?: object) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'service-version': '2' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Record<string, unknown> & { readonly id: string };
    assert.ok(response.ok, JSON.stringify(answer));
    return answer;
  };
}

/** The first bytes of a response; empty when the handshake was refused. */
async function visit(process: PosternProcess, dataDir: string, client: Issued): Promise<string> {
  const { addresses } = await process.ready();
  const port = Number(/\d+$/.exec((addresses as unknown as { edge: string }).edge)?.[0]);
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect({
      host: '127.0.0.1',
      port,
      servername: HOST,
      ca: [...trustIn(dataDir)],
      ...presents(client),
    });
    socket
      .on('error', () => {})
      .on('data', (chunk: Buffer) => {
        answer += chunk.toString();
      });
    socket.once('close', () => resolve(answer));
    socket.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`);
  });
}

suite('a fetched revocation list', () => {
  test('applies at once after kill -9, while its server is down', async (t) => {
    const dataDir = await tempDir(t);
    server.list = (await crl({ issuer: root, revoked: [alice] })).der;
    const first = startServerProcess(t, dataDir, { args: ['--crl-allow-cidrs', '127.0.0.0/8'] });
    const api = await apiOf(first, dataDir);
    const { id: backend } = await api('POST', '/backends/http_response', { body: 'hello' });
    const { id: edge } = await api('POST', '/edges/https', { hostports: [`${HOST}:443`] });
    const { id: route } = await api('POST', `/edges/https/${edge}/routes`, { match: '/', match_type: 'path_prefix' });
    await api('PUT', `/edges/https/${edge}/routes/${route}/backend`, { backend_id: backend });
    const { id } = await api('POST', '/certificate_authorities', {
      ca_pem: root.certificatePem,
      crl_mode: 'hard',
      crl_url: server.url,
    });
    await api('PUT', `/edges/https/${edge}/mutual_tls`, { certificate_authority_ids: [id] });
    const read = () => api('GET', `/certificate_authorities/${id}`);
    await eventually(read, (ca) => ca['crl_fetched_at'] !== null);
    first.child.kill('SIGKILL');
    await first.exited;
    await server.stop();
    const second = startServerProcess(t, dataDir, { args: ['--crl-allow-cidrs', '127.0.0.0/8'] });
    const again = await apiOf(second, dataDir);
    assert.match(await visit(second, dataDir, bob), /^HTTP\/1\.1 200/);
    assert.equal(await visit(second, dataDir, alice), '');
    const kept = await again('GET', `/certificate_authorities/${id}`);
    assert.deepEqual([kept['crl_status'], kept['crl_entry_count']], ['current', 1]);
  });
});
