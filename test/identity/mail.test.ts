import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { MailQueue } from '../../src/identity/mail/mail-queue.ts';
import { until } from '../support/cluster.ts';
import { SmtpServer } from '../support/smtp-server.ts';
import { TestWorld } from '../support/test-world.ts';

const HOUR_MS = 3_600_000;

async function open(t: TestContext, answers: SmtpServer['answers'] = {}) {
  const smtp = await SmtpServer.open(t);
  smtp.answers = answers;
  let aheadMs = 0;
  const clock = { nowMs: () => Date.now() + aheadMs };
  const env = {
    ...{ POSTERN_IDENTITY_HOST: 'id.example.com', POSTERN_SMTP_URL: smtp.url },
    POSTERN_MAIL_FROM: 'Postern <postern@example.com>',
  };
  const world = await TestWorld.open(t, { clock, env });
  const pass = (ms: number) => {
    aheadMs += ms;
  };
  return { smtp, world, clock, pass, waiting: () => [...world.server.replica.all('mail')] };
}

suite('mail to people', () => {
  test('an invitation is mailed to the person alone, and its link is nowhere else', async (t) => {
    const { smtp, world, waiting } = await open(t);
    const { body } = await world.api('POST', '/user_accounts', { email: 'ana@example.com', name: 'Ana' });
    assert.equal(body.invitation_sent_to, 'ana@example.com');
    await until('the mail arrives', async () => smtp.mails.length === 1 && waiting().length === 0);
    const [mail] = smtp.mails;
    assert.deepEqual(mail?.to, ['ana@example.com']);
    assert.ok(mail?.text.includes(body.invitation_url), mail?.text);
    const secret = new URL(body.invitation_url).searchParams.get('invite')?.slice(11, 50) ?? '';
    const [change] = (await world.api('GET', '/changes?limit=1')).body.changes;
    assert.deepEqual(change.objects.map(({ kind }: { kind: string }) => kind).sort(), [
      'user_account',
      'user_invitation',
    ]);
    const history = await world.store.history.get(change.revision);
    assert.ok(!JSON.stringify(history).includes(secret), 'the history has the link');
    assert.ok(!world.logLines.join('\n').includes(secret), 'the log has the link');
    const again = await world.api('POST', `${body.uri}/invite`);
    assert.equal(again.body.invitation_sent_to, 'ana@example.com');
  });

  test('a mail that waits is sealed at rest', async (t) => {
    const { world, waiting } = await open(t, { RCPT: '450 later' });
    const { body } = await world.api('POST', '/user_accounts', { email: 'sealed-person@example.com' });
    assert.equal(waiting().length, 1);
    await world.close();
    const stored = await readFile(join(world.dataDir, 'postern.sqlite'), 'latin1');
    const wal = await readFile(join(world.dataDir, 'postern.sqlite-wal'), 'latin1').catch(() => '');
    const secret = String(body.invitation_url).split('=')[1]?.slice(11, 50) ?? assert.fail();
    assert.ok((stored + wal).includes('sealed-person@example.com'), 'the account is there');
    assert.ok(!(stored + wal).includes(secret));
    assert.ok(!(stored + wal).includes('Open this link'));
  });

  test('a failed mail is sent again, and a rejected one is not', async (t) => {
    const { smtp, world, pass, waiting } = await open(t, { RCPT: '450 later' });
    await world.api('POST', '/user_accounts', { email: 'bo@example.com' });
    await until('the first attempt failed', async () => world.logLines.some((line) => line.includes('EENVELOPE 450')));
    assert.equal(waiting().length, 1);
    smtp.answers = {};
    pass(HOUR_MS);
    await until('it is sent', async () => smtp.mails.length === 1 && waiting().length === 0);
    smtp.answers = { RCPT: '550 unknown' };
    await world.api('POST', '/user_accounts', { email: 'nobody@example.com' });
    await until('it is given up', async () => waiting().length === 0);
    assert.ok(world.logLines.some((line) => line.includes('EENVELOPE 550')));
    assert.ok(!world.logLines.some((line) => line.includes('nobody@example.com')));
  });

  test('an expired mail is not sent', async (t) => {
    const { smtp, world, pass, waiting } = await open(t, { RCPT: '450 later' });
    await world.api('POST', '/user_accounts', { email: 'late@example.com' });
    await until('the first attempt failed', async () => world.logLines.some((line) => line.includes('EENVELOPE 450')));
    smtp.answers = {};
    pass(73 * HOUR_MS);
    await until('it is dropped', async () => waiting().length === 0);
    assert.deepEqual(smtp.mails, []);
  });

  test('a full queue rejects mails, and people are still invited', async (t) => {
    const { world, clock } = await open(t);
    const mail = { to: 'a@example.com', subject: 'x', text: 'y', expiresAtMs: clock.nowMs() + HOUR_MS };
    const ports = { store: world.store, clock, newId: () => 'ml_1' };
    const full = new MailQueue({ ...ports, replica: { count: () => 1000 } });
    assert.equal(full.put(mail), null);
    assert.equal(await full.enqueue(mail), false);
    assert.ok(new MailQueue({ ...ports, replica: { count: () => 999 } }).put(mail));
  });

  test('a server that is away delays nobody who invites', async (t) => {
    const { world } = await open(t);
    const env = { POSTERN_IDENTITY_HOST: 'id.example.com', POSTERN_SMTP_URL: 'smtp://127.0.0.1:1' };
    const away = await TestWorld.open(t, { env: { ...env, POSTERN_MAIL_FROM: 'a@example.com' } });
    assert.equal((await away.api('POST', '/user_accounts', { email: 'x@example.com' })).status, 201);
    assert.equal((await world.api('GET', '/user_accounts')).status, 200);
  });
});
