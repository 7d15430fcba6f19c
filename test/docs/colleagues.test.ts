import assert from 'node:assert/strict';
import { symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { CookieJar } from '../support/cookie-jar.ts';
import { EdgeClients } from '../support/edge-clients.ts';
import { trustIn } from '../support/edge-world.ts';
import { IdentityBrowser } from '../support/identity-world.ts';
import { Browser } from '../support/login-world.ts';
import { LAUNCHER, startServerProcess } from '../support/server-process.ts';
import { SoftAuthenticator } from '../support/soft-authenticator.ts';
import { tempDir } from '../support/temp-dir.ts';
import { projectRoot, shellBlocks } from './markdown.ts';
import { Terminal } from './terminal.ts';

const PAGE = 'docs/tutorials/4-login-for-colleagues.md';
const APP = 'app.example.test';
const IDENTITY = 'https://id.example.test:7443';

test('the tutorial for two colleagues can be followed as written', async () => {
  const blocks = shellBlocks(PAGE).map(({ text }) => text.trim());
  const [start = '', serve = '', publish = '', look = '', trust = '', invite = '', cleanUp = '', ...more] = blocks;
  assert.deepEqual(more, []);
  const [, flags = ''] = /^npm start -- (.+)$/.exec(start) ?? [];

  const folder = await checkout();
  const bin = join(folder, 'bin', 'postern.mjs');
  const own = '--data-dir team-data ';
  assert.ok(flags.startsWith(own), flags);
  const server = startServerProcess({ after }, 'team-data', {
    cwd: folder,
    launcher: bin,
    args: flags.slice(own.length).replace('0.0.0.0:7443', '127.0.0.1:0').split(' '),
  });
  const ready = await server.ready();
  assert.match(serve, /Hello, team.*listen\(3004,/);
  const service = createServer((_request, response) => response.end('Hello, team\n'));
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  after(() => service.close());
  const { edge: address } = ready.addresses as unknown as { readonly edge: string };
  const port = Number(address.split(':').at(-1));
  await writeFile(join(folder, '.curlrc'), `connect-to = ":7443:127.0.0.1:${port}"\n`);
  const terminal = new Terminal({
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, POSTERN_CLI_API_URL: ready.base_url },
  });
  after(() => terminal.close());
  await terminal.run(publish.replace('3004', String((service.address() as AddressInfo).port)));
  assert.match(await terminal.run(look), /"error_code":"ERR_POSTERN_LOGIN_REQUIRED","status_code":401/);
  assert.match(await terminal.run(trust), /Firefox/);
  const linksOf = (output: string): readonly string[] => output.match(/https:\/\/\S+invite=\S+/g) ?? [];
  const links = linksOf(await terminal.run(invite));
  assert.equal(links.length, 2);
  const others = linksOf(await terminal.run('postern users add carla@example.test'));

  const edge = new EdgeClients({ address: '127.0.0.1', port, ca: trustIn(join(folder, 'team-data')) });
  // Logins are at the identity host, not at a provider of the test.
  const app = { edge, origin: (host: string) => `https://${host}:7443`, provider: null as never };
  for (const link of [...links, ...others]) {
    const jar = new CookieJar();
    const person = new IdentityBrowser({ edge, origin: IDENTITY }, jar);
    const device = new SoftAuthenticator(IDENTITY);
    assert.equal((await person.accept(link, device)).status, 303);
    await person.submit('/account/sign-out');
    const page = await logIn(new Browser(app, jar), person, device);
    assert.equal(page.status, links.includes(link) ? 200 : 403, page.text);
    if (links.includes(link)) assert.equal(page.text, 'Hello, team\n');
  }
  server.child.kill('SIGTERM');
  await server.exited;
  await terminal.run(cleanUp);
  assert.equal(await terminal.run('ls -d team-* || true'), "ls: cannot access 'team-*': No such file or directory");
});

/** From the application to the login page, with the passkey, and back. */
async function logIn(browser: Browser, person: IdentityBrowser, device: SoftAuthenticator) {
  const { url } = await browser.upToProvider(APP);
  assert.equal(url?.origin, IDENTITY);
  const asked = await person.open(`${url.pathname}${url.search}`);
  const logIn = new URL(String(asked.headers['location']), IDENTITY);
  assert.equal(logIn.pathname, '/sign-in');
  let answer = await person.logIn(device, logIn.search);
  for (;;) {
    const next = new URL(String(answer.headers['location']), IDENTITY);
    if (next.origin !== IDENTITY) return (await browser.upToProvider(APP, `${next.pathname}${next.search}`)).page;
    answer = await person.open(`${next.pathname}${next.search}`);
  }
}

/** Looks like a checkout, but everything that commands write lands in the test's own folder. */
async function checkout(): Promise<string> {
  const folder = await tempDir({ after });
  for (const name of ['src', 'tools', 'package.json', 'node_modules']) {
    await symlink(join(projectRoot, name), join(folder, name));
  }
  await symlink(dirname(LAUNCHER), join(folder, 'bin'));
  return folder;
}
