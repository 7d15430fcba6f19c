import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { HostBrowser, IDENTITY_ISSUER, openWithoutProof } from './without-proof.ts';

const world = await openWithoutProof({ after });
const [wiki, shop] = [await world.site(), await world.site()];

/** What the forms of the account page name, for each application of each session. */
async function applicationsOf(browser: HostBrowser): Promise<readonly { session: string; application: string }[]> {
  const { text } = await browser.open(`${IDENTITY_ISSUER}/account`, null);
  const found = text.matchAll(
    /name="session" value="([^"]+)"><input type="hidden" name="application" value="([^"]+)"/g,
  );
  return [...found].map(([, session = '', application = '']) => ({ session, application }));
}

const statusAt = async (browser: HostBrowser, host: string): Promise<number> =>
  (await browser.ask(`https://${host}/`)).status;

test('a person ends one application of a session, and nothing else ends', async () => {
  const id = await world.account('ana@example.com');
  const [laptop, phone] = [new HostBrowser(world.edge), new HostBrowser(world.edge)];
  for (const browser of [laptop, phone]) {
    await browser.open(`https://${wiki.host}/`, id);
    await browser.open(`https://${shop.host}/`, null);
  }
  const listed = await applicationsOf(laptop);
  assert.equal(listed.length, 4);
  const before = await applicationsOf(phone);
  // Which of the two sessions is the phone's: the one that is marked there.
  const page = (await phone.open(`${IDENTITY_ISSUER}/account`, null)).text;
  const [, own = ''] = /This browser<.*?name="session" value="([^"]+)"/s.exec(page) ?? [];
  const application = before.find(({ session }) => session === own)?.application ?? '';
  const [ended, kept] = application === wiki.edgeId ? [wiki, shop] : [shop, wiki];
  const answer = await laptop.submit('/account/applications/end', { session: own, application });
  assert.equal(answer.headers['location'], '/account?done=application', answer.text);
  assert.notEqual(await statusAt(phone, ended.host), 200);
  assert.equal(await statusAt(phone, kept.host), 200);
  assert.deepEqual([await statusAt(laptop, ended.host), await statusAt(laptop, kept.host)], [200, 200]);
  assert.equal((await applicationsOf(laptop)).length, 3);
  // The session goes on: no proof is asked for.
  assert.equal((await phone.open(`https://${ended.host}/`, null)).status, 200);
  assert.equal((await applicationsOf(laptop)).length, 4);
});

test("somebody else's applications are out of reach, and what does not exist ends nothing", async () => {
  const victim = new HostBrowser(world.edge);
  await victim.open(`https://${wiki.host}/`, await world.account('victim@example.com'));
  const [target] = await applicationsOf(victim);
  const thief = new HostBrowser(world.edge);
  await thief.open(`https://${wiki.host}/`, await world.account('thief@example.com'));
  assert(target !== undefined);
  await thief.submit('/account/applications/end', target);
  for (const application of ['', '__proto__', 'constructor', shop.edgeId]) {
    const answer = await victim.submit('/account/applications/end', { ...target, application });
    assert.equal(answer.status, 303, answer.text);
  }
  assert.equal(await statusAt(victim, wiki.host), 200);
  assert.equal((await applicationsOf(victim)).length, 1);
});
