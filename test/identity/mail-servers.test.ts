// Own process: it trusts the authority of the mail servers.
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { smtpSender } from '../../src/control/identity/smtp.ts';
import { issue } from '../edge/tls/test-authority.ts';
import { MailServer, type MailServerOptions } from '../support/mail-server.ts';
import { TestWorld } from '../support/test-world.ts';

const MAIL = { to: 'ana@example.com', subject: 'Hello', text: 'A link', expiresAtMs: 0 };
const LOGIN = { user: 'postern', password: 'p@ss/word' };
const USER = 'postern:p%40ss%2Fword@';

const authority = await issue({ commonName: 'CA of mail servers', isCa: true });
setDefaultCACertificates([...getCACertificates('default'), authority.certificatePem]);
const certificateFor = (name: string, issuer = authority) =>
  issue({ commonName: name, issuer, usages: ['server'], dnsNames: [name] });
const certificate = await certificateFor('localhost');

for (const tls of ['implicit', 'starttls'] as const) {
  suite(`a mail server with ${tls === 'implicit' ? 'implicit TLS' : 'STARTTLS'}`, () => {
    test('gets an invitation over TLS from the user of the settings', async () => {
      const mail = await MailServer.open({ after }, { tls, certificate, login: LOGIN });
      const env = {
        ...{ POSTERN_IDENTITY_HOST: 'id.example.com', POSTERN_SMTP_URL: mail.urlAt('localhost', USER) },
        POSTERN_MAIL_FROM: 'Postern <postern@example.com>',
      };
      const world = await TestWorld.open({ after }, { env });
      const { body } = await world.api('POST', '/user_accounts', { email: 'ana@example.com' });
      const { text, isEncrypted, user } = await mail.mailTo('ana@example.com');
      assert.deepEqual([isEncrypted, user], [true, LOGIN.user]);
      assert.ok(text.replaceAll('=\n', '').replaceAll('=3D', '=').includes(body.invitation_url), text);
      assert.doesNotMatch(world.logLines.join('\n'), /p@ss|p%40ss/);
    });

    test('on another machine gets mails if its certificate is valid for its name', async () => {
      const named = await certificateFor('mail.example.com');
      const mail = await MailServer.open({ after }, { tls, certificate: named });
      assert.deepEqual(await sendTo(mail), { outcome: 'sent' });
      assert.equal(mail.mails[0]?.isEncrypted, true);
    });

    for (const [what, given] of [
      ['for another name', () => certificateFor('other.example.com')],
      [
        'of an unknown authority',
        async () => certificateFor('mail.example.com', await issue({ commonName: 'x', isCa: true })),
      ],
    ] as const) {
      test(`gets neither password nor mail with a certificate ${what}`, async () => {
        await expectNothing({ tls, certificate: await given(), login: LOGIN }, 'mail.example.com');
        // A tunnel to the mail server ends on this machine: that is no reason to trust it less carefully.
        await expectNothing({ tls, certificate: await given(), login: LOGIN }, 'localhost');
      });
    }
  });
}

suite('a mail server without TLS', () => {
  test('on another machine gets neither password nor mail', async () => {
    await expectNothing({ login: LOGIN }, 'mail.example.com');
  });

  test('on this machine gets mails', async () => {
    const mail = await MailServer.open({ after });
    assert.deepEqual(await smtpSender({ url: mail.urlAt('localhost'), from: 'a@example.com' })(MAIL), {
      outcome: 'sent',
    });
    assert.equal(mail.mails[0]?.isEncrypted, false);
  });
});

test('a wrong password keeps the mail, and is not tried without one', async () => {
  const mail = await MailServer.open({ after }, { tls: 'implicit', certificate, login: LOGIN });
  const result = await smtpSender({ url: mail.urlAt('localhost', 'postern:wrong@'), from: 'a@example.com' })(MAIL);
  assert.deepEqual([result, mail.commands], [{ outcome: 'failed', reason: 'EAUTH 535' }, ['AUTH']]);
});

/** As if it were on another machine. */
function sendTo(mail: MailServer, host = 'mail.example.com', user = '') {
  return smtpSender({ url: mail.urlAt(host, user), from: 'a@example.com', dialedHost: '127.0.0.1' })(MAIL);
}

async function expectNothing(options: MailServerOptions, host: string): Promise<void> {
  const mail = await MailServer.open({ after }, options);
  const { outcome } = await sendTo(mail, host, USER);
  assert.deepEqual([outcome, mail.commands, mail.mails], ['failed', [], []]);
}
