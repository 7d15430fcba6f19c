import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { missingBalancer, startCaddy } from '../support/balancers.ts';
import { startPostern, startServerProcess } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { readPage, shellBlocks } from './markdown.ts';

const PAGE = 'docs/how-to/serve-http3.md';
const HOST = 'app.example.com';
const VISITOR = '127.0.0.5';
const run = promisify(execFile);

/** curl of Debian speaks no HTTP/3: the request takes the same way over HTTP/2. */
test('Caddy with the configuration of the page announces HTTP/3, and the edge sees the address of the visitor', {
  skip: missingBalancer('caddy'),
}, async (t) => {
  const folder = await tempDir(t);
  const [settings = '', caddyfile = ''] = Array.from(
    readPage(PAGE).matchAll(/^```(?:yaml)?\n(# [\s\S]*?)^```$/gm),
    ([, text = '']) => text,
  );
  const file = join(folder, 'postern-behind-caddy.yaml');
  await writeFile(file, settings.replaceAll(/^(edge_\w*listen): .*/gm, '$1: 127.0.0.1:0'));
  const server = startServerProcess(t, join(folder, 'data'), { args: ['--config', file] });
  const { base_url: url, addresses } = await server.ready();
  const { edge = '' } = addresses as unknown as Record<string, string>;

  const service = createServer((request, response) => response.end(String(request.headers['x-forwarded-for'])));
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  t.after(() => service.close());
  const { port } = service.address() as AddressInfo;
  const command = async (...args: string[]): Promise<string> => {
    const started = startPostern(t, {
      args,
      env: { POSTERN_CLI_API_URL: url, POSTERN_DATA_DIR: join(folder, 'data') },
    });
    assert.equal((await started.exited).code, 0, started.stderr());
    return started.stdout();
  };
  await command('edge', HOST, '--to', String(port));
  const [, printCas = ''] = shellBlocks(PAGE).map(({ text }) => text.trim());
  assert.match(printCas, /^postern ca print > edge-cas\.pem$/);
  const cas = join(folder, 'edge-cas.pem');
  await writeFile(cas, await command('ca', 'print'));

  const [, site = ''] = /\{\n([\s\S]*)\}\n$/.exec(caddyfile) ?? [];
  const own = site.replace('127.0.0.1:8443', edge).replace('/etc/caddy/edge-cas.pem', cas);
  const given = join(folder, 'Caddyfile');
  const options = '{\nadmin off\nskip_install_trust\nauto_https disable_redirects\n}\n';
  await writeFile(given, `${options}https://${HOST}:64123 {\n\ttls internal\n${own}}`);
  const { stdout: json } = await run('caddy', ['adapt', '--adapter', 'caddyfile', '--config', given]);
  const https = await startCaddy(t, json.replaceAll('64123', 'PORT'));
  const args = ['-sSk', '--http2', '--interface', VISITOR, '--connect-to', `::127.0.0.1:${https}`];
  const headers = join(folder, 'headers');
  const { stdout } = await run('curl', [
    ...args,
    '-H',
    'x-forwarded-for: 6.6.6.6',
    '-D',
    headers,
    `https://${HOST}:${https}/`,
  ]);
  assert.equal(stdout, `${VISITOR}, 127.0.0.1`);
  assert.match(await readFile(headers, 'utf8'), /^alt-svc: h3=/im);
  assert.match(await command('requests', '--limit', '1'), new RegExp(`app\\.example\\.com.*/ +${VISITOR}`));
});
