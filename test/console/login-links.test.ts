import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { openCommand } from '../../src/app/cli/open/open-command.ts';
import { buildConsoleIfStale } from '../../tools/build-console.ts';
import { CHROMIUM_FLAGS, chromiumPath } from '../support/chromium.ts';
import { MovableClock } from '../support/login-world.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';

suite('links that log in to the console', () => {
  test('a link works once, for ten minutes, with the rights of the key that made it', async (t) => {
    const clock = new MovableClock();
    const world = await TestWorld.open(t, { clock });
    const reader = await world.api('POST', '/api_keys', { description: 'reader', scopes: ['*:read'] });
    const made = await world.api('POST', '/console/links', undefined, { key: reader.body.token });
    assert.equal(made.status, 201, made.text);
    const link = whole(world, made.body);
    for (const site of ['cross-site', 'same-site']) {
      const foreign = await enter(link, { 'sec-fetch-site': site });
      assert.equal(foreign.status, 403, site);
    }
    const entered = await enter(link, { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' });
    assert.equal(entered.status, 302);
    const [, token = ''] = /^\/console\/#token=(.+)$/.exec(entered.headers.get('location') ?? '') ?? [];
    const [cookie = ''] = (entered.headers.get('set-cookie') ?? '').split(';');
    const headers = { cookie, 'postern-console-token': token };
    const session = await (await fetch(`${world.baseUrl}/console/session`, { headers })).json();
    assert.deepEqual(
      (session as { scopes: string[] }).scopes.filter((scope) => scope.endsWith(':write')),
      [],
    );
    assert.equal((await enter(link)).status, 403, 'a second time');
    const late = await world.api('POST', '/console/links', undefined, { key: reader.body.token });
    clock.advance(10 * 60_000);
    assert.equal((await enter(whole(world, late.body))).status, 403, 'too late');
    assert.equal((await enter(`${world.baseUrl}${late.body.path}`)).status, 403, 'too late for a code');
  });

  test('a link of a deleted key opens nothing, and a session makes none', async (t) => {
    const world = await TestWorld.open(t);
    assert.equal((await world.api('POST', '/console/links', undefined, { key: null })).status, 401);
    const other = await world.api('POST', '/api_keys', { description: 'other' });
    const made = await world.api('POST', '/console/links', undefined, { key: other.body.token });
    await world.api('DELETE', `/api_keys/${other.body.id}`);
    const entered = await enter(whole(world, made.body));
    const [cookie = ''] = (entered.headers.get('set-cookie') ?? '').split(';');
    const [, token = ''] = /#token=(.+)$/.exec(entered.headers.get('location') ?? '') ?? [];
    const dead = await fetch(`${world.baseUrl}/console/session`, {
      headers: { cookie, 'postern-console-token': token },
    });
    assert.equal(dead.status, 401);

    const own = await world.api('POST', '/console/links', undefined, { key: TEST_API_KEY });
    const live = await enter(whole(world, own.body));
    const [, ownToken = ''] = /#token=(.+)$/.exec(live.headers.get('location') ?? '') ?? [];
    const session = {
      cookie: (live.headers.get('set-cookie') ?? '').split(';')[0] ?? '',
      'postern-console-token': ownToken,
      origin: world.baseUrl,
    };
    const again = await fetch(`${world.baseUrl}/console/links`, { method: 'POST', headers: session });
    assert.equal(again.status, 401);
  });

  test('no link works under a name that somebody could point at this server', async (t) => {
    const world = await TestWorld.open(t);
    const { body } = await world.api('POST', '/console/links');
    const { hostname, port } = new URL(world.baseUrl);
    const { request } = await import('node:http');
    const status = await new Promise<number>((resolve, reject) => {
      const options = {
        host: hostname,
        port,
        path: `${body.path}&code=${body.code}`,
        headers: { host: 'evil.example' },
      };
      request(options, (response) => resolve(response.resume().statusCode ?? 0))
        .on('error', reject)
        .end();
    });
    assert.equal(status, 403);
  });
});

suite('what another user of the machine reads in the arguments of the browser', () => {
  test('is not enough: "postern open" starts it without the code, and who reads along gets a form', async (t) => {
    const world = await TestWorld.open(t);
    const { url, warned, printed } = await openedBy(t, world, { DISPLAY: ':0' });
    assert.deepEqual(printed, [url]);
    const [, code = ''] = /code: ([A-Z2-9]{4}-[A-Z2-9]{4})$/.exec(warned.at(-1) ?? '') ?? [];
    assert.notEqual(code, '');
    assert.ok(!url.includes(code) && !url.includes(code.replace('-', '')));
    // First, and with what else such a reader can try.
    for (const more of ['', '&code=', '&code=AAAA-AAAA', '&code=x&code=y']) {
      const thief = await enter(`${url}${more}`);
      assert.ok([200, 403].includes(thief.status), more);
      assert.deepEqual([thief.headers.get('set-cookie'), thief.headers.get('location')], [null, null]);
      assert.ok(!(await thief.text()).includes(code));
    }
    for (const site of ['cross-site', 'same-site']) {
      assert.equal((await enter(`${url}&code=${code}`, { 'sec-fetch-site': site })).status, 403, site);
    }
    const entered = await enter(`${url}&code=${code.toLowerCase()}`, { 'sec-fetch-site': 'same-origin' });
    assert.equal(entered.status, 302);
    assert.match(entered.headers.get('set-cookie') ?? '', /^postern_console/);
    assert.equal((await enter(`${url}&code=${code}`)).status, 403, 'a second time');
  });

  test('gives five guesses, and then nobody enters', async (t) => {
    const world = await TestWorld.open(t);
    const { body } = await world.api('POST', '/console/links');
    const other = await world.api('POST', '/console/links');
    const url = `${world.baseUrl}${body.path}`;
    const answers: (readonly [number, boolean])[] = [];
    for (let tries = 0; tries < 5; tries += 1) {
      const answer = await enter(`${url}&code=${other.body.code}`);
      answers.push([answer.status, /<form/.test(await answer.text())]);
    }
    assert.deepEqual(answers, [...Array(4).fill([403, true]), [403, false]]);
    assert.equal((await enter(`${url}&code=${body.code}`)).status, 403);
    assert.equal((await enter(whole(world, other.body))).status, 302, 'the other link is as it was');
  });

  test('is nothing where no browser can be started: the printed link is whole, for another machine', async (t) => {
    const world = await TestWorld.open(t);
    const { url, printed } = await openedBy(t, world, {});
    assert.equal(url, null);
    assert.equal((await enter(printed[0] ?? '')).status, 302);
  });

  test('is a page in which the person types the code', { skip: chromiumPath() === null }, async (t) => {
    buildConsoleIfStale();
    const world = await TestWorld.open(t);
    const { body } = await world.api('POST', '/console/links');
    const browser = await chromium.launch({ executablePath: chromiumPath() as string, args: CHROMIUM_FLAGS });
    t.after(() => browser.close());
    const page = await browser.newPage();
    await page.goto(`${world.baseUrl}${body.path}`);
    await page.getByLabel('Type the code').fill('wrong');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Type the code').fill(` ${(body.code as string).toLowerCase().replace('-', ' ')} `);
    await page.keyboard.press('Enter');
    await page.getByRole('navigation').first().waitFor();
    assert.equal(new URL(page.url()).pathname, '/console/');
  });
});

/** Runs `postern open` on a terminal, with a browser that records its argument; null: it was not started. */
async function openedBy(t: TestContext, world: TestWorld, env: Record<string, string>) {
  const [bin, dataDir] = [await tempDir(t), await tempDir(t)];
  const file = join(bin, 'argument');
  await writeFile(join(bin, 'xdg-open'), `#!/bin/sh\nprintf %s "$1" > ${file}.new && mv ${file}.new ${file}\n`, {
    mode: 0o755,
  });
  const { PATH } = process.env;
  process.env['PATH'] = `${bin}:${PATH}`;
  const [printed, warned]: [string[], string[]] = [[], []];
  try {
    const code = await openCommand.run([], {
      env: { ...env, POSTERN_CLI_API_URL: world.baseUrl, POSTERN_CLI_API_KEY: TEST_API_KEY, POSTERN_DATA_DIR: dataDir },
      isTerminal: true,
      print: (line) => void printed.push(line),
      warn: (line) => void warned.push(line),
    });
    assert.equal(code, 0);
  } finally {
    process.env['PATH'] = PATH;
  }
  const isStarted = Object.keys(env).length > 0;
  const deadlineMs = performance.now() + 20_000;
  while (isStarted && !existsSync(file)) {
    assert.ok(performance.now() < deadlineMs, 'the browser was not started');
    await sleep(10);
  }
  return { url: isStarted ? await readFile(file, 'utf8') : null, printed, warned } as {
    url: string;
    printed: string[];
    warned: string[];
  };
}

function whole({ baseUrl }: TestWorld, { path, code }: { readonly path?: string; readonly code?: string }): string {
  return `${baseUrl}${path}&code=${code}`;
}

function enter(link: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(link, { redirect: 'manual', headers });
}
