import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { MailQueue } from '../../src/control/identity/mail.ts';
import { until } from '../support/cluster.ts';
import { SmtpServer } from '../support/smtp-server.ts';
import { TestWorld } from '../support/test-world.ts';

const HOUR_MS = 3_600_000;

async function open(t: TestContext, answers: SmtpServer['answers'] = {}, user = '') {
  const smtp = await SmtpServer.open(t);
  smtp.answers = answers;
  let aheadMs = 0;
  const clock = { nowMs: () => Date.now() + aheadMs };
  const env = {
    ...{ POSTERN_IDENTITY_HOST: 'id.example.com', POSTERN_SMTP_URL: smtp.url.replace('//', `//${user}`) },
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

  test('a mail server that keeps failing is a problem for operators, without a secret, until it works', async (t) => {
    const answers = { EHLO: '250-test\r\n250 AUTH PLAIN', AUTH: '535 s3cret-word of postern@example.com is wrong' };
    const { smtp, world, pass, waiting } = await open(t, answers, 'postern:s3cret-word@');
    await world.api('POST', '/user_accounts', { email: 'cy@example.com' });
    const failures = () => world.logLines.filter((line) => line.includes('EAUTH 535')).length;
    const told = async () => {
      const { problems } = (await world.api('GET', '/problems')).body;
      return problems.filter(({ message }: { message: string }) => message.includes('mail server'));
    };
    for (const attempt of [1, 2, 3]) {
      await until('an attempt failed', async () => failures() === attempt);
      // Greylisting is no problem.
      if (attempt === 3) break;
      assert.deepEqual(await told(), []);
      pass(HOUR_MS / 4);
    }
    await until('the problem is listed', async () => (await told()).length === 1);
    const [problem] = await told();
    assert.match(problem.message, /\(EAUTH 535\)/);
    assert.match(problem.advice, /smtp_url/);
    const { nodes } = (await world.api('GET', '/nodes')).body;
    assert.equal(nodes[0].problems.length, 1);
    const everything = JSON.stringify([problem, nodes]) + world.logLines.join('\n');
    assert.doesNotMatch(everything, /s3cret-word|cy@example\.com/);
    // Only now: an attempt that began before would fail, and the next one comes much later.
    smtp.answers = {};
    pass(HOUR_MS / 2);
    await until('it is sent', async () => smtp.mails.length === 1 && waiting().length === 0);
    await until('the problem is over', async () => (await told()).length === 0);
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
