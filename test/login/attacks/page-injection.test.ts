import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { EdgeAnswer } from '../../support/edge-world.ts';
import { LoginWorld } from '../../support/login-world.ts';
import { NAVIGATION } from '../flow/steps.ts';

const world = await LoginWorld.open({ after });
const { host } = await world.site();

const MARKUP = [
  '"><script>alert(1)</script>',
  "'><img src=x onerror=alert(1)>",
  '</noscript><script>alert(1)</script>',
  '</title><svg/onload=alert(1)>',
  '"; url=https://evil.example',
  '0;url=javascript:alert(1)',
  '" onclick="alert(1)',
  '&quot;&gt;&lt;script&gt;',
  '{{7*7}}<%= 1 %>',
];

/** Only our own tags and attributes, and no way to run anything else. */
function assertClean(answer: EdgeAnswer, words: string): void {
  const policy = String(answer.headers['content-security-policy']);
  assert.match(policy, /default-src 'none'/, words);
  assert.doesNotMatch(policy, /script-src[^;]*unsafe|script-src[^;]*https?:/, words);
  assert.equal(answer.headers['x-content-type-options'], 'nosniff');
  assert.equal(answer.headers['cache-control'], 'no-store');
  const scripts = answer.text.match(/<script/g)?.length ?? 0;
  assert.ok(scripts <= 1, answer.text);
  assert.doesNotMatch(answer.text, /<(img|svg|iframe|object|base)/i, words);
  assert.doesNotMatch(answer.text, /alert\(1\)<\/script>|<script>alert/, words);
  assert.doesNotMatch(answer.text, /<[^>]*\son\w+=/i, words);
  assert.doesNotMatch(answer.text, /url=(?!\/\.postern\/login\?)/, words);
}

for (const markup of MARKUP) {
  test(`markup in links to our pages: ${markup}`, async () => {
    const encoded = encodeURIComponent(markup);
    for (const path of [
      `/.postern/login?to=/${encoded}`,
      `/.postern/login?to=${encoded}`,
      `/.postern/login?to=/&fragment=${encoded}&round=${encoded}&go=${encoded}`,
      `/.postern/logout?x=${encoded}`,
      `/.postern/logout/done?x=${encoded}`,
      `/.postern/${encoded.replaceAll('%2F', '')}`,
    ]) {
      const answer = await world.browser().open(host, path);
      if (answer.status !== 302) assertClean(answer, path);
    }
    // The page for a POST contains the login URL and no part of the request.
    const posted = await world.edge.ask(host, `/?x=${encoded}`, { method: 'POST', headers: NAVIGATION });
    assert.equal(posted.status, 401);
    assertClean(posted, 'POST');
  });

  test(`markup in the provider's error text: ${markup}`, async () => {
    for (const error of ['access_denied', 'server_error', markup]) {
      const browser = world.browser();
      const { url } = await browser.upToProvider(host, `/?${encodeURIComponent(markup)}`);
      const query = new URLSearchParams({
        error,
        error_description: markup,
        error_uri: 'https://error-uri.example/',
        state: url?.searchParams.get('state') ?? '',
        iss: world.provider.issuer,
      });
      const answer = await browser.open(host, `/.postern/callback?${query.toString()}`);
      assert.equal(answer.status, error === 'access_denied' ? 403 : 502);
      assertClean(answer, error);
      assert.ok(!answer.text.includes('error-uri.example'), 'the provider’s words are for the log');
    }
  });
}

test('the JSON and the challenge for programs contain the target as one piece', async () => {
  const answer = await world.edge.ask(host, `/?q=${"%22,'x'\"%0d%0a".replaceAll('"', '%22')}`, {});
  assert.equal(answer.status, 401);
  const challenge = String(answer.headers['www-authenticate']);
  assert.match(challenge, /^Postern-Login realm="[^"]+", login_url="[^"]+"$/);
  const { login_url } = JSON.parse(answer.text).details;
  const url = new URL(login_url);
  assert.equal(url.searchParams.get('to'), "/?q=%22,'x'%22%0d%0a");
  assert.ok(challenge.includes(`login_url="${login_url}"`));
});
