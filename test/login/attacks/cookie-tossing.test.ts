import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { logIn } from '../../support/identity-provider.ts';
import { type Browser, LoginWorld } from '../../support/login-world.ts';
import { assertLoginWanted, COMPANION, cookieOf, NAVIGATION, SESSION, siteAt, userOf } from '../flow/steps.ts';

/**
 * An attacker who controls `evil.corp.localhost` plants cookies for all of `corp.localhost`. Browsers protect only
 * `__Host-` cookies.
 */
const world = await LoginWorld.open({ after });
const EVIL = 'https://evil.corp.localhost/';
const ALICE = 'alice@example.com';

const host = 'tossed.corp.localhost';
await siteAt(world, host);
const attacker = world.browser();
await attacker.logIn(host, '/', 'bob');
const bobSession = cookieOf(world, attacker, host, SESSION);
const bobCompanion = cookieOf(world, attacker, host, COMPANION);

function plant(victim: Browser, pair: string, path = '/'): void {
  victim.jar.store(EVIL, `${pair}; Domain=corp.localhost; Path=${path}; Secure`);
}

test('the jar is as strict as a browser: a sibling cannot plant a __Host- cookie', () => {
  const victim = world.browser();
  plant(victim, `${COMPANION}=${bobCompanion}`);
  plant(victim, `${SESSION}=${bobSession}`);
  assert.deepEqual(
    victim.jar.cookiesFor(`https://${host}/`).map(({ name }) => name),
    [SESSION],
  );
});

test('a planted session without its companion is not a session, and the victim can log in beside it', async () => {
  const victim = world.browser();
  plant(victim, `${SESSION}=${bobSession}`);
  assertLoginWanted(await victim.open(host));
  await victim.logIn(host);
  assert.equal(await userOf(victim, host), ALICE);
});

for (const [name, path] of [
  ['before the own one', '/deep'],
  ['after the own one', '/'],
] as const) {
  test(`a planted session ${name} changes nothing for a logged-in user`, async () => {
    const victim = world.browser();
    await victim.logIn(host);
    plant(victim, `${SESSION}=${bobSession}`, path);
    const sent = victim.jar.cookiesFor(`https://${host}/deep`).filter((cookie) => cookie.name === SESSION);
    assert.equal(sent[path === '/' ? 1 : 0]?.value, bobSession);
    assert.equal(await userOf(victim, host, '/deep'), ALICE);
  });
}

test('many planted sessions neither admit anybody nor lock the victim out', async () => {
  const victim = world.browser();
  await victim.logIn(host);
  for (let at = 0; at < 100; at += 1) plant(victim, `${SESSION}=${bobSession}`, `/deep/${'x/'.repeat(at)}`);
  const path = `/deep/${'x/'.repeat(99)}`;
  assert.equal(victim.jar.cookiesFor(`https://${host}${path}`).filter(({ name }) => name === SESSION).length, 101);
  assert.equal(await userOf(victim, host, path), ALICE);
});

/**
 * Values and names of cookies may contain spaces and bytes that some parsers treat as spaces: browsers check only the
 * start.
 */
const HIDDEN = [
  { name: 'in the value of another cookie, after a space', hide: (pair: string) => `x=y ${pair}` },
  { name: 'in the name of another cookie, after a space', hide: (pair: string) => `x ${pair}` },
  { name: 'after a tab', hide: (pair: string) => `x\t${pair}` },
  { name: 'after a no-break space', hide: (pair: string) => `\u00a0${pair}` },
  { name: 'after a comma', hide: (pair: string) => `x=y,${pair}` },
  { name: 'in quotes', hide: (pair: string) => `x="y; ${pair}"` },
  { name: 'in another case', hide: (pair: string) => pair.replace('__Host-', '__HOST-') },
];

for (const { name, hide } of HIDDEN) {
  test(`a companion hidden ${name} binds nothing`, async () => {
    const victim = world.browser();
    plant(victim, `${SESSION}=${bobSession}`);
    plant(victim, hide(`${COMPANION}=${bobCompanion}`));
    assertLoginWanted(await victim.open(host));
    await victim.logIn(host);
    assert.equal(await userOf(victim, host), ALICE);
  });

  test(`a flow hidden ${name} does not count: the victim is not logged in as somebody else`, async () => {
    const tempter = world.browser();
    const { url } = await tempter.upToProvider(host, '/');
    const flow = tempter.jar.cookiesFor(`https://${host}/`).find((cookie) => cookie.name.includes('postern-flow-'));
    assert.ok(url !== null && flow !== undefined);
    const callback = await logIn(world.provider, url, 'bob', tempter.jar);
    const victim = world.browser();
    plant(victim, hide(`${flow.name}=${flow.value}`));
    const answer = await victim.open(host, `${callback.pathname}${callback.search}`);
    assert.equal(answer.status, 302);
    assert.match(String(answer.headers['location']), /\/\.postern\/login\?/, 'from the beginning, as the victim');
    assert.equal(cookieOf(world, victim, host, COMPANION), '');
  });
}

test("the attacker's planted cookies are not sent upstream either", async () => {
  const victim = world.browser();
  await victim.logIn(host);
  plant(victim, `${SESSION}=${bobSession}`);
  plant(victim, 'theirs=1');
  const answer = await victim.open(host, '/', { headers: NAVIGATION });
  assert.equal(JSON.parse(answer.text).headers.cookie, 'theirs=1');
});
