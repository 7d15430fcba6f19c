import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, extname, join, normalize } from 'node:path';
import { before, suite, type TestContext, test } from 'node:test';
import { projectRoot } from '../docs/markdown.ts';
import { chromiumPath, launchChromium } from '../support/chromium.ts';

const dist = join(projectRoot, 'site/dist');
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
};
const executable = chromiumPath();

suite('the documentation as a web site', () => {
  before(() => {
    execFileSync(process.execPath, ['tools/build-site.ts'], { cwd: projectRoot, stdio: 'pipe', maxBuffer: 2 ** 26 });
  });

  test('no page loads anything from elsewhere, and everything that a page loads is there', () => {
    const pages = globSync('**/*.html', { cwd: dist });
    assert.ok(pages.length > 150, String(pages.length));
    const problems = pages.flatMap((page) => {
      const tags = readFileSync(join(dist, page), 'utf8').matchAll(/<(?!a[\s>])\w+\b[^>]*?\s(?:src|href)="([^"]*)"/g);
      return Array.from(tags, ([, url = '']) => url)
        .filter((url) => !url.startsWith('data:'))
        .filter((url) => /^([a-z]+:)?\/\//.test(url) || !existsSync(fileOf(page, url)))
        .map((url) => `${page}: ${url}`);
    });
    for (const sheet of globSync('**/*.css', { cwd: dist })) {
      const text = readFileSync(join(dist, sheet), 'utf8');
      const foreign = text.match(/url\(["']?(?:https?:)?\/\/[^)]*\)|@import[^;]*;/g) ?? [];
      problems.push(...foreign.map((match) => `${sheet}: ${match}`));
    }
    assert.deepEqual(problems, []);
  });

  test('llms.txt leads to pages of the site', () => {
    const listed = readFileSync(join(dist, 'llms.txt'), 'utf8').matchAll(/\]\(([^)]+)\)/g);
    const paths = Array.from(listed, ([, path = '']) => path);
    assert.ok(paths.length > 80);
    assert.deepEqual(
      paths.filter((path) => !existsSync(join(dist, path))),
      [],
    );
  });

  test('every link inside the site leads to a page, and its fragment to a heading', () => {
    const anchors = new Map<string, ReadonlySet<string>>();
    const anchorsOf = (file: string): ReadonlySet<string> => {
      const ids = readFileSync(file, 'utf8').matchAll(/\sid="([^"]+)"/g);
      const known = anchors.get(file) ?? new Set(Array.from(ids, ([, id = '']) => id));
      anchors.set(file, known);
      return known;
    };
    const broken = globSync('**/*.html', { cwd: dist }).flatMap((page) => {
      const links = readFileSync(join(dist, page), 'utf8').matchAll(/<a\b[^>]*?\shref="([^"]*)"/g);
      return Array.from(links, ([, url = '']) => url)
        .filter((url) => !/^[a-z]+:/.test(url))
        .filter((url) => {
          const [path = '', fragment = ''] = url.split('#');
          const file = fileOf(page, path);
          if (!existsSync(file)) return true;
          return fragment !== '' && !anchorsOf(file).has(decodeURIComponent(fragment));
        })
        .map((url) => `${page}: ${url}`);
    });
    assert.deepEqual(broken, []);
  });

  test('a browser searches it, and requests nothing from elsewhere', { skip: executable === null }, async (t) => {
    const origin = await serve(t);
    const browser = await launchChromium(t, executable ?? '', []);
    const page = await browser.newPage();
    const problems: string[] = [];
    let requests = 0;
    page.on('request', (request) => {
      requests += 1;
      if (new URL(request.url()).origin !== origin) problems.push(`requested ${request.url()}`);
    });
    page.on('requestfailed', (request) => problems.push(`failed ${request.url()}`));
    page.on('response', (response) => {
      if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
    });
    page.on('pageerror', (error) => problems.push(error.message));
    await page.goto(`${origin}/`, { waitUntil: 'networkidle' });
    await page.getByRole('button', { name: 'Search' }).first().click();
    await page.getByPlaceholder('Search').fill('passkeys without another provider');
    await page.locator('.result').first().waitFor();
    await page.locator('.result').first().click();
    await page.waitForURL((url) => url.pathname !== '/');
    assert.deepEqual(problems, []);
    assert.ok(requests > 3);
  });
});

/** The file that a web server sends for a URL on a page. */
function fileOf(page: string, url: string): string {
  const [path = ''] = url.split(/[?#]/);
  if (path === '') return join(dist, page);
  const file = decodeURIComponent(path.startsWith('/') ? path : normalize(join(dirname(page), path)));
  return join(
    dist,
    file.endsWith('/') || file === '' ? `${file}index.html` : extname(file) === '' ? `${file}.html` : file,
  );
}

async function serve(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    const file = fileOf('index.html', new URL(request.url ?? '/', 'http://site').pathname);
    if (!existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' });
    return response.end(readFileSync(file));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
