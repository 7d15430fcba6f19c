import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { HostBrowser, openWithoutProof } from './without-proof.ts';

const server = await startPostgres();
const database = await freshDatabase(server);
const env = { POSTERN_SECRET_KEY: randomBytes(32).toString('base64') };
const one = await openWithoutProof({ after }, { env, databaseUrl: database.url });
const other = await openWithoutProof({ after }, { env, databaseUrl: database.url });
after(() => server.stop());

test('any node serves any step of a login, and a person who is disabled at one node is out at the other', async () => {
  const site = await one.site();
  const ana = await one.account('ana@example.com', ['ops']);
  await other.edge.world.server.replica.refresh();
  const browser = new HostBrowser(one.edge);
  const elsewhere = browser.at(other.edge);
  let next = new URL(`https://${site.host}/`);
  const browsers = [browser, elsewhere];
  let answer = await browser.ask(next);
  for (let step = 0; step < 15; step += 1) {
    const at = browsers[step % 2] ?? browser;
    const isSignIn = next.pathname === '/sign-in';
    const url = isSignIn ? new URL(`/sign-in/test${next.search}`, next) : next;
    answer = await at.ask(url, isSignIn ? { method: 'POST', body: ana } : {});
    const go = /<a class="button" id="go" href="([^"]+)"/.exec(answer.text)?.[1]?.replaceAll('&amp;', '&');
    const location = go ?? answer.headers['location'];
    if (location === undefined) break;
    next = new URL(String(location), next);
  }
  assert.equal(answer.status, 200, answer.text);
  assert.equal((await elsewhere.ask(`https://${site.host}/`)).status, 200);
  await one.edge.api('PATCH', `/user_accounts/${ana}`, { active: false });
  const startedAt = performance.now();
  while ((await elsewhere.ask(`https://${site.host}/`)).status === 200) {
    assert.ok(performance.now() - startedAt < 5_000, 'the person is still in');
  }
});
