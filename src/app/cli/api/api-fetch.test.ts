import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { apiFetch } from './api-fetch.ts';

async function served(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function ask(url: string, body?: string) {
  const { signal } = new AbortController();
  const init = { method: body === undefined ? 'GET' : 'DELETE', headers: {}, signal, redirect: 'error' } as const;
  return apiFetch(url, body === undefined ? init : { ...init, body });
}

suite('apiFetch', () => {
  test('reads a compressed response, and its headers', async (t) => {
    const url = await served(t, (request, response) => {
      assert.equal(request.headers['accept-encoding'], 'gzip');
      response.writeHead(201, { 'content-encoding': 'gzip', etag: '"7"' }).end(gzipSync('{"name":"Zoë"}'));
    });
    const response = await ask(url);
    assert.deepEqual([response.ok, response.status], [true, 201]);
    assert.deepEqual([response.headers.get('etag'), response.headers.get('postern-revision')], ['"7"', null]);
    assert.equal(await response.text(), '{"name":"Zoë"}');
  });

  test('sends the length of a body with any method', async (t) => {
    const url = await served(t, (request, response) => response.end(request.headers['content-length']));
    assert.equal(await (await ask(url, 'ë')).text(), '2');
  });

  test('rejects a redirect, and a response that was cut', async (t) => {
    const redirecting = await served(t, (_request, response) => response.writeHead(307, { location: '/' }).end());
    await assert.rejects(ask(redirecting), /unexpected redirect/);
    const cutting = await served(t, (_request, response) => {
      response.writeHead(200, { 'content-length': '9' }).write('{');
      setTimeout(() => response.destroy(), 20);
    });
    const response = await ask(cutting);
    await assert.rejects(response.text());
  });

  test('loads no undici', () => {
    const program = `
      const { apiFetch } = await import(${JSON.stringify(import.meta.resolve('./api-fetch.ts'))});
      await apiFetch('http://127.0.0.1:1', { method: 'GET', headers: {} }).catch(() => {});
      console.log(process.moduleLoadList.filter((name) => name.endsWith('undici/undici')).length);
    `;
    const args = ['--input-type=module', '--eval', program];
    assert.equal(
      execFileSync(process.execPath, args, { cwd: fileURLToPath(new URL('.', import.meta.url)) }).toString(),
      '0\n',
    );
  });
});
