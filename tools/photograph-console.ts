/**
 * Writes docs/images/console-*.png: pages of the console of a server with a few sites. Needs Chromium.
 *   npm run screenshots
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';

const root = fileURLToPath(new URL('..', import.meta.url));
const launcher = join(root, 'bin/postern.mjs');
const OUTPUT = join(root, 'docs/images');
const SITES = ['shop.localhost', 'wiki.localhost', 'grafana.localhost'];
const REQUESTS = 40;
/** Links of the navigation, and the names of their pictures. */
const PAGES = [
  ['Sites', 'sites'],
  ['Live traffic', 'traffic'],
] as const;
const run = promisify(execFile);

interface Ready {
  readonly base_url: string;
  readonly addresses: { readonly edge: string };
}

const folder = mkdtempSync(join(tmpdir(), 'postern-console-'));
const upstream = createServer((request, response) => {
  response.writeHead(request.url === '/missing' ? 404 : 200).end('hello');
}).listen(0, '127.0.0.1');
await once(upstream, 'listening');
const listeners = ['api', 'edge', 'edge-http', 'tunnel'].flatMap((name) => [`--${name}-listen`, '127.0.0.1:0']);
const env = { PATH: process.env['PATH'], HOME: folder };
const server = spawn(process.execPath, [launcher, 'server', '--data-dir', folder, ...listeners], {
  cwd: folder,
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  const ready = await readyLine();
  const key = readFileSync(join(folder, 'first-api-key'), 'utf8').trim();
  await makeSites(ready, key);
  await photograph(ready, key);
} finally {
  server.kill('SIGTERM');
  await once(server, 'exit');
  upstream.close();
  rmSync(folder, { recursive: true });
}

async function readyLine(): Promise<Ready> {
  for await (const line of createInterface({ input: server.stdout })) {
    const entry = JSON.parse(line) as Ready & { readonly msg: string };
    if (entry.msg === 'ready') {
      server.stdout.resume();
      return entry;
    }
  }
  throw new Error('the server ended before it was ready');
}

async function makeSites({ base_url, addresses }: Ready, key: string): Promise<void> {
  const port = addresses.edge.split(':').at(-1) ?? '';
  const target = String((upstream.address() as AddressInfo).port);
  const postern = (args: readonly string[]): Promise<unknown> =>
    run(process.execPath, [launcher, ...args], {
      env: { ...env, POSTERN_CLI_API_URL: base_url, POSTERN_CLI_API_KEY: key },
      cwd: folder,
    });
  for (const host of SITES) await postern(['edge', `${host}:${port}`, '--to', target]);
  await postern(['api', 'compression', 'replace', '--edge', 'shop.localhost', '--route', '/']);
  for (let index = 0; index < REQUESTS; index += 1) {
    const host = SITES[index % SITES.length];
    const path = index % 9 === 0 ? '/missing' : `/page/${index}`;
    await run('curl', ['-sk', '--connect-to', `::${addresses.edge}`, `https://${host}:${port}${path}`]);
  }
}

async function photograph({ base_url }: Ready, key: string): Promise<void> {
  mkdirSync(OUTPUT, { recursive: true });
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1200, height: 760 }, colorScheme: 'light' });
    await page.goto(`${base_url}/console/`);
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    for (const [link, name] of PAGES) {
      await page.getByRole('navigation').getByRole('link', { name: link, exact: true }).click();
      await page.getByRole('heading', { name: link, level: 1 }).waitFor();
      // Live data arrives once a second.
      await page.waitForTimeout(1_500);
      // On a busy machine the page may have missed a pulse of the server, and says so.
      for (const close of await page.locator('.toast button').all()) await close.click();
      await page.screenshot({ path: join(OUTPUT, `console-${name}.png`) });
    }
  } finally {
    await browser.close();
  }
}
