import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { Http2Clients } from '../support/http2-clients.ts';
import { tempDir } from '../support/temp-dir.ts';
import { HostBrowser, openWithoutProof } from './without-proof.ts';

const env = { POSTERN_SECRET_KEY: randomBytes(32).toString('base64') };

for (const workers of ['1', '2']) {
  test(`a route with our issuer answers 503 after a restart without an identity host, with ${workers} workers`, async (t) => {
    const dataDir = await tempDir({ after });
    const options = { dataDir, env: { ...env, POSTERN_WORKERS: workers } };
    const on = await openWithoutProof(t, options);
    const site = await on.site();
    const url = `https://${site.host}/`;
    const browser = new HostBrowser(on.edge);
    assert.equal((await browser.open(url, await on.account('ana@example.com'))).status, 200);
    const back = await browser.ask(`${url}.postern/login?to=/&go=1&switch=1`);
    await on.edge.world.close();

    const off = await openWithoutProof(t, { ...options, env: { ...options.env, POSTERN_IDENTITY_HOST: '' } });
    for (const clients of [off.edge, new Http2Clients(off.edge)]) {
      const strangers = new HostBrowser(clients);
      // Somebody who was logged in is not let in either.
      for (const each of [strangers, browser.at(clients)] satisfies HostBrowser[]) {
        const page = await each.ask(url);
        assert.deepEqual([page.status, page.headers['postern-error-code']], [503, 'ERR_POSTERN_MODULE_UNAVAILABLE']);
        assert.match(page.text, /its oidc module is enabled but cannot be applied/);
        assert.ok(!page.text.includes('postern-auth'));
      }
      const own = await strangers.ask(`${url}.postern/login?to=/&go=1`);
      assert.equal(own.headers['location'], undefined);
      await assert.rejects(clients.ask(new URL(String(back.headers['location'])).hostname));
    }
    const { decisions, outcome } = await off.edge.api('POST', '/explain', { url });
    assert.equal(outcome.status, 503);
    assert.match(decisions.at(-1).text, /set identity_host if https:\/\/id\.localhost is to be this server's own/);
    await off.edge.world.close();

    const again = await openWithoutProof(t, options);
    assert.equal((await browser.at(again.edge).open(url, null)).status, 200);
  });
}
