import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Receiver, verify } from '../events/support/receiver.ts';
import { IDENTITY_ORIGIN, IdentityWorld } from '../support/identity-world.ts';
import { MailServer } from '../support/mail-server.ts';
import { SoftAuthenticator } from '../support/soft-authenticator.ts';

test('a new passkey is an event at a destination and a mail to the person, without its key', async () => {
  const [receiver, mail] = [await Receiver.open({ after }), await MailServer.open({ after })];
  const world = await IdentityWorld.open(
    { after },
    {
      env: {
        ...{ POSTERN_ROLES: 'api,edge,events', POSTERN_EVENTS_ALLOW_CIDRS: '127.0.0.0/8' },
        ...{ POSTERN_SMTP_URL: mail.url, POSTERN_MAIL_FROM: 'postern@example.test' },
      },
    },
  );
  const { id: destination, target } = await world.edge.api('POST', '/event_destinations', {
    target: { webhook: { url: receiver.url('/') } },
  });
  await world.edge.api('POST', '/event_subscriptions', {
    ...{ sources: [{ type: 'passkey_created.v0' }], destination_ids: [destination] },
  });
  const { id, browser } = await world.person('ana@example.com', { name: 'Ana' });
  await browser.addPasskey(new SoftAuthenticator(IDENTITY_ORIGIN));
  const received = await receiver.until('/', 2);
  const { passkeys } = await world.edge.api('GET', `/user_accounts/${id}/passkeys`);
  for (const each of received) {
    verify(each, target.webhook.secret);
    const { event_type: type, object, principal } = each.event;
    assert.deepEqual([type, principal, object.user_account.id], ['passkey_created.v0', null, id]);
    assert.doesNotMatch(each.body, /public_key|credential/);
  }
  assert.deepEqual(
    new Set(received.map(({ event }) => event.object.id)),
    new Set(passkeys.map((passkey: { id: string }) => passkey.id)),
  );
  // The first mail has the invitation.
  for (const skipped of [1, 2]) {
    const { text } = await mail.mailTo('ana@example.com', skipped);
    assert.match(text, /Subject: New passkey for id\.example\.test/);
    assert.ok(text.replaceAll('=\n', '').includes(`${IDENTITY_ORIGIN}/account`), text);
  }
});
