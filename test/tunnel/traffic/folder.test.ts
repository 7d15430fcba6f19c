import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { TunnelWorld } from '../../support/tunnel-world.ts';

const base = mkdtempSync(join(tmpdir(), 'postern-agent-folder-'));
after(() => rmSync(base, { recursive: true, force: true }));
const folder = join(base, 'my site');
mkdirSync(join(folder, 'docs'), { recursive: true });
const BIG = Buffer.alloc(1_000_000, 'abcdefghij');
const TEXT = 'text of the agent\n'.repeat(100);
for (const [name, content] of Object.entries({ 'index.html': 'home', 'docs/index.html': 'docs', 'a.txt': TEXT }))
  writeFileSync(join(folder, name), content);
writeFileSync(join(folder, 'big.bin'), BIG);
writeFileSync(join(folder, '.env'), 'SECRET');
writeFileSync(join(base, 'secret.txt'), 'SECRET');
symlinkSync(base, join(folder, 'out'));
const addr = pathToFileURL(folder).href;

const world = await TunnelWorld.open({ after });
const agent = await world.agent([
  { proto: 'https', addr },
  { proto: 'https', addr, files: { fallback: 'index.html', listing: true } },
  { labels: { app: 'folder' }, addr },
  { proto: 'https', addr: pathToFileURL(join(base, 'absent')).href },
]);
const [plain = '', app = '', , absent = ''] = agent.tunnels.map(({ publicUrl }) =>
  publicUrl === null ? '' : new URL(publicUrl).hostname,
);

suite('a folder of an agent', () => {
  test('is served at an address of its own, with ranges, conditions and compression', async () => {
    assert.equal((await world.edge.ask(plain)).text, 'home');
    const whole = await world.edge.ask(plain, '/big.bin');
    assert.ok(whole.body.equals(BIG));
    const part = await world.edge.ask(plain, '/big.bin', { headers: { range: 'bytes=999990-' } });
    assert.deepEqual([part.status, part.text], [206, 'abcdefghij']);
    assert.equal(part.headers['content-range'], 'bytes 999990-999999/1000000');
    const etag = String(whole.headers['etag']);
    assert.equal((await world.edge.ask(plain, '/big.bin', { headers: { 'if-none-match': etag } })).status, 304);
    const head = await world.edge.ask(plain, '/big.bin', { method: 'HEAD' });
    assert.deepEqual([head.status, head.headers['content-length'], head.body.length], [200, '1000000', 0]);
    const coded = await world.edge.ask(plain, '/a.txt', { headers: { 'accept-encoding': 'gzip' } });
    assert.equal(gunzipSync(coded.body).toString(), TEXT);
    assert.equal((await world.edge.ask(plain, '/docs')).headers['location'], './docs/');
    assert.equal((await world.edge.ask(plain, '/', { method: 'POST', body: 'x'.repeat(200_000) })).status, 405);
    const ranged = await world.edge.ask(plain, '/big.bin', { headers: { range: 'bytes=9000000-' } });
    assert.deepEqual([ranged.status, ranged.headers['content-range']], [416, 'bytes */1000000']);
  });

  test('has the options of the agent', async () => {
    assert.equal((await world.edge.ask(plain, '/people/7')).status, 404);
    assert.equal((await world.edge.ask(app, '/people/7')).text, 'home');
  });

  test('is a member of a tunnel group', async () => {
    const { id } = await world.edge.api('POST', '/backends/tunnel_group', { labels: { app: 'folder' } });
    const { host } = await world.edge.site(id);
    assert.equal((await world.edge.ask(host, '/docs/')).text, 'docs');
  });

  test('has no way out', async () => {
    for (const target of [
      '/.env',
      '/out/secret.txt',
      '/../secret.txt',
      '/%2e%2e/secret.txt',
      '/..%2fsecret.txt',
      '/docs//../../secret.txt',
      '/docs/%2e%2e%5c..%5csecret.txt',
      '//out/secret.txt',
      '/a.txt%00',
    ]) {
      for (const host of [plain, app]) {
        const socket = await world.edge.connect(host);
        socket.write(`GET ${target} HTTP/1.1\r\nHost: ${host}:${world.edge.port}\r\nConnection: close\r\n\r\n`);
        let text = '';
        for await (const chunk of socket) text += String(chunk);
        // The application has a page for every path.
        const isPage = host === app && text.endsWith('\r\n\r\nhome');
        assert.ok(isPage || /^HTTP\/1\.1 (?:400|404) /.test(text), `${target}: ${text.slice(0, 40)}`);
        assert.doesNotMatch(text, /SECRET/);
      }
    }
  });

  test('that is missing is named without its path', async () => {
    const answer = await world.edge.ask(absent);
    assert.equal(answer.status, 502);
    assert.match(answer.text, /could not reach absent: the folder cannot be opened/);
    assert.match(answer.text, /check the folder on the machine of the agent/);
    assert.doesNotMatch(answer.text, /postern-agent-folder/);
  });

  test('is shown to the operator of the server', async () => {
    const { tunnels } = await world.edge.api('GET', '/tunnels');
    assert.ok(tunnels.some((each: { forwards_to: string }) => each.forwards_to === addr));
  });

  test('is no service for raw bytes', async () => {
    await assert.rejects(world.agent([{ proto: 'tcp', addr }]), /address .* is invalid/);
  });
});
