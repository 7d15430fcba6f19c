import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { LoginWorld } from '../../support/login-world.ts';
import { askWithCookies, assertLoginWanted, COMPANION, cookieOf, SESSION, seenIn, userIn } from '../flow/steps.ts';

const world = await LoginWorld.open({ after });
const { host } = await world.site();
const browser = world.browser();
await browser.logIn(host);
const session = cookieOf(world, browser, host, SESSION);
const companion = cookieOf(world, browser, host, COMPANION);
const [mark, kind, key, mac] = session.split('.') as [string, string, string, string];

function pair(sessionValue: string, companionValue = companion): string {
  return `${SESSION}=${sessionValue}; ${COMPANION}=${companionValue}`;
}

/** Another letter of the same alphabet in its place. */
function swapped(text: string, at: number): string {
  return text.slice(0, at) + (text[at] === '0' ? '1' : '0') + text.slice(at + 1);
}

test('the real pair opens the route, so that the following fails for the right reason', async () => {
  assert.equal(userIn(await askWithCookies(world, host, pair(session))), 'alice@example.com');
  assert.match(session, /^pstn1\.s\.[\w-]{43}\.[0-9a-f]{32}$/, 'an opaque 256-bit key and its MAC');
  assert.match(companion, new RegExp(`^pstn1\\.b\\.${mac.slice(0, 8)}\\.[0-9a-f]{32}$`), 'names its session cookie');
});

const companionMac = companion.split('.')[3] as string;
const FORGED: Readonly<Record<string, string>> = {
  'a session without its companion': `${SESSION}=${session}`,
  'a companion without its session': `${COMPANION}=${companion}`,
  'an empty session': pair(''),
  'an empty companion': pair(session, ''),
  'the key alone': pair(key),
  'no MAC': pair(`${mark}.${kind}.${key}`),
  'an empty MAC': pair(`${mark}.${kind}.${key}.`),
  'a truncated MAC': pair(session.slice(0, -1)),
  'a MAC made longer': pair(`${session}0`),
  'a MAC with its last digit changed': pair(swapped(session, session.length - 1)),
  'a MAC with its first digit changed': pair(swapped(session, session.length - 32)),
  'a MAC in capitals': pair(`${mark}.${kind}.${key}.${mac.toUpperCase().replace(/^\d+$/, 'A')}`),
  'a truncated key': pair(`${mark}.${kind}.${key.slice(1)}.${mac}`),
  'a key made longer': pair(`${mark}.${kind}.${key}A.${mac}`),
  'another key with the MAC': pair(`${mark}.${kind}.${swapped(key, 5)}.${mac}`),
  'the key with its letters in the other case': pair(`${mark}.${kind}.${otherCase(key)}.${mac}`),
  'the same bytes, spelled with padding': pair(`${mark}.${kind}.${key}=.${mac}`),
  'the same bytes, spelled with other spare bits': pair(`${mark}.${kind}.${otherSpelling(key)}.${mac}`),
  'the MAC of another purpose, the companion’s': pair(`${mark}.${kind}.${key}.${companionMac}`),
  'the companion with the session’s MAC': pair(session, `${mark}.b.${mac}`),
  'the companion as a session': pair(companion),
  'another kind of ours': pair(`${mark}.f.${key}.${mac}`),
  'another mark': pair(`pstn2.${kind}.${key}.${mac}`),
  'a truncated companion': pair(session, companion.slice(0, -1)),
  'a companion made longer': pair(session, `${companion}0`),
  'a companion in capitals': pair(
    session,
    `pstn1.b.${mac.slice(0, 8)}.${companionMac.toUpperCase().replace(/^\d+$/, 'A')}`,
  ),
  'quotes around both': pair(`"${session}"`, `"${companion}"`),
  'percent-encoded': pair(session.replaceAll('.', '%2e')),
  'names in another case': `${SESSION.toUpperCase()}=${session}; ${COMPANION.toLowerCase()}=${companion}`,
  'the name as the end of another': `my${SESSION}=${session}; ${COMPANION}=${companion}`,
  'commas instead of semicolons': `${SESSION}=${session}, ${COMPANION}=${companion}`,
  'bytes that are no text': pair(`pstn1.s.${'\u00ff'.repeat(43)}.${mac}`),
  'a very long one': pair(`${mark}.${kind}.${'A'.repeat(6000)}.${mac}`),
};

function otherCase(text: string): string {
  return text.replaceAll(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
}

/** 43 letters hold 258 bits: decoding ignores the last two. */
function otherSpelling(text: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet.indexOf(text.at(-1) as string);
  return text.slice(0, -1) + alphabet[last ^ 1];
}

for (const [name, cookie] of Object.entries(FORGED)) {
  test(`forged: ${name}`, async () => {
    assertLoginWanted(await askWithCookies(world, host, cookie));
  });
}

test('treats an unreadable cookie as absent and clears it, and the login works beside it', async () => {
  const visitor = world.browser();
  const origin = world.origin(host);
  visitor.jar.store(origin, `${SESSION}=pstn1.s.rubbish; Path=/; Secure`);
  visitor.jar.store(origin, '__Host-postern-flow-abcdefghijklmnop=pstn1.f.rubbish; Path=/; Secure');
  visitor.jar.store(origin, '__Host-postern-trail=pstn1.t.rubbish; Path=/; Secure');
  assertLoginWanted(await visitor.open(host));
  assert.equal(cookieOf(world, visitor, host, SESSION), '');
  assert.equal(seenIn(await visitor.logIn(host, '/wanted')).url, '/wanted');
  assert.equal(cookieOf(world, visitor, host, '__Host-postern-flow-abcdefghijklmnop'), '');
});

test('uses the valid one of a valid and a forged session cookie, in either order', async () => {
  const forged = `${SESSION}=${swapped(session, session.length - 1)}`;
  for (const cookie of [`${forged}; ${pair(session)}`, `${pair(session)}; ${forged}`]) {
    assert.equal(userIn(await askWithCookies(world, host, cookie)), 'alice@example.com');
  }
});

test('the upstream never gets the login cookie, however it is spaced', async () => {
  for (const cookie of [
    `${SESSION}= ${session}; ${COMPANION}=${companion}`,
    ` ${SESSION}=${session};${COMPANION}=${companion}`,
    `${SESSION}=${session} ;\t${COMPANION}=${companion}`,
    `a=1;${SESSION}=${session};${COMPANION}=${companion};`,
  ]) {
    const answer = await askWithCookies(world, host, cookie);
    if (answer.status === 200) assert.doesNotMatch(answer.text, /pstn1/, cookie);
  }
});

test('a companion of non-text bytes is wrong, not an error', async () => {
  assertLoginWanted(await askWithCookies(world, host, pair(session, `pstn1.b.${'\u00ff'.repeat(32)}`)));
});
