import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { logIn } from '../../support/identity-provider.ts';
import { LoginWorld } from '../../support/login-world.ts';
import { shareOfCases } from '../../support/share-of-cases.ts';

/** Every redirect of a login leads to this host or to the provider, whatever the link contained. */
const world = await LoginWorld.open({ after });
const { host } = await world.site();
const origin = world.origin(host);

const EVIL = 'evil.example';
const TARGETS = [
  `//${EVIL}`,
  `///${EVIL}`,
  `////${EVIL}`,
  `/\\${EVIL}`,
  `\\\\${EVIL}`,
  `\\/${EVIL}`,
  `/\\/${EVIL}`,
  `https:${EVIL}`,
  `https:/${EVIL}`,
  `https://${EVIL}`,
  `https:///${EVIL}`,
  `HTTPS://${EVIL}/`,
  `http://${EVIL}`,
  `//${EVIL}@${host}`,
  `@${EVIL}`,
  `.${EVIL}`,
  `:80@${EVIL}/`,
  `/\t/${EVIL}`,
  `/\n/${EVIL}`,
  `\t//${EVIL}`,
  ` //${EVIL}`,
  `\u0000//${EVIL}`,
  `/\u00a0/${EVIL}`,
  `/%09/${EVIL}`,
  `/%0a/${EVIL}`,
  `/%0d%0aLocation:%20https://${EVIL}`,
  `/%5c${EVIL}`,
  `/%5c%5c${EVIL}`,
  `/%2f${EVIL}`,
  `%2f%2f${EVIL}`,
  `/.//${EVIL}`,
  `/..//${EVIL}`,
  `/a/..//${EVIL}`,
  `/;@${EVIL}`,
  `/?next=//${EVIL}`,
  `/#@${EVIL}`,
  `?//${EVIL}`,
  `javascript:alert(1)`,
  `JaVaScRiPt:alert(1)`,
  `data:text/html,x`,
  `/\r\nSet-Cookie: x=1`,
  `/\r\n\r\n<script>`,
  `/\u2028//${EVIL}`,
  `/\u010a\u010d//${EVIL}`,
  '/.postern/logout',
  '/.postern/login?to=/',
  '',
];
/** In the query: encoded once, twice, and as a browser's form would. */
const ENCODINGS: readonly [string, (text: string) => string][] = [
  ['encoded', encodeURIComponent],
  ['encoded twice', (text) => encodeURIComponent(encodeURIComponent(text))],
  ['as it is', (text) => text.replaceAll(/[^\x21-\x22\x24-\x25\x27-\x7e]/g, encodeURIComponent)],
];

/** As a browser parses it, which is lenient. */
function assertHere(location: unknown, words: string): void {
  const url = new URL(String(location), `${origin}/`);
  assert.equal(url.origin, origin, `${words} leads to ${String(location)}`);
  assert.doesNotMatch(String(location), /[^\x21-\x7e]/, words);
}

/** All navigation that the page offers: link, refresh, script. */
function assertPageStays(html: string, words: string): void {
  const links = [...html.matchAll(/(?:href="|url=)([^"]*)"/g)].map(([, link]) => (link ?? '').replaceAll('&amp;', '&'));
  assert.equal(links.length, 2, html);
  for (const link of links) assertHere(link, words);
}

for (const [subject, target] of TARGETS.entries()) {
  test(`the return path ${JSON.stringify(target)}`, async () => {
    for (const [name, encode] of shareOfCases(ENCODINGS, subject, 3)) {
      const words = `${JSON.stringify(target)}, ${name},`;
      const browser = world.browser();
      const page = await browser.open(host, `/.postern/login?to=${encode(target)}`);
      // A bare backslash is rejected before anybody parses it.
      if (page.status === 400) {
        assert.equal(page.headers['location'], undefined);
        continue;
      }
      assert.equal(page.status, 200, words);
      assertPageStays(page.text, words);
      const go = await browser.open(host, `/.postern/login?go=1&to=${encode(target)}&fragment=${encode(target)}`);
      assert.equal(go.status, 302, words);
      const provider = new URL(String(go.headers['location']));
      if (provider.origin === origin) {
        assertHere(go.headers['location'], words);
        continue;
      }
      assert.equal(provider.origin, world.provider.issuer);
      assert.equal(provider.searchParams.get('redirect_uri'), `${origin}/.postern/callback`);
      const callback = await logIn(world.provider, provider, 'alice', browser.jar);
      const back = await browser.open(host, `${callback.pathname}${callback.search}`);
      assert.equal(back.status, 302, back.text);
      assertHere(back.headers['location'], words);
      const { pathname } = new URL(String(back.headers['location']));
      assert.doesNotMatch(pathname, /^\/\.postern\//, `${words} ends at a path of ours`);
      // When logged in, the same link redirects immediately.
      const again = await browser.open(host, `/.postern/login?go=1&to=${encode(target)}`);
      assertHere(again.headers['location'], `${words} logged in,`);
    }
  });
}

test('a foreign Host, or two of them, never gets into a Location', async () => {
  for (const headers of [
    { host: EVIL },
    { host: `${host}@${EVIL}` },
    { host: `${host}/${EVIL}` },
    { host: `${host}:x` },
  ]) {
    const answer = await world.edge.ask(host, '/.postern/login?go=1', { headers });
    assert.ok([400, 421].includes(answer.status), `${headers.host}: ${answer.status}`);
    assert.equal(answer.headers['location'], undefined);
  }
  const answer = await world.edge.ask(host, '/', {
    headers: { accept: 'text/html', 'x-forwarded-host': EVIL, forwarded: `host=${EVIL}`, 'x-forwarded-proto': 'http' },
  });
  assertHere(answer.headers['location'], 'X-Forwarded-Host');
  const json = await world.edge.ask(host, '/', { headers: { 'x-forwarded-host': EVIL } });
  assert.ok(!json.text.includes(EVIL));
});
