import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ChallengeScope } from '../../src/control/identity/passkeys/ceremony.ts';
import { type Deviations, SoftAuthenticator } from '../support/soft-authenticator.ts';
import { CeremonyWorld, ORIGIN, outcomeOf } from './ceremony-world.ts';

suite('logging in with a passkey', () => {
  test('finds the account by the passkey alone', async () => {
    const world = new CeremonyWorld();
    const { device } = await world.person('ana');
    await world.person('ben');
    const options = await world.options();
    assert.deepEqual([options.allowCredentials, options.userVerification], [undefined, 'required']);
    assert.equal(await world.logIn(device), 'ana');
    assert.notEqual(world.passkeys.get(device.credentialId)?.lastUsedAtMs, null);
  });

  const refusals: readonly (readonly [string, Deviations, string])[] = [
    ["another origin's answer", { origin: 'https://id.example.test.evil.example:8443' }, 'foreign'],
    ['an answer of the same host on another port', { origin: 'https://id.example.test' }, 'foreign'],
    ['an answer of a host below', { origin: 'https://app.id.example.test:8443' }, 'foreign'],
    ['an answer of a plain page', { origin: ORIGIN.replace('https', 'http') }, 'foreign'],
    ['an answer from a frame in another site', { crossOrigin: true }, 'foreign'],
    ['an answer from a frame in a named site', { crossOrigin: true, topOrigin: 'https://evil.example' }, 'foreign'],
    ['an answer with a top origin alone', { topOrigin: 'https://evil.example' }, 'foreign'],
    ["another relying party's answer", { rpId: 'example.test' }, 'invalid'],
    ['a device that did not verify the person', { isUserVerified: false }, 'unverified'],
    ['the answer of a registration', { type: 'webauthn.create' }, 'foreign'],
    ["another account's user handle", { userHandle: Buffer.from('ben').toString('base64url') }, 'invalid'],
    ['an invented challenge', { challenge: Buffer.from('s1.0000000000.AAAA').toString('base64url') }, 'foreign'],
    ['an empty challenge', { challenge: '' }, 'foreign'],
  ];
  for (const [what, different, problem] of refusals) {
    test(`refuses ${what}, and stores nothing`, async () => {
      const world = new CeremonyWorld();
      const { device } = await world.person('ana');
      world.claimed.clear();
      assert.equal(await world.logIn(device, different), problem);
      assert.equal(world.claimed.size, 0);
      assert.equal(world.passkeys.get(device.credentialId)?.lastUsedAtMs, null);
    });
  }

  test('refuses an answer that was used before, also when both come at once', async () => {
    const world = new CeremonyWorld();
    const { device } = await world.person('ana');
    const answer = device.get(await world.options());
    const outcomes = await Promise.all([world.check(answer), world.check(answer)]);
    assert.deepEqual(outcomes.map(outcomeOf).sort(), ['ana', 'replayed']);
    assert.equal(outcomeOf(await world.check(answer)), 'replayed');
  });

  test('refuses a challenge that another browser asked for', async () => {
    const world = new CeremonyWorld();
    const { device } = await world.person('ana');
    const answer = device.get(await world.options({ browser: 'attacker' }));
    assert.equal(outcomeOf(await world.check(answer)), 'foreign');
  });

  test('refuses a challenge of another purpose or account', async () => {
    const world = new CeremonyWorld();
    const { device } = await world.person('ana');
    const scopes: readonly Partial<ChallengeScope>[] = [
      { purpose: 'confirm', accountId: 'ana' },
      { purpose: 'add_passkey', accountId: 'ana' },
      { purpose: 'accept_invitation', accountId: 'ana' },
    ];
    for (const scope of scopes) {
      const answer = device.get(await world.options(scope));
      assert.equal(outcomeOf(await world.check(answer)), 'foreign', String(scope.purpose));
    }
  });

  test('refuses an answer that comes after ten minutes', async () => {
    const world = new CeremonyWorld();
    const { device } = await world.person('ana');
    const answer = device.get(await world.options());
    world.clock.advance(12 * 60);
    assert.equal(outcomeOf(await world.check(answer)), 'expired');
  });

  test('refuses a passkey that nobody has, and one of a disabled account', async () => {
    const world = new CeremonyWorld();
    const { device } = await world.person('ana');
    const stranger = await new CeremonyWorld().person('ana');
    assert.equal(await world.logIn(stranger.device), 'unknown');
    world.account('ana', false);
    assert.equal(await world.logIn(device), 'disabled');
  });

  test('refuses a signature of another key', async () => {
    const world = new CeremonyWorld();
    const { device } = await world.person('ana');
    const other = await world.person('ben');
    const options = await world.options();
    const forged = { ...device.get(options), response: other.device.get(options).response };
    forged.response.userHandle = Buffer.from('ana').toString('base64url');
    assert.equal(outcomeOf(await world.check(forged)), 'invalid');
  });

  test('refuses text that is no answer', async () => {
    const world = new CeremonyWorld();
    const { device } = await world.person('ana');
    const answer = device.get(await world.options());
    const { userHandle: _userHandle, ...unnamed } = answer.response;
    const wrong = [
      '',
      'null',
      '[]',
      '{',
      '{"id":1}',
      JSON.stringify({ ...answer, type: 'password' }),
      JSON.stringify({ ...answer, response: unnamed }),
      JSON.stringify({ ...answer, response: null }),
      JSON.stringify({ ...answer, id: 'A'.repeat(2000) }),
      JSON.stringify({ ...answer, response: { ...answer.response, clientDataJSON: 'AAAA' } }),
      JSON.stringify({ ...answer, response: { ...answer.response, authenticatorData: '' } }),
    ];
    for (const text of wrong) assert.equal(outcomeOf(await world.checkText(text)), 'malformed', text);
    const short = { ...answer, response: { ...answer.response, authenticatorData: 'AAAA' } };
    assert.notEqual(outcomeOf(await world.check(short)), 'ana');
  });
});

suite('copied authenticators', () => {
  test('a counter that does not go forward is refused after a right signature', async () => {
    const world = new CeremonyWorld();
    const { device } = await world.person('ana', { counts: true });
    const copy = device.copy();
    assert.equal(await world.logIn(device), 'ana');
    assert.equal(await world.logIn(device), 'ana');
    assert.equal(await world.logIn(copy), 'cloned');
    assert.equal(await world.logIn(device, { signCount: 0 }), 'cloned');
    assert.equal(await world.logIn(device), 'ana');
  });

  test('a counter in an answer with a wrong signature changes nothing', async () => {
    const world = new CeremonyWorld();
    const { device } = await world.person('ana', { counts: true });
    const answer = device.get(await world.options(), { signCount: 4_000_000_000 });
    answer.response.signature = device.get(await world.options()).response.signature;
    assert.equal(outcomeOf(await world.check(answer)), 'invalid');
    assert.equal(await world.logIn(device), 'ana');
  });
});

suite('registering a passkey', () => {
  test('asks for one that the device stores and protects, and not for a second on one device', async () => {
    const world = new CeremonyWorld();
    const { account, device } = await world.person('ana');
    const scope = { purpose: 'add_passkey', browser: 'a', accountId: 'ana' } as const;
    const options = await world.registrationOptions(account, scope);
    assert.equal(options.authenticatorSelection?.residentKey, 'required');
    assert.equal(options.authenticatorSelection.userVerification, 'required');
    assert.equal(options.attestation, 'none');
    assert.deepEqual(
      options.excludeCredentials?.map(({ id }) => id),
      [device.credentialId],
    );
    assert.equal(Buffer.from(options.user.id, 'base64url').toString(), 'ana');
  });

  const refusals: readonly (readonly [string, Deviations, string])[] = [
    ["another origin's answer", { origin: 'https://evil.example' }, 'foreign'],
    ['an answer from a frame in another site', { crossOrigin: true }, 'foreign'],
    ["another relying party's answer", { rpId: 'evil.example' }, 'invalid'],
    ['a device that did not verify the person', { isUserVerified: false }, 'unverified'],
    ['a passkey that the device did not store', { isStoredOnDevice: false }, 'not_discoverable'],
    ['the answer of a sign-in', { type: 'webauthn.get' }, 'foreign'],
  ];
  for (const [what, different, problem] of refusals) {
    test(`refuses ${what}`, async () => {
      const world = new CeremonyWorld();
      const made = await world.register(world.account('ana'), new SoftAuthenticator(ORIGIN), different);
      assert.deepEqual(made, { problem });
      assert.equal(world.claimed.size, 0);
    });
  }

  test("refuses the answer to somebody else's registration, or to another kind of it", async () => {
    const world = new CeremonyWorld();
    const account = world.account('ana');
    const scope = { purpose: 'add_passkey', browser: 'a', accountId: 'ana' } as const;
    const device = new SoftAuthenticator(ORIGIN);
    const answer = device.create(await world.registrationOptions(account, scope));
    assert.deepEqual(await world.checkRegistration(answer, { ...scope, accountId: 'ben' }), { problem: 'foreign' });
    assert.deepEqual(await world.checkRegistration(answer, { ...scope, browser: 'b' }), { problem: 'foreign' });
    const invitation = { ...scope, purpose: 'accept_invitation' } as const;
    assert.deepEqual(await world.checkRegistration(answer, invitation), { problem: 'foreign' });
    assert('passkey' in (await world.checkRegistration(answer, scope)));
    assert.deepEqual(await world.checkRegistration(answer, scope), { problem: 'replayed' });
  });

  test('ignores an attestation statement: its certificates would be those that a visitor sent', async () => {
    const world = new CeremonyWorld();
    const account = world.account('ana');
    const scope = { purpose: 'add_passkey', browser: 'a', accountId: 'ana' } as const;
    const answer = new SoftAuthenticator(ORIGIN).create(await world.registrationOptions(account, scope));
    const none = Buffer.from(answer.response.attestationObject, 'base64url').toString('latin1');
    // "fmt": "none" becomes "fmt": "tpmx", which no verifier of the library knows.
    assert(none.includes('dnone'));
    answer.response.attestationObject = Buffer.from(none.replace('dnone', 'dtpmx'), 'latin1').toString('base64url');
    assert('passkey' in (await world.checkRegistration(answer, scope)));
  });
});
