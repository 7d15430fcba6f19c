import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import fastify from 'fastify';
import { addPageRoutes, ConsoleFiles } from '../../src/control/console/pages.ts';
import { browserRequest } from '../support/browser-request.ts';
import { TestWorld } from '../support/test-world.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const world = await TestWorld.open({ after });
const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  browserRequest(`${world.baseUrl}${path}`, { headers });

suite('the page at /console', () => {
  test('/ redirects browsers to it, and programs to /docs as ever', async () => {
    const browser = await get('/', { accept: BROWSER });
    assert.deepEqual([browser.status, browser.headers['location']], [302, '/console']);
    for (const accept of ['*/*', 'application/json']) {
      const program = await get('/', { accept });
      assert.deepEqual([program.status, program.headers['location']], [302, '/docs']);
    }
  });

  test('is served at /console and below it, without a key, and never from a stale cache', async () => {
    for (const path of ['/console', '/console/', '/console/edges/edghts_1?x=1#y', '/console/deep/er/link']) {
      const page = await get(path, { accept: BROWSER });
      assert.equal(page.status, 200, path);
      assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
      assert.equal(page.headers['cache-control'], 'no-cache');
      assert.match(page.bytes.toString(), /<script type="module" src="\/console\/assets\/main-[A-Z0-9]+\.js">/);
    }
  });

  test('has a policy without unsafe sources, and headers against framing and sniffing', async () => {
    const { headers, bytes } = await get('/console');
    const policy = headers['content-security-policy'] ?? '';
    assert.match(policy, /default-src 'none'; script-src 'self';/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe|\*|http:|https:/);
    assert.equal(headers['x-frame-options'], 'DENY');
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['referrer-policy'], 'no-referrer');
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
    assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
    assert.match(headers['permissions-policy'] ?? '', /camera=\(\)/);
    assert.doesNotMatch(bytes.toString(), /<script(?![^>]* src=)|<style|\son\w+=|style=/);
  });

  test('its files are cached for good, and precompressed for clients that accept it', async () => {
    const script = /src="([^"]+)"/.exec((await get('/console')).bytes.toString())?.[1] as string;
    const plain = await get(script, { 'accept-encoding': 'identity' });
    assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable');
    assert.equal(plain.headers['content-type'], 'text/javascript; charset=utf-8');
    assert.equal(plain.headers['content-encoding'], undefined);
    const brotli = await get(script, { 'accept-encoding': 'gzip, deflate, br' });
    assert.equal(brotli.headers['content-encoding'], 'br');
    assert.deepEqual(brotliDecompressSync(brotli.bytes), plain.bytes);
    const gzip = await get(script, { 'accept-encoding': 'gzip;q=0.5, br;q=0' });
    assert.equal(gzip.headers['content-encoding'], 'gzip');
    assert.deepEqual(gunzipSync(gzip.bytes), plain.bytes);
    assert.equal(gzip.headers['vary'], 'accept-encoding');
  });

  test('serves no file beside those of the build', async () => {
    for (const name of ['nothing.js', '..%2findex.html', '..%2f..%2fpackage.json', '__proto__', 'constructor', '']) {
      const refused = await get(`/console/assets/${name}`);
      assert.deepEqual([refused.status, refused.body?.error_code], [404, 'ERR_POSTERN_UNKNOWN_PATH'], name);
    }
  });

  test('without a build is a 503 that names the command, until it is built', async (t) => {
    const app = fastify();
    t.after(() => app.close());
    const built = new Map<string, Buffer>();
    addPageRoutes(app, new ConsoleFiles((path) => built.get(path) ?? null));
    const page = await app.inject({ url: '/console/edges', headers: { accept: BROWSER } });
    assert.equal(page.statusCode, 503);
    assert.match(page.body, /npm run build:console/);
    const program = await app.inject({ url: '/console', headers: { accept: '*/*' } });
    assert.deepEqual([program.statusCode, program.json().code], [503, 'ERR_POSTERN_CONSOLE_NOT_BUILT']);
    built.set('manifest.json', Buffer.from('{"files":["index.html"]}')).set('index.html', Buffer.from('built'));
    assert.equal((await app.inject({ url: '/console' })).body, 'built');
  });
});
