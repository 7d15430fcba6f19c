import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, test } from 'node:test';
import { logIn } from '../../support/identity-provider.ts';
import { LoginWorld } from '../../support/login-world.ts';
import { seenIn } from './steps.ts';

const world = await LoginWorld.open({ after });
const { host } = await world.site();

/** From the page's link, to which a script may have added the fragment, to the browser's final address. */
async function endsAt(path: string, fragment?: string): Promise<string> {
  const browser = world.browser();
  const wanted = await browser.open(host, path);
  const page = await browser.open(host, String(wanted.headers['location']));
  const link = /id="go" href="([^"]+)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const added = fragment === undefined ? '' : `&fragment=${encodeURIComponent(fragment)}`;
  const go = await browser.open(host, `${link}${added}`);
  const callback = await logIn(world.provider, String(go.headers['location']), 'alice', browser.jar);
  const back = await browser.open(host, `${callback.pathname}${callback.search}`);
  return String(back.headers['location']);
}

test('the page has a strict policy that lets its one script run, and no other', async () => {
  const { text, headers, status } = await world.browser().open(host, '/.postern/login?to=%2Fx');
  assert.equal(status, 200);
  const policy = new Map(
    String(headers['content-security-policy'])
      .split('; ')
      .map((rule) => [rule.slice(0, rule.indexOf(' ')), rule.slice(rule.indexOf(' ') + 1)] as const),
  );
  const hashOf = (tag: string): string => {
    const found = [...text.matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, 'gs'))];
    assert.equal(found.length, 1, tag);
    return `'sha256-${hash('sha256', found[0]?.[1] ?? '', 'base64')}'`;
  };
  assert.deepEqual(
    [...policy],
    [
      ['default-src', "'none'"],
      ['style-src', hashOf('style')],
      ['script-src', hashOf('script')],
      ['form-action', "'none'"],
      ['base-uri', "'none'"],
      ['frame-ancestors', "'none'"],
    ],
  );
  assert.equal(headers['referrer-policy'], 'no-referrer');
  assert.equal(headers['cache-control'], 'no-store');
  assert.equal(headers['x-content-type-options'], 'nosniff');
});

test('without script it continues automatically, and by a link', async () => {
  const { text } = await world.browser().open(host, '/.postern/login?to=%2Fx%3Fa%3D1%26b%3D2');
  const refresh = /<noscript><meta http-equiv="refresh" content="0; ?url=([^"]+)"><\/noscript>/.exec(text)?.[1];
  const link = /<a class="button" id="go" href="([^"]+)">/.exec(text)?.[1];
  assert.equal(refresh, link);
  assert.equal(link?.replaceAll('&amp;', '&'), '/.postern/login?to=%2Fx%3Fa%3D1%26b%3D2&go=1');
});

for (const path of [
  '/',
  '/deep/er/page',
  '/?',
  '/q?a=1&b=%20c&a=2',
  '/q?to=/x&go=1&fragment=y&state=z',
  '/%E6%BC%B1%E7%9F%B3?q=%F0%9F%A6%8A',
  '/a+b?c+d=%2B',
  "/it's(here)!*~?x='y'",
  '/semi;colon=1?x;y',
  '/a%2Fb',
  '/q?u=https://other.example/%23frag&x=%26amp;',
]) {
  test(`returns to exactly ${path}`, async () => {
    assert.equal(await endsAt(path), `${world.origin(host)}${path}`);
  });
}

for (const fragment of ['section', 'a=1&b=2', '/route/in/app?x=y', '%E6%BC%B1', "!'()*~", 'a#b']) {
  test(`the fragment #${fragment} is kept`, async () => {
    assert.equal(await endsAt('/app?x=1', fragment), `${world.origin(host)}/app?x=1#${fragment}`);
  });
}

test('an address over 2 KB returns as its path, a path over 2 KB as the start page, and a long fragment is dropped', async () => {
  const origin = world.origin(host);
  assert.equal(await endsAt(`/page?${'x'.repeat(2042)}`), `${origin}/page?${'x'.repeat(2042)}`);
  assert.equal(await endsAt(`/page?${'x'.repeat(2100)}`), `${origin}/page`);
  assert.equal(await endsAt(`/${'x'.repeat(2100)}`), `${origin}/`);
  assert.equal(await endsAt('/page', 'x'.repeat(2100)), `${origin}/page`);
});

test('the longest return path fits a cookie that browsers accept', async () => {
  const browser = world.browser();
  const { page } = await browser.upToProvider(host, `/page?${'x'.repeat(2042)}`);
  const [line = ''] = page.headers['set-cookie'] as unknown as string[];
  assert.match(line, /^__Host-postern-flow-[\w-]{16}=pstn1\.f\./);
  assert.ok((line.split(';')[0] ?? '').length <= 4096);
  assert.match(line, /; Path=\/; Max-Age=7200; Secure; HttpOnly; SameSite=Lax$/);
});

test('the login page redirects a logged-in user directly', async () => {
  const browser = world.browser();
  await browser.logIn(host);
  const go = await browser.open(host, '/.postern/login?to=%2Fx&go=1&fragment=y');
  assert.equal(go.headers['location'], `${world.origin(host)}/x#y`);
  assert.equal(seenIn(await browser.logIn(host, '/.postern/login?to=%2Fx')).url, '/x');
});
